// Counts the variables that a function defines, and the dataflow variables among them. visitVarDef is called for every
// definition and goes on to visitVarDef_ or visitDataflowVarDef, by the kind of variable.
class CountVarDef extends relax.ExprVisitor {
  count = 0;
  visitVarDef(_variable) {
    this.count++;
  }
}

class CountDataflowVarDef extends relax.ExprVisitor {
  count = 0;
  visitDataflowVarDef(_variable) {
    this.count++;
  }
}

function count(visitor, func) {
  visitor.visit(func);
  return visitor.count;
}

functionPass({ name: "CountVars", doc: "Prints how many variables are defined." }, (func) => {
  const [all, inner] = [count(new CountVarDef(), func), count(new CountDataflowVarDef(), func)];
  console.log(`${all} variables, of which ${inner} are dataflow variables`);
  return func;
});
