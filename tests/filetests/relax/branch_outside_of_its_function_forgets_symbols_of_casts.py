# passlab 1
# pass: RemovePurityChecking()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, "n"), "float32"), s: R.Shape([3, "n"])):
        p = T.int64()
        n = T.int64()
        w = R.match_cast(s, R.Shape([p, n]))
        cond: R.Tensor((), "bool") = R.const(True, "bool")
        if cond:
            y = R.exp(x)
            a = y
        else:
            z = R.negative(x)
            a = z
        return a
