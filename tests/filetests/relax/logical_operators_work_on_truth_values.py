# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "int32")):
        return R.logical_not(x)
