# passlab 1
# pass: DispatchSortScan()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)):
        return R.sort(x, axis=0)
