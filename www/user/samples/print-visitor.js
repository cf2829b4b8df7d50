// A visitor that says "Here" before every visit. `visit` finds the hook of a node's kind, so overriding
// it alone sees every edge of the program, also those to nodes that were visited before.
class PrintVisitor extends ExprVisitor {
  visit(expr) {
    console.log(`Here: ${expr.constructor.name}`);
    super.visit(expr);
  }
}

functionPass({ name: "PrintEveryVisit", doc: "Prints a line for every visit." }, (func) => {
  new PrintVisitor().visit(func);
  return func;
});
