# passlab 1
# pass: LegalizeOps()

@I.ir_module
class Module:
    @R.function
    def one_axis(x: R.Tensor((1, 3, 7, 8), "float32")):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool2d(x, output_size=[3, 4])
            R.output(gv)
        return gv

    @R.function
    def both_axes(x: R.Tensor((1, 3, 7, "n"), "float32")):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool2d(x, output_size=[3, 2])
            R.output(gv)
        return gv
