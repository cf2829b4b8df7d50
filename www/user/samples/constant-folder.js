// Constant folding, as the developer's guide of TVM walks through it: a visitor that finds the constants, and a mutator
// with a hook for each of the three kinds of nodes that are involved.
class ConstantChecker extends ExprVisitor {
  known = new Map();

  check(expr) {
    if (expr instanceof Constant) return true;
    const before = this.known.get(expr);
    if (before !== undefined) return before;
    this.visit(expr);
    return this.known.get(expr) ?? false;
  }

  // Only tuples of constants are constant as well: nothing else is gone into.
  visitTuple(tuple) {
    this.known.set(
      tuple,
      tuple.fields.every((field) => this.check(field)),
    );
  }
  visitCall(_call) {}
  visitLet(_let) {}
  visitIf(_if) {}
  visitFunction(_func) {}
  visitMatch(_match) {}
  visitTupleGetItem(_item) {}
}

class ConstantFolder extends ExprMutator {
  checker = new ConstantChecker();

  constructor(module) {
    super();
    this.module = module;
  }

  visitLet(op) {
    const value = this.mutate(op.value);
    if (value instanceof Constant) {
      // Uses of the variable become the constant, and the binding goes.
      this.memo.set(op.var, value);
      return this.mutate(op.body);
    }
    const variable = this.mutate(op.var);
    const body = this.mutate(op.body);
    if (variable === op.var && value === op.value && body === op.body) return op;
    return new Let(variable, value, body);
  }

  visitTupleGetItem(op) {
    const res = super.visitTupleGetItem(op);
    // It is asked again, because the tuple may have become one only now.
    return res.tuple instanceof Tuple ? res.tuple.fields[res.index] : res;
  }

  visitCall(call) {
    const res = super.visitCall(call);
    // Calls without arguments are not folded: ones(shape=[4, 5]) is smaller than its value.
    if (res.args.length === 0) return res;
    if (!(res.op instanceof Op)) return res;
    if (res.op.getAttr("TOpIsStateful")) return res;
    if (!res.op.hasKernel) return res;
    return res.args.every((arg) => this.checker.check(arg)) ? evaluate(res, this.module) : res;
  }
}

functionPass(
  { name: "MyFoldConstant", optLevel: 2, doc: "Evaluates what depends on constants only." },
  (func, mod) => new ConstantFolder(mod).mutate(func),
);
