# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 256), dtype="float32"), w: R.Tensor((256, 64), dtype="float32"), b: R.Tensor((64,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        with R.dataflow():
            product: R.Tensor((1, 64), dtype="float32") = R.matmul(x, w)
            biased: R.Tensor((1, 64), dtype="float32") = R.add(product, b)
            total: R.Tensor((1,), dtype="float32") = R.sum(biased, axis=[1])
            R.output(total)
        return total
