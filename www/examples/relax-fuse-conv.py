# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

# Two convolutions in a row, as calls of one tensor program. The pass FuseTwoConv stands in My passes.
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def conv2d(A: T.Buffer((T.int64(1), T.int64(16), T.int64(64), T.int64(64)), "float32"), W: T.Buffer((T.int64(16), T.int64(16), T.int64(3), T.int64(3)), "float32"), B: T.Buffer((T.int64(1), T.int64(16), T.int64(64), T.int64(64)), "float32")):
        T.func_attr({"my_op_kind": "convolution"})
        for n, f, y, x, c, ky, kx in T.grid(T.int64(1), T.int64(16), T.int64(64), T.int64(64), T.int64(16), T.int64(3), T.int64(3)):
            with T.sblock("conv2d"):
                vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
                T.reads(A[vn, vc, vy + vky - T.int64(1), vx + vkx - T.int64(1)], W[vf, vc, vky, vkx])
                T.writes(B[vn, vf, vy, vx])
                with T.init():
                    B[vn, vf, vy, vx] = T.float32(0)
                B[vn, vf, vy, vx] = B[vn, vf, vy, vx] + T.if_then_else(T.int64(1) <= vy + vky and vy + vky < T.int64(65) and T.int64(1) <= vx + vkx and vx + vkx < T.int64(65), A[vn, vc, vy + vky - T.int64(1), vx + vkx - T.int64(1)], T.float32(0)) * W[vf, vc, vky, vkx]

    @R.function
    def main(x: R.Tensor((1, 16, 64, 64), dtype="float32"), w1: R.Tensor((16, 16, 3, 3), dtype="float32"), w2: R.Tensor((16, 16, 3, 3), dtype="float32")) -> R.Tensor((1, 16, 64, 64), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv1 = R.call_tir(cls.conv2d, (x, w1), out_ty=R.Tensor((1, 16, 64, 64), dtype="float32"))
            gv = R.call_tir(cls.conv2d, (lv1, w2), out_ty=R.Tensor((1, 16, 64, 64), dtype="float32"))
            R.output(gv)
        return gv
