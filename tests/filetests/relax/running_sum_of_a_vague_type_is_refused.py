# passlab 1
# pass: DispatchSortScan()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y: R.Tensor(dtype="float32", ndim=1) = R.cumsum(x, axis=0)
        return y
