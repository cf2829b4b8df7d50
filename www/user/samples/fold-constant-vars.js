// Constants take the place of the variables that they are bound to: the part of TVM's FoldConstant that looks through
// bindings. DeadCodeElimination takes the bindings away.
class ConstantVars extends relax.ExprMutator {
  visitVar(variable) {
    const value = this.lookupBinding(variable);
    return value instanceof Constant ? value : super.visitVar(variable);
  }
}

functionPass(
  { name: "FoldConstantVars", doc: "Variables that are bound to constants become these." },
  (func, mod) => new ConstantVars(mod).visit(func),
);
