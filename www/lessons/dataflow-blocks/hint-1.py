# passlab 1
# pass: DeadCodeElimination()
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            y = R.add(x, x)
            unused = R.exp(y)
            z = R.multiply(y, x)
        return z
