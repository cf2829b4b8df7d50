# passlab 1
# pass: CanonicalizeBindings()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        z = R.zeros(R.shape([2 * n * 3]), "float32")
        return (y, z)
