# passlab 1
# pass: ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a: R.Tensor(dtype="float32", ndim=2) = R.exp(x)
            b: R.Tensor(dtype="float32", ndim=2) = R.add(a, a)
            R.output(b)
        return b
