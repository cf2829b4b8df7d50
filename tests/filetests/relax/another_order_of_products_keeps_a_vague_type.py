# passlab 1
# pass: AdjustMatmulOrder()
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 8), "float32"), b: R.Tensor((8, 3), "float32"), c: R.Tensor((3, 8), "float32")):
        with R.dataflow():
            t = R.matmul(b, c)
            o: R.Tensor(dtype="float32", ndim=2) = R.matmul(a, t)
            R.output(o)
        return o
