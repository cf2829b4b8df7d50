# passlab 1
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "int32")):
        a = y.astype("float32")
        b: x.ty = R.add(x, x)
        c = R.zeros((x.ty.shape[0],), dtype=y.ty.dtype)
        d = R.zeros(x.ty.shape, dtype="float32")
        return (a, b, c, d)
