# passlab 1
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Shape(ndim=1)):
        with R.dataflow():
            a = R.full(s, R.const(2.0, "float32"))
            b = R.ones(s, "int64")
            c = R.add(x, R.const([1.0, 2.0, 3.0], "float32"))
            R.output(c)
        return c
