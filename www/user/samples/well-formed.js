// TVM's well-formedness checker in short: every variable is defined once and before its uses, definitions in a branch
// are not visible outside, dataflow variables stay in their block, operands are not nested (A-normal form), and so for
// symbolic variables, which parameters and match_cast define.
class Symbols extends TypeVisitor {
  found = new Set();
  visitDim(dim) {
    if (typeof dim === "object" && dim !== Any) this.found.add(dim);
  }
  static of(type) {
    const symbols = new Symbols();
    if (type) symbols.visitType(type);
    return symbols.found;
  }
}

class WellFormedChecker extends relax.ExprVisitor {
  problems = [];
  defined = new Set();
  visible = new Set();
  symbols = new Set();

  constructor(mod) {
    super();
    this.globals = new Set(mod.getGlobalVars());
  }

  malformed(place, message) {
    this.problems.push(Diagnostic.warning(place, message));
  }

  // Forgets definitions at the end of the scope.
  inScope(visit) {
    const [vars, symbols] = [this.visible, this.symbols];
    this.visible = new Set(vars);
    this.symbols = new Set(symbols);
    visit();
    [this.visible, this.symbols] = [vars, symbols];
  }
  visitBody(branch) {
    this.inScope(() => this.visit(branch));
  }

  visitVarDef(variable) {
    if (this.defined.has(variable))
      this.malformed(variable, `Var ${variable.nameHint} is defined more than once.`);
    this.defined.add(variable);
    this.visible.add(variable);
  }
  visitVar(variable) {
    if (!this.visible.has(variable))
      this.malformed(variable, `Var ${variable.nameHint} is not defined here.`);
  }
  visitGlobalVar(name) {
    if (!this.globals.has(name))
      this.malformed(name, `GlobalVar ${name.nameHint} is not in the module.`);
  }
  visitCall(call) {
    for (const arg of call.args)
      if (arg instanceof Call || arg instanceof If || arg instanceof TupleGetItem)
        this.malformed(call, `${call} is not in A-normal form.`);
    super.visitCall(call);
  }
  visitFunction(func) {
    this.inScope(() => {
      for (const param of func.params)
        for (const symbol of Symbols.of(param.typeAnnotation)) this.symbols.add(symbol);
      super.visitFunction(func);
    });
  }
  visitMatchCast(binding) {
    for (const symbol of Symbols.of(binding.type)) this.symbols.add(symbol);
    super.visitMatchCast(binding);
  }
  visitPrimExpr(value) {
    if (typeof value === "object" && /^\w+$/.test(String(value)) && !this.symbols.has(value))
      this.malformed(null, `Symbolic Var ${value} is not defined here.`);
  }
  visitIf(op) {
    this.visit(op.cond);
    this.visitBody(op.trueBranch);
    this.visitBody(op.falseBranch);
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

modulePass({ name: "WellFormed", doc: "Reports what is not well-formed." }, (mod, ctx) => {
  const problems = wellFormed(mod);
  for (const problem of problems) ctx.diagCtx.emit(problem);
  if (problems.length === 0) console.log("well-formed");
  // A program that is not.
  const x = new Var("x", "R.Tensor((2,), 'float32')");
  const twice = new BindingBlock([
    new VarBinding(x, relax.exp(relax.exp(x))),
    new VarBinding(new Var("y"), relax.add(x, new Var("z"))),
    new VarBinding(new Var("shape"), new ShapeExpr([tir.Var("n")])),
  ]);
  const main = new Function([x], new SeqExpr([twice], x));
  for (const { message } of wellFormed(new IRModule({ main }))) console.log(message);
  return mod;
});
