// An expression is constant if it is a Constant, or a Tuple with only constant fields. Unknown ones are not constant.
class ConstantChecker extends ExprVisitor {
  known = new Map();

  check(expr) {
    const before = this.known.get(expr);
    if (before !== undefined) return before;
    this.visit(expr);
    return this.known.get(expr) ?? false;
  }

  visitConstant(constant) {
    this.known.set(constant, true);
  }

  visitTuple(tuple) {
    this.known.set(
      tuple,
      tuple.fields.every((field) => this.check(field)),
    );
  }
}

functionPass(
  { name: "ConstantChecker", doc: "Prints which parts of a program are constant." },
  (func) => {
    const checker = new ConstantChecker();
    postOrderVisit(func, (expr) => {
      if (expr instanceof Tuple || expr instanceof Constant || expr instanceof Call) {
        console.log(
          `${checker.check(expr) ? "constant    " : "not constant"} ${expr.constructor.name}`,
        );
      }
    });
    return func;
  },
);
