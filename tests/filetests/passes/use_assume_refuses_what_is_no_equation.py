# passlab 1
# pass: s_tir.UseAssumeToReduceBranches()
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            T.assume(j < 14 or A[i, j] < T.float32(1))
        for i, j in T.grid(4, 16):
            B[i, j] = A[i, j]
