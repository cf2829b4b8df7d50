# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "bool")):
        return R.abs(x)
