# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float16"), w: R.Tensor((5, 3), "float16"), b: R.Tensor((5,), "float16")):
        a = R.linear(x, w, b)
        c = R.linear(x, w, out_dtype="float32")
        return (a, c)
