# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("n",), dtype="float32"), z: R.Tensor(("n + 1",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        return x

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        gv: R.Tensor((2,), dtype="float32") = cls.f(x, y, y)
        return gv
