# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((6, 2), "float32"), y: R.Tensor(("n", 2), "float16")):
        n = T.int64()
        a = R.reshape(x, (-1, 3, 2))
        b = R.reshape(x, (0, -1))
        c = R.reshape(y, (1, -1))
        return (a, b, c)
