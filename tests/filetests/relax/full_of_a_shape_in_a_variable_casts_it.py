# passlab 1
# pass: LegalizeOps()
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(ndim=1)):
        a = R.full(s, R.const(2.0, "float32"))
        b = R.ones(s, "float32")
        return (a, b)
