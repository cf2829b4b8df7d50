# passlab 1
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            y = R.nn.rms_norm(x, x, axes=[-1], epsilon=1e-5)
            R.output(y)
        return y
