# passlab 1
# pass: ConvertLayout(desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4, 6, 6), dtype="float32")):
        with R.dataflow():
            y: R.Tensor(dtype="float32") = R.nn.avg_pool2d(x, pool_size=[2, 2], strides=[2, 2])
            z = R.exp(x)
            R.output(z)
        return z
