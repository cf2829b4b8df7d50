# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        y = R.memory.view(x, R.shape([2, 4]), relative_byte_offset=R.prim_value(64))
        return y
