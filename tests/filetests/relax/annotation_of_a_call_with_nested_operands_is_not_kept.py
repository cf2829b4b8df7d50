# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        a: R.Tensor(dtype="float32") = R.exp(R.exp(x))
        b: R.Tensor(dtype="float32", ndim=2) = R.linear(x, x)
        c: R.Any = R.add(R.const(1.0, "float32"), R.exp(x))
        d: R.Tensor(dtype="float32") = R.exp(x)
        return (a, b, c, d)
