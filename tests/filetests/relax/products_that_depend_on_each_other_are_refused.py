# passlab 1
# pass: CombineParallelMatmul()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 8), dtype="float32"), w: R.Tensor((8, 4), dtype="float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.add(w, a)
            c = R.matmul(x, b)
            R.output(a, c)
        return (a, c)
