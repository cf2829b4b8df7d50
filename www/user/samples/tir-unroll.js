// Marks short loops as unrolled, where the analyzer proves that they are short, and counts loads before and after.
class Unroll extends tir.StmtExprMutator {
  analyzer = new arith.Analyzer();
  visitFor(loop) {
    this.analyzer.bind(loop.loopVar, new tir.Range(loop.min, loop.extent), true);
    const post = this.visitParts(loop);
    if (post.kind !== "serial" || !this.analyzer.canProve(post.extent.le(4))) return post;
    console.log(`${post.loopVar.name} runs ${post.extent} times`);
    return new tir.For(post.loopVar, post.min, post.extent, "unrolled", post.body);
  }
}

function loads(func) {
  let count = 0;
  tir.postOrderVisit(func, (node) => {
    if (node instanceof tir.BufferLoad) count++;
  });
  return count;
}

primFuncPass({ name: "UnrollShort", doc: "Unrolls loops of four rounds at most." }, (func) => {
  const after = new Unroll().visit(func);
  console.log(`${loads(func)} loads before, ${loads(after)} after`);
  return after;
});
