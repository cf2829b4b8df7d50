// Finds out if a program contains a call. The hook of calls does not visit their parts: one call is enough.
class CallChecker extends ExprVisitor {
  result = false;

  check(expr) {
    this.result = false;
    this.visit(expr);
    return this.result;
  }

  visitCall(_call) {
    this.result = true;
  }
}

modulePass({ name: "CallChecker", doc: "Prints which functions contain a call." }, (mod) => {
  for (const [name, func] of mod.functions) {
    console.log(
      `@${name.nameHint} ${new CallChecker().check(func) ? "calls something" : "calls nothing"}`,
    );
  }
  return mod;
});
