# passlab 1
# pass: RemoveRedundantReshape()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32"), y: R.Tensor((5,), "float32")):
        a = R.reshape(x, R.shape([]))
        b = R.reshape(y, R.shape([5]))
        return (a, b)
