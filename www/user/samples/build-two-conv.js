// Two convolutions in a row, built with the BlockBuilder. TVM's tutorial emits tensor expressions of its own, which
// are not here: a tensor program is read from its text and called (`emitTE` lowers an operator).
const CONV2D = `
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def conv2d(A: T.Buffer((T.int64(1), T.int64(16), T.int64(64), T.int64(64)), "float32"), W: T.Buffer((T.int64(16), T.int64(16), T.int64(3), T.int64(3)), "float32"), B: T.Buffer((T.int64(1), T.int64(16), T.int64(64), T.int64(64)), "float32")):
        for n, f, y, x, c, ky, kx in T.grid(T.int64(1), T.int64(16), T.int64(64), T.int64(64), T.int64(16), T.int64(3), T.int64(3)):
            with T.sblock("conv2d"):
                vn, vf, vy, vx, vc, vky, vkx = T.axis.remap("SSSSRRR", [n, f, y, x, c, ky, kx])
                T.reads(A[vn, vc, vy + vky - T.int64(1), vx + vkx - T.int64(1)], W[vf, vc, vky, vkx])
                T.writes(B[vn, vf, vy, vx])
                with T.init():
                    B[vn, vf, vy, vx] = T.float32(0)
                B[vn, vf, vy, vx] = B[vn, vf, vy, vx] + T.if_then_else(T.int64(1) <= vy + vky and vy + vky < T.int64(65) and T.int64(1) <= vx + vkx and vx + vkx < T.int64(65), A[vn, vc, vy + vky - T.int64(1), vx + vkx - T.int64(1)], T.float32(0)) * W[vf, vc, vky, vkx]
`;

modulePass(
  { name: "BuildTwoConv", doc: "Puts two convolutions in the place of the program." },
  () => {
    const bb = new BlockBuilder();
    const image = new TensorType([1, 16, 64, 64], "float32");
    const weight = new TensorType([16, 16, 3, 3], "float32");
    const [x, w1, w2] = [new Var("x", image), new Var("w1", weight), new Var("w2", weight)];
    const program = parseModule(CONV2D).get("conv2d").withAttr("my_op_kind", "convolution");
    const conv2d = bb.addFunc(program, "conv2d");
    bb.function("main", [x, w1, w2], () => {
      const gv = bb.dataflow(() => {
        const lv1 = bb.emit(relax.callTIR(conv2d, [x, w1], image));
        return bb.emitOutput(relax.callTIR(conv2d, [lv1, w2], image));
      });
      bb.emitFuncOutput(gv);
    });
    const mod = bb.get();
    console.log(mod.get("main"));
    return mod;
  },
);
