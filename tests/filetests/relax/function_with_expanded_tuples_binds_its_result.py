# passlab 1
# pass: ExpandTupleArguments()
@I.ir_module
class Module:
    @R.function(private=True)
    def pair(a: R.Tensor((2,), dtype="float32"), rest: R.Tuple(R.Tensor((3,), dtype="int64"))):
        e = R.exp(a)
        f = rest[0]
        return (e, f)

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tensor((3,), dtype="int64")):
        cls = Module
        both = cls.pair(x, (y,))
        return both
