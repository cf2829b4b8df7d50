// Dataflow patterns: match a part of a program, and rewrite it. The pattern is in a function by itself, so that two
// passes can have the same pattern.
const { wildcard, isOp, isConst, PatternContext, rewriteCall, rewriteBindings } = relax.dpl;

// x + x is twice x: the same pattern in two places has to match the same expression.
functionPass({ name: "AddToMultiply", optLevel: 1, doc: "x + x is twice x." }, (func, mod) => {
  const x = wildcard();
  const sum = isOp("relax.add")(x, x);
  const rewriter = (orig, found) => relax.multiply(found.get(x), constant(2));
  return rewriteCall(sum, rewriter, func, mod);
});

// Two products of one matrix become one. Patterns of a context know who uses whom, so that all are found together.
functionPass(
  { name: "OneMatmul", optLevel: 1, doc: "Two products of one matrix are one." },
  (func, mod) =>
    new PatternContext().run((ctx) => {
      const [x, a, b] = [wildcard(), wildcard(), wildcard()];
      const first = isOp("relax.matmul")(x, a);
      const second = isOp("relax.matmul")(x, b);
      const rewriter = (found) => {
        const [left, right] = [a, b].map((one) => found.get(one).checkedType.shape[1]);
        const weights = relax.concat([found.get(a), found.get(b)], { axis: 1 });
        const both = relax.matmul(found.get(x), weights);
        const part = (begin, end) =>
          relax.strided_slice(both, { axes: [1], begin: [begin], end: [end] });
        return new Map([
          [found.get(first), part(0, left)],
          [found.get(second), part(left, left + right)],
        ]);
      };
      return rewriteBindings(ctx, rewriter, func, mod);
    }),
);

// The pattern of an external compiler: a product and the sum after it, unless a constant is added.
const product = isOp("relax.matmul")(wildcard(), wildcard());
const bias = wildcard();
const check = ({ annotatedExpr }) => !isConst().match(annotatedExpr.bias);
sequential(
  [
    transform.FuseOpsByPattern({
      patterns: [["mine.matmul_bias", isOp("relax.add")(product, bias), { bias }, check]],
      annotate_codegen: true,
    }),
  ],
  { name: "MineMatmul", doc: "Functions for an external compiler." },
);
