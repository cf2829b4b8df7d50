# passlab 1
# pass: ToMixedPrecision()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.outer(x, x)
            R.output(a)
        return a
