# passlab 1
# pass: ExpandMatmulOfSum()
@I.ir_module
class Module:
    @R.function
    def main(cond: R.Tensor((), dtype="bool"), weight: R.Tensor((8,), dtype="int64")):
        a: R.Tensor((1, 4), dtype="int32") = R.zeros(R.shape([1, 4]), dtype="int32")
        if cond:
            b: R.Tensor((8,), dtype="int64") = R.abs(weight)
            y: R.Tensor = weight
        else:
            c: R.Tensor((1, 4), dtype="int32") = R.zeros(R.shape([1, 4]), dtype="int32")
            y: R.Tensor = c
        return y
