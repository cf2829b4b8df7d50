# passlab 1
# pass: Sequential([s_tir.LowerInitBlock(), tirx.StmtSimplify()], opt_level=2)
# script:|
#  pass("Mine", m => m)
# files:|
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 4), "float32", strides=[8, 1], offset_factor=4)
        B = T.match_buffer(b, (n,), "float32")
        for i, k in T.grid(n, 4):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, 0:4])
                T.writes(B[vi])
                T.where(i < n)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + T.if_then_else(vi % 2 == 0, A[vi, vk], T.exp(A[vi, vk]))
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.attr(0, "pragma", 1):
                assert n > 0, "positive"
                T.evaluate(T.call_extern("int32", "f", n))
