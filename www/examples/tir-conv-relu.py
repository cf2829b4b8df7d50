# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def conv_bias_relu(X: T.Buffer((1, 8, 18, 18), "float32"), W: T.Buffer((16, 8, 3, 3), "float32"), bias: T.Buffer((16,), "float32"), Y: T.Buffer((1, 16, 16, 16), "float32")):
        conv = T.sblock_alloc_buffer((1, 16, 16, 16))
        biased = T.sblock_alloc_buffer((1, 16, 16, 16))
        for n, f, y, x, c, ky, kx in T.grid(1, 16, 16, 16, 8, 3, 3):
            with T.sblock("conv"):
                vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
                T.reads(X[vn, vc, vy + vky, vx + vkx], W[vf, vc, vky, vkx])
                T.writes(conv[vn, vf, vy, vx])
                with T.init():
                    conv[vn, vf, vy, vx] = T.float32(0)
                conv[vn, vf, vy, vx] = conv[vn, vf, vy, vx] + X[vn, vc, vy + vky, vx + vkx] * W[vf, vc, vky, vkx]
        for n, f, y, x in T.grid(1, 16, 16, 16):
            with T.sblock("bias"):
                vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                T.reads(conv[vn, vf, vy, vx], bias[vf])
                T.writes(biased[vn, vf, vy, vx])
                biased[vn, vf, vy, vx] = conv[vn, vf, vy, vx] + bias[vf]
        for n, f, y, x in T.grid(1, 16, 16, 16):
            with T.sblock("relu"):
                vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
                T.reads(biased[vn, vf, vy, vx])
                T.writes(Y[vn, vf, vy, vx])
                Y[vn, vf, vy, vx] = T.max(biased[vn, vf, vy, vx], T.float32(0))
