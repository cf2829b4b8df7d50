# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(n: T.int64) -> T.int64:
        y: T.int64 = R.add(n, 1)
        return y
