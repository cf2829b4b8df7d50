# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), z: R.Tensor((2,), "bool")):
        a = R.subtract(R.const(1.0, "float32"), z)
        b = R.maximum(z, x)
        c = R.less(x, z)
        d = R.floor_divide(z, x)
        return (a, b, c, d)
