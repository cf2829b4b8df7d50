# passlab 1
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        with R.dataflow():
            shape = R.shape([2])
            renamed = shape
            ones = R.ones(shape, dtype="float32")
            more = R.ones(renamed, dtype="float32")
            y = R.exp(x)
            R.output(shape, renamed, y)
        return y
