# passlab 1
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "int32")):
        with R.dataflow():
            y = R.power(x, x)
            R.output(y)
        return y
