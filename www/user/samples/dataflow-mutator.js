// Mutates dataflow blocks, which have no side effects: there x + x may become x * 2. Bindings outside of them are left
// alone.
class DoubleByTwo extends relax.DataflowMutator {
  visitCall(call) {
    const post = super.visitCall(call);
    if (post.op !== op("add").op || post.args[0] !== post.args[1]) return post;
    const { dtype } = post.args[0].checkedType;
    return relax.multiply(post.args[0], constant(2, dtype));
  }
}

functionPass({ name: "DoubleByTwo", doc: "x + x becomes x * 2 in dataflow blocks." }, (func, mod) =>
  new DoubleByTwo(mod).visit(func),
);
