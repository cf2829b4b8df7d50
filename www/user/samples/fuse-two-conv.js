// Conv-conv fusion: a convolution whose input is another convolution moves with it into a function of its own. Convolutions
// are calls of tensor programs that say so with the attribute my_op_kind. See the example "Two convolutions to fuse (Relax)".
class FuseTwoConvMutator extends relax.ExprMutator {
  constructor(mod) {
    super(mod);
    this.mod = mod;
  }

  isConvolution(call) {
    if (!(call instanceof Call) || call.op !== op("call_tir").op) return false;
    return this.mod.get(call.args[0]).attrs?.my_op_kind === "convolution";
  }

  // The convolution that makes the input of this one, if both are convolutions.
  producer(call) {
    if (!this.isConvolution(call)) return null;
    const value = this.lookupBinding(call.args[1].fields[0]);
    return this.isConvolution(value) ? value : null;
  }

  visitCall(call) {
    const first = this.producer(call);
    if (!first) return call;
    const args = [...first.args[1].fields, call.args[1].fields[1]];
    // The function: parameters like the arguments, and the two calls on them.
    const [x, w1, w2] = ["x", "w1", "w2"].map((name, at) => new Var(name, args[at].checkedType));
    const conv = call.args[0];
    const lv0 = new DataflowVar("lv0", first.checkedType);
    const out = new Var("conv_2", call.checkedType);
    const block = new DataflowBlock([
      new VarBinding(lv0, relax.callTIR(conv, [x, w1], first.checkedType)),
      new VarBinding(out, relax.callTIR(conv, [lv0, w2], call.checkedType)),
    ]);
    const fused = new Function([x, w1, w2], new SeqExpr([block], out), call.checkedType);
    const func = this.builder.normalize(fused.withAttr("Primitive", true));
    return new Call(this.builder.addFunc(func, "fused_conv_conv"), args);
  }

  transform() {
    // A fused function is not visited again, or it would call itself.
    for (const [name, func] of this.mod.functions)
      if (func instanceof Function && !func.attrs?.Primitive)
        this.builder.updateFunc(name, this.visit(func));
    return this.builder.get();
  }
}

modulePass(
  { name: "FuseTwoConv", optLevel: 2, doc: "Two convolutions in a row become a function." },
  (mod) => new FuseTwoConvMutator(mod).transform(),
);
