# passlab 1
# pass: StaticPlanBlockMemory()
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(2)), "float32")
        B = T.match_buffer(b, (n, T.int64(2)), "float32")
        for i, j in T.grid(n, T.int64(2)):
            with T.sblock("B"):
                v, w = T.axis.remap("SS", [i, j])
                T.reads(A[v, w])
                T.writes(B[v, w])
                B[v, w] = A[v, w]
    @R.function(pure=False)
    def main(x: R.Tensor(("m", 2), "float32"), d: R.Tensor((), "bool")):
        m = T.int64()
        n = T.int64()
        a = R.builtin.alloc_tensor(R.shape([m, 2]), R.dtype("float32"), R.prim_value(0))
        b = Module.k(x, a)
        c = R.match_cast(a, R.Tensor((n, 2), "float32"))
        if d:
            e = c
        else:
            e = c
        return x
