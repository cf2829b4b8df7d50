# passlab 1
# pass: AdjustMatmulOrder()
# pass: OptimizeLayoutTransform()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), cond: R.Tensor((), "bool")):
        n = T.int64()
        if cond:
            a = R.exp(x)
            y = a
        else:
            y = R.negative(x)
        b: R.Tensor((), dtype="bool") = cond
        return y
