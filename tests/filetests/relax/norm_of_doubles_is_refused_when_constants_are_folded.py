# passlab 1
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float64"), g: R.Tensor((4,), "float64")):
        with R.dataflow():
            y = R.nn.layer_norm(x, g, g, axes=[-1])
            R.output(y)
        return y
