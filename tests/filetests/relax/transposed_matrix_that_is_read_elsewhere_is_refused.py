# passlab 1
# pass: FuseTransposeMatmul()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 4), dtype="float32"), w: R.Tensor((8, 4), dtype="float32")):
        with R.dataflow():
            t = R.permute_dims(w)
            a = R.matmul(x, t)
            R.output(t, a)
        return (t, a)
