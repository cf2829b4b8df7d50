# passlab 1
# pass: FuseTransposeMatmul()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, "n", 5), "float16"), w: R.Tensor((1, 4, 5), "float16")):
        n = T.int64()
        with R.dataflow():
            wt = R.permute_dims(w, axes=[0, 2, 1])
            o = R.matmul(x, wt, out_dtype="float32")
            R.output(o)
        return o
