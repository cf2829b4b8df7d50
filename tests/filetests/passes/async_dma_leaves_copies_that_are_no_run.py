# passlab 1
# pass: s_tir.LowerAsyncDMA()
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8"), D: T.Buffer((4, 8), "int8"), E: T.Buffer((4, 8), "int8")):
        with T.attr(0, "async_commit_queue_scope", 0):
            for i, j in T.grid(4, 8):
                B[i * 8 + j] = A[j * 4 + i]
            for i, j in T.grid(4, 8):
                D[i, j] = E[i, j]
            for i in range(16):
                B[i] = A[i] + T.int8(1)
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 0):
                B[0] = A[0]
