# passlab 1
# pass: s_tir.LowerAsyncDMA()
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8"), n: T.int32):
        with T.attr(0, "async_wait_queue_scope", n):
            for i in range(64):
                B[i] = A[i]
