# passlab 1
# pass: RemoveUnusedParameters()
@I.ir_module
class Module:
    @R.function(private=True)
    def f0(w: R.Tensor((8,), "float32"), lv: T.int64):
        y: T.int64 = lv + 1
        return y

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        return x
