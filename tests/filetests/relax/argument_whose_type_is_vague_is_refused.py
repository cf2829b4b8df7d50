# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x

    @R.function
    def main(x: R.Tensor(ndim=1), y: R.Any, z: R.Tensor(dtype="float32", ndim=1)):
        cls = Module
        a = cls.f(z)
        b = cls.f(x)
        c = cls.f(y)
        return (a, b, c)
