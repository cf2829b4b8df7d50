# passlab 1
# pass: FuseTransposeMatmul()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")):
        with R.dataflow():
            a = R.exp(x)
            t = R.permute_dims(y)
            p = R.matmul(a, t)
            q = R.negative(t)
            R.output(q)
        return q
