@I.ir_module
class Module:
    @R.function
    def main(y: R.Tensor((16, 4), "float32")):
        cond: R.Tensor(dtype="bool") = R.const(True, "bool")
        a = cond
        if cond:
            t = cond
        else:
            t = cond
        b = t
        return (y, cond, t, a, b)
