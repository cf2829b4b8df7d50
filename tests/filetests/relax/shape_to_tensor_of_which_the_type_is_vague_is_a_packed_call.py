# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape([5, 2])):
        y: R.Tensor(dtype="int64", ndim=1) = R.shape_to_tensor(s)
        return y
