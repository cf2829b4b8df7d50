# passlab 1
# pass: KillAfterLastUse()
@I.ir_module
class Module:
    @R.function(private=True)
    def f0(t: R.Tensor((3, 16), dtype="float32")):
        n = T.int64()
        q = T.int64()
        with R.dataflow():
            a: R.Tensor((3, n), dtype="float32") = R.match_cast(t, R.Tensor((3, n), dtype="float32"))
            b: R.Tensor((3, q), dtype="float32") = R.match_cast(a, R.Tensor((3, q), dtype="float32"))
            c: R.Tensor((3, q), dtype="float32") = R.exp(b)
            R.output(c)
        return c
