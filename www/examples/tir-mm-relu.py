# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def mm_relu(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 64), "float32"), Z: T.Buffer((64, 64), "float32")):
        Y = T.sblock_alloc_buffer((64, 64))
        for i, j, k in T.grid(64, 64, 48):
            with T.sblock("mm"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(Y[vi, vj])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(64, 64):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(Y[vi, vj])
                T.writes(Z[vi, vj])
                Z[vi, vj] = T.max(Y[vi, vj], T.float32(0))
