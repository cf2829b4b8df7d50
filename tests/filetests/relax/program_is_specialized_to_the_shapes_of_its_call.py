# passlab 1
# pass: SpecializePrimFuncBasedOnCallSite()
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def inc(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.spatial(n, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] + T.float32(1.0)
    @R.function
    def main(x: R.Tensor((5,), "float32")):
        return R.call_tir(Module.inc, (x,), out_ty=R.Tensor((5,), "float32"))
