# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.sqrt(y)
            b: R.Tensor(dtype="float32", ndim=1) = R.exp(a)
            R.output(a, b)
        return b
