# passlab 1
# pass: ExpandMatmulOfSum()
@I.ir_module
class Module:
    @R.function
    def main(cond: R.Tensor((), dtype="bool"), x: R.Tensor((16, 2), dtype="float32")):
        p = T.int64()
        if cond:
            a = R.nn.relu(x)
            y = a
        else:
            b: R.Tensor((p, 2), dtype="float32") = R.match_cast(x, R.Tensor((p, 2), dtype="float32"))
            c = R.negative(b)
            y = c
        return y
