# passlab 1
# pass: s_tir.LowerAsyncDMA()
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float16"), D: T.Buffer((4, 8), "float16")):
        C = T.alloc_buffer((64,), "float16", scope="global.vtcm")
        for o in range(4):
            with T.attr(0, "async_commit_queue_scope", 1):
                with T.attr(0, "async_scope", 1):
                    for i, j in T.grid(4, 16):
                        C[i * 16 + j] = A[o * 64 + i * 16 + j]
            with T.attr(0, "async_wait_queue_scope", 1):
                with T.attr(0, "async_wait_inflight_count", o):
                    for i in range(64):
                        B[o * 64 + i] = C[i]
