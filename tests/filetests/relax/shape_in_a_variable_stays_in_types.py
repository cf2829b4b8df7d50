# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(["n", 2])):
        n = T.int64()
        a = R.zeros(s, "float32")
        b = R.exp(a)
        c = R.add(b, b)
        d = R.shape_of(b)
        e = R.broadcast_to(R.const(2.0, "float32"), s)
        f = R.reshape(c, s)
        return (a, c, d, e, f)
