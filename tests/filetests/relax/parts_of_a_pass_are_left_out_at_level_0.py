# passlab 1
# pass: ConvertToDataflow()
# pass: ExpandTupleArguments()
# opt_level: 0
@I.ir_module
class Module:
    @R.function(private=True)
    def nobody(t: R.Tuple(R.Tensor((2,), dtype="float32"))) -> R.Tensor((2,), dtype="float32"):
        a: R.Tensor((2,), dtype="float32") = t[0]
        return a

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y: R.Tensor((2,), dtype="float32") = x
        z: R.Tensor((2,), dtype="float32") = R.exp(y)
        return z
