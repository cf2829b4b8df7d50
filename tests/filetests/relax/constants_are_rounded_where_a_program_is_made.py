# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        y = R.floor_divide(R.const(0.0, "float32"), x)
        return y
