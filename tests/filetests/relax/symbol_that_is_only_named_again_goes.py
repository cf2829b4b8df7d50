# passlab 1
# pass: CanonicalizeBindings()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        p: T.int64 = n
        q: T.int64 = p
        y = R.zeros(R.shape([q + 1]), "float32")
        return (q, y)
