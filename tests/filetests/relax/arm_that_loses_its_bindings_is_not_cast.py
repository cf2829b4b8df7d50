# passlab 1
# pass: ReorderTakeAfterMatmul()
@I.ir_module
class Module:
    @R.function
    def main(cond: R.Tensor((), dtype="bool"), x: R.Tensor((8,), "float32")):
        if cond:
            a = x
            y: R.Tensor = a
        else:
            y: R.Tensor = cond
        return y
