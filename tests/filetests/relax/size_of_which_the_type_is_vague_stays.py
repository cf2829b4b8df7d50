# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 5), "float32")):
        y: R.Tensor(dtype="int64", ndim=0) = R.size(x)
        return y
