// A visitor that says "Here" before every visit of a node, and shows blocks and bindings on the way.
class PrintVisitor extends relax.ExprVisitor {
  depth = 0;

  say(what) {
    console.log("  ".repeat(this.depth) + what);
  }

  inside(what, visit) {
    this.say(what);
    this.depth++;
    visit();
    this.depth--;
  }

  visit(expr) {
    this.inside(`Here: ${kind(expr)}`, () => super.visit(expr));
  }
  visitBindingBlock(block) {
    this.inside(block.isDataflow ? "dataflow block" : "block", () =>
      super.visitBindingBlock(block),
    );
  }
  visitBinding(binding) {
    this.inside(`binding of ${binding.var.nameHint}`, () => super.visitBinding(binding));
  }
}

const KINDS = { Function, SeqExpr, If, Call, Op, GlobalVar, DataflowVar, Var, Constant, Tuple };

function kind(expr) {
  return Object.keys(KINDS).find((name) => expr instanceof KINDS[name]) ?? "another one";
}

functionPass({ name: "PrintVisits", doc: "Prints a line for every visit." }, (func) => {
  new PrintVisitor().visit(func);
  return func;
});
