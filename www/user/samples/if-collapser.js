// Replaces every `if` by its true branch. What a hook gives stands for the node, and need not be of its kind.
class IfCollapser extends ExprMutator {
  collapseIfs(expr) {
    return this.visit(expr);
  }

  visitIf(op) {
    return this.visit(op.trueBranch);
  }
}

functionPass(
  { name: "IfCollapser", optLevel: 0, doc: "Replaces every if by its true branch." },
  (func) => new IfCollapser().collapseIfs(func),
);
