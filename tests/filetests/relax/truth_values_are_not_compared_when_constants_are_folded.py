# passlab 1
# pass: FoldConstant()
# pass: LegalizeOps()
# pass: FoldConstant()
@I.ir_module
class Module:
    @R.function
    def main():
        with R.dataflow():
            a = R.less(R.const([True, False], "bool"), R.const([True, True], "bool"))
            b = R.logical_and(R.const([True, False], "bool"), R.const([True, True], "bool"))
            c = R.multiply(R.const([True, False], "bool"), R.const(True, "bool"))
            d = R.where(R.const([True, False], "bool"), R.const([1.0, 2.0], "float32"), R.const([3.0, 4.0], "float32"))
            R.output(a, b, c, d)
        return (a, b, c, d)
