# passlab 1
# pass: EliminateCommonSubexpr()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 5), dtype="float32")):
        with R.dataflow():
            vague: R.Tensor(dtype="float32", ndim=2) = R.exp(x)
            exact: R.Tensor((3, 5), dtype="float32") = R.exp(x)
            again: R.Tensor((3, 5), dtype="float32") = R.exp(x)
            sum: R.Tensor((3, 5), dtype="float32") = R.add(exact, again)
            R.output(vague, sum)
        return (vague, sum)
