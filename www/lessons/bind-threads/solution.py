# passlab 1
# pass: Schedule(trace="b0 = sch.get_sblock(name=\"scaled\", func_name=\"main\")\nl1, l2 = sch.get_loops(block=b0)\nb3 = sch.get_sblock(name=\"total\", func_name=\"main\")\nsch.compute_at(block=b3, loop=l1)\nsch.bind(loop=l1, thread_axis=\"blockIdx.x\")\nsch.bind(loop=l2, thread_axis=\"threadIdx.x\")\nl4, l5 = sch.get_loops(block=b3)\nsch.bind(loop=l5, thread_axis=\"threadIdx.x\")\nsch.set_scope(block=b3, buffer_index=0, storage_scope=\"shared\")\n")
# view: schedule
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 32), "float32"), S: T.Buffer((8,), "float32"), B: T.Buffer((8, 32), "float32")):
        total = T.sblock_alloc_buffer((8,))
        for i, k in T.grid(8, 32):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(total[vi])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        for i, j in T.grid(8, 32):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], total[vi], S[vi])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * S[vi] / total[vi]
