# passlab 1
# pass: AdjustMatmulOrder()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), z: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        if c:
            a = R.exp(x)
            y = R.negative(a)
        else:
            y = z
        return y
