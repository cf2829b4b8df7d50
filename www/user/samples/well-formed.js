// TVM's well-formedness checker in short: every variable is defined once and before it is used, what is defined in a branch
// is not seen outside, dataflow variables stay in their block, and operands are not nested (A-normal form).
class WellFormedChecker extends relax.ExprVisitor {
  problems = [];
  defined = new Set();
  visible = new Set();

  constructor(mod) {
    super();
    this.globals = new Set(mod.getGlobalVars());
  }

  malformed(message) {
    this.problems.push(message);
  }

  // What is defined meanwhile is forgotten afterwards.
  inScope(visit) {
    const outer = this.visible;
    this.visible = new Set(outer);
    visit();
    this.visible = outer;
  }

  visitVarDef(variable) {
    if (this.defined.has(variable))
      this.malformed(`Var ${variable.nameHint} is defined more than once.`);
    this.defined.add(variable);
    this.visible.add(variable);
  }
  visitVar(variable) {
    if (!this.visible.has(variable))
      this.malformed(`Var ${variable.nameHint} is not defined here.`);
  }
  visitGlobalVar(name) {
    if (!this.globals.has(name)) this.malformed(`GlobalVar ${name.nameHint} is not in the module.`);
  }
  visitCall(call) {
    for (const arg of call.args)
      if (arg instanceof Call || arg instanceof If || arg instanceof TupleGetItem)
        this.malformed(`${call} is not in A-normal form.`);
    super.visitCall(call);
  }
  visitFunction(func) {
    this.inScope(() => super.visitFunction(func));
  }
  visitIf(op) {
    this.visit(op.cond);
    this.inScope(() => this.visit(op.trueBranch));
    this.inScope(() => this.visit(op.falseBranch));
  }
  visitDataflowBlock(block) {
    super.visitDataflowBlock(block);
    for (const { var: variable } of block.bindings)
      if (variable.isDataflow) this.visible.delete(variable);
  }
}

function wellFormed(mod) {
  const checker = new WellFormedChecker(mod);
  for (const [, func] of mod.functions) if (func instanceof Function) checker.visit(func);
  return checker.problems;
}

modulePass({ name: "WellFormed", doc: "Prints what is not well-formed." }, (mod) => {
  const problems = wellFormed(mod);
  console.log(problems.length === 0 ? "well-formed" : problems.join("\n"));
  // A program that is not.
  const x = new Var("x", "R.Tensor((2,), 'float32')");
  const twice = new BindingBlock([
    new VarBinding(x, relax.exp(relax.exp(x))),
    new VarBinding(new Var("y"), relax.add(x, new Var("z"))),
  ]);
  const main = new Function([x], new SeqExpr([twice], x));
  console.log(wellFormed(new IRModule({ main })).join("\n"));
  return mod;
});
