# passlab 1
# pass: BindSymbolicVars({"n": 3})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        p: T.int64 = n * 2
        y = R.zeros(R.shape([n * 2]), "float32")
        return (p, y)
