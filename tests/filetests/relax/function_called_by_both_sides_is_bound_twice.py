# passlab 1
# pass: tirx.BindTarget(target={"kind": "cuda", "host": {"kind": "llvm"}})
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(a: T.int32, b: T.int32) -> T.int32:
        return a + b

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((128,), "int32"), C: T.Buffer((128,), "int32")):
        length: T.let[T.int32] = Module.add(64, 64)
        for i in T.thread_binding(length, "threadIdx.x"):
            C[i] = Module.add(A[i], 1)
