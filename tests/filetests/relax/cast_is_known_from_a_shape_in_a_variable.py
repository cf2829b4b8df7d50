# passlab 1
# pass: CanonicalizeBindings()
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape([4, 3])):
        p = T.int64()
        q = T.int64()
        a = R.zeros(s, "float32")
        b = R.match_cast(a, R.Tensor((p, q), "float32"))
        return b
