# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")):
        shape = R.shape([6])
        renamed = shape
        y = R.reshape(x, renamed)
        return y
