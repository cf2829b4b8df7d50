# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), p: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((4,), "float32"))):
        copied: R.Tensor((2, 3), "float16") = x
        field: R.Tensor((2, 4), "float32") = p[0]
        constant: R.Tensor((2,), "float32") = R.const(1.0, "float32")
        shape: R.Shape([2, 4]) = R.shape([2, 3])
        return (copied, field, constant)
