// Replaces every `if` by its true branch. The result of a hook replaces the node, and may be of another kind.
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
