# passlab 1
# pass: VMShapeLower()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tuple(), y: R.Tensor((3,), "float32")):
        return y
