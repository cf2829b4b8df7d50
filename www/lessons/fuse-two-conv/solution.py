# passlab 1
# pass: FuseTwoConv
# pass: DeadCodeElimination()
# step: FuseTwoConv#1
# script:|// A convolution whose input is another convolution moves with it into a function of its own.
# script:|class FuseTwoConvMutator extends relax.ExprMutator {
# script:|  constructor(mod) {
# script:|    super(mod);
# script:|    this.mod = mod;
# script:|  }
# script:|
# script:|  isConvolution(call) {
# script:|    if (!(call instanceof Call) || call.op !== op("call_tir").op) return false;
# script:|    return this.mod.get(call.args[0]).attrs?.my_op_kind === "convolution";
# script:|  }
# script:|
# script:|  // The convolution that makes the input of this one, if that is what they are.
# script:|  producer(call) {
# script:|    if (!this.isConvolution(call)) return null;
# script:|    const value = this.lookupBinding(call.args[1].fields[0]);
# script:|    return this.isConvolution(value) ? value : null;
# script:|  }
# script:|
# script:|  visitCall(call) {
# script:|    const first = this.producer(call);
# script:|    if (!first) return call;
# script:|    const args = [...first.args[1].fields, call.args[1].fields[1]];
# script:|    // The function: parameters like the arguments, and the two calls on them.
# script:|    const [x, w1, w2] = ["x", "w1", "w2"].map((name, at) => new Var(name, args[at].checkedType));
# script:|    const conv = call.args[0];
# script:|    const lv0 = new DataflowVar("lv0", first.checkedType);
# script:|    const out = new Var("conv_2", call.checkedType);
# script:|    const block = new DataflowBlock([
# script:|      new VarBinding(lv0, relax.callTIR(conv, [x, w1], first.checkedType)),
# script:|      new VarBinding(out, relax.callTIR(conv, [lv0, w2], call.checkedType)),
# script:|    ]);
# script:|    const fused = new Function([x, w1, w2], new SeqExpr([block], out), call.checkedType);
# script:|    const func = this.builder.normalize(fused.withAttr("Primitive", true));
# script:|    return new Call(this.builder.addFunc(func, "fused_conv_conv"), args);
# script:|  }
# script:|
# script:|  transform() {
# script:|    // What was fused is not looked into again, or it would call itself.
# script:|    for (const [name, func] of this.mod.functions)
# script:|      if (func instanceof Function && !func.attrs?.Primitive)
# script:|        this.builder.updateFunc(name, this.visit(func));
# script:|    return this.builder.get();
# script:|  }
# script:|}
# script:|
# script:|modulePass(
# script:|  { name: "FuseTwoConv", optLevel: 2, doc: "Two convolutions in a row become a function." },
# script:|  (mod) => new FuseTwoConvMutator(mod).transform(),
# script:|);
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

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
