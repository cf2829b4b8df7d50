/** Tests scripts that look into tensor programs. Their output is compared with what the program says or TVM's words. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const ADD = `@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"), n: T.int32):
        for i, j in T.grid(8, 16):
            if i * 16 + j < n:
                B[i, j] = A[i, j] + T.float32(1.0)
`;

const BLOCK = `@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        # with T.sblock("root"):
        for k in range(8):
            with T.sblock("sum"):
                vk = T.axis.reduce(8, k)
                T.reads(A[vk])
                T.writes(B[0])
                with T.init():
                    B[0] = T.float32(0.0)
                B[0] = B[0] + A[vk]
`;

describe.skipIf(!built)("the inside of tensor programs", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });
  const look = (body: string, source = ADD) =>
    bench.run(source, `primFuncPass({ name: "Look" }, (func, mod) => {\n${body}\n});`, ["Look"]);

  test("nodes have TVM's fields", async () => {
    const out = await look(`
      const loop = func.body;
      console.log(loop instanceof tir.For, loop.loopVar.name, loop.min, loop.extent.value, loop.kind, loop.loopVar.dtype);
      const branch = loop.body.body;
      const { condition, thenCase } = branch;
      console.log(condition instanceof tir.LT, condition.a instanceof tir.Add, condition.b === func.params[2], condition);
      console.log(thenCase.buffer === func.params[1], thenCase.buffer.shape.join("x"), thenCase.value.b.value, String(thenCase).split("\\n").at(-1));
      console.log(thenCase.value.a.indices[0] === loop.loopVar, branch.elseCase, func.buffers.length);
      return func;`);
    expect(said(out)).toEqual([
      "true i 0 8 serial int32",
      "true true true i * 16 + j < n",
      "true 8x16 1 B[i, j] = A[i, j] + T.float32(1.0)",
      "true null 2",
    ]);
  });

  test("visitors visit parts, post-order visits each once", async () => {
    const out = await look(`
      class Count extends tir.StmtExprVisitor {
        loads = 0; stores = 0; buffers = new Set();
        visitBufferLoad(load) { this.loads++; this.visitParts(load); }
        visitBufferStore(store) { this.stores++; this.visitParts(store); }
        visitBuffer(buffer) { this.buffers.add(buffer.name); }
      }
      const count = new Count();
      count.visit(func);
      console.log(count.loads, count.stores, [...count.buffers].join());
      const kinds = [];
      tir.postOrderVisit(func, (node) => { if (node instanceof tir.Stmt) kinds.push(node.constructor.name); });
      console.log(kinds.join());
      return func;`);
    expect(said(out)).toEqual(["1 1 B,A", "BufferStore,IfThenElse,For,For"]);
  });

  test("a mutator rebuilds only what changed", async () => {
    const out = await bench.run(
      ADD,
      `class Twice extends tir.StmtExprMutator {
        visitFloatImm(x) { return x.mul(2); }
      }
      class Same extends tir.StmtExprMutator {}
      primFuncPass({ name: "Double" }, (func) => {
        console.log(new Same().visit(func) === func);
        return new Twice().visit(func);
      });`,
      ["Double"],
    );
    expect(said(out)).toEqual(["true"]);
    expect(bench.text(1)).toContain("B[i, j] = A[i, j] + T.float32(2.0)");
  });

  test("blocks are realised blocks, and mutators go into both", async () => {
    const out = await bench.run(
      BLOCK,
      `class Half extends tir.StmtExprMutator {
        visitSBlock(block) { const [axis] = block.iterVars;
          if (axis) console.log(block.nameHint, axis.iterType, block.reads.join(), String(block.init).split("\\n").at(-1)); return this.visitParts(block); }
        visitFloatImm(x) { return 0.5; }
      }
      primFuncPass({ name: "Half" }, (func) => {
        const names = [];
        tir.postOrderVisit(func, (node) => names.push(node.constructor.name));
        console.log(names.includes("SBlockRealize"), names.filter((name) => name === "SBlock").length);
        return new Half().visit(func);
      });`,
      ["Half"],
    );
    expect(said(out).slice(-1)).toEqual(["sum reduce A[vk] B[0] = T.float32(0.0)"]);
    expect(said(out)[0]).toBe("true 2");
    const text = bench.text(1);
    expect(text).toContain("B[0] = T.float32(0.5)");
    expect(text).toContain("vk = T.axis.reduce(8, k)");
  });

  test("substitute and irTransform", async () => {
    const out = await bench.run(
      ADD,
      `primFuncPass({ name: "Fix" }, (func) => {
        const fixed = tir.substitute(func, new Map([[func.params[2], 100]]));
        return fixed.withBody(tir.irTransform(fixed.body, null,
          (loop) => loop.loopVar.name === "j"
            ? tir.For(loop.loopVar, loop.min, loop.extent, "vectorized", loop.body) : null, ["tir.For"]));
      });`,
      ["Fix"],
    );
    expect(said(out)).toEqual([]);
    expect(bench.text(1)).toContain("if i * 16 + j < 100:");
    expect(bench.text(1)).toContain("for j in T.vectorized(16):");
  });

  test("programs are built", async () => {
    const out = await bench.run(
      ADD,
      `modulePass({ name: "Make" }, (mod) => {
        const A = tir.Buffer([16], "float32", { name: "A" });
        const i = tir.Var("i", "int32");
        const store = A.store(A.load(i).add(1), i);
        const tail = A.store(tir.max(A.load(0), 0), 0);
        const body = tir.seq(tir.For(i, 0, 16, "parallel", store), tail);
        const made = mod.copy();
        made.set("made", tir.PrimFunc([A], body, null, { global_symbol: "made" }));
        return made;
      });`,
      ["Make"],
    );
    expect(said(out)).toEqual([]);
    const text = bench.text(1);
    expect(text).toContain('def made(A: T.Buffer((16,), "float32")):');
    expect(text).toContain("for i in T.parallel(16):");
    expect(text).toContain("A[i] = A[i] + T.float32(1.0)");
    expect(text).toContain("A[0] = T.max(A[0], T.float32(0.0))");
  });

  test("Apply maps functions, Filter drops some", async () => {
    const out = await bench.run(
      ADD,
      `modulePass({ name: "Both" }, (mod) => {
        const marked = tir.transform.Apply((func) => func.withAttr("my_kind", "add"))(mod);
        console.log(marked.get("main").attrs.my_kind);
        const none = tir.transform.Filter((func) => func.attrs.my_kind !== "add")(marked);
        console.log(none.functions.length, tir.transform.Filter(() => true)(marked).functions.length);
        return marked;
      });`,
      ["Both"],
    );
    expect(said(out)).toEqual(["add", "0 1"]);
  });

  test("the analyzer simplifies and proves", async () => {
    const out = await look(`
      const x = tir.Var("x", "int32"), y = tir.Var("y", "int32");
      const analyzer = new arith.Analyzer();
      console.log(analyzer.simplify(x.add(y).sub(x)), analyzer.canProve(x.lt(8)));
      analyzer.bind(x, new tir.Range(0, 8));
      console.log(analyzer.simplify(x.mul(4).add(3).floordiv(4)), analyzer.canProve(x.lt(8)));
      const { minValue, maxValue } = analyzer.constIntBound(x.mul(2).add(1));
      const { coeff, base } = analyzer.modularSet(x.mul(4).add(3));
      console.log(minValue, maxValue, coeff, base, analyzer.constIntBound(y).maxValue);
      console.log(analyzer.constraintScope(y.gt(3), () => analyzer.canProve(y.ge(4))), analyzer.canProve(y.ge(4)));
      console.log(analyzer.rewriteSimplify(tir.min(x, x.add(1))), analyzer.canProveEqual(x.mul(2), x.add(x)));
      const set = analyzer.intSet(x.add(y), new Map([[x, new tir.Range(0, 4)]]));
      console.log(set.minValue, set.maxValue);
      return func;`);
    expect(said(out)).toEqual([
      "y false",
      "x true",
      "1 15 4 3 2147483647",
      "true false",
      "x true",
      "y 3 + y",
    ]);
  });

  test.each([
    ["a class", "tir.Forr", "tir has no Forr: did you mean For?"],
    ["a function", "tir.post_order_visit(func)", "did you mean postOrderVisit?"],
    [
      "a field in Python's spelling",
      "func.body.loop_var",
      "For has no loop_var: did you mean loopVar?",
    ],
    [
      "a field of another kind's spelling",
      "func.body.body.then_case",
      "For has no then_case: did you mean thenCase?",
    ],
    [
      "a kind of loop",
      'tir.For(func.body.loopVar, 0, 8, "serail", func.body.body)',
      'For.kind: there is no kind "serail": did you mean serial?',
    ],
    ["a missing part", "tir.For(func.body.loopVar, 0, 8)", "For.body: a statement is needed here"],
    ["too much", "tir.Evaluate(1, 2)", "Evaluate takes value, and 2 arguments were given"],
    [
      "an option of a buffer",
      'tir.Buffer([1], "int8", { scop: "local" })',
      "Buffer has no option scop: did you mean scope?",
    ],
    [
      "a hook",
      "new (class extends tir.StmtExprMutator { visit_for(x) {} })()",
      "did you mean visitFor?",
    ],
    [
      "a hook's result",
      "new (class M extends tir.StmtExprMutator { visitFor(x) {} })().visit(func)",
      "M.visitFor gave nothing: the hook returns a statement",
    ],
    ["the analyzer's name", "arith.Analyser", "arith has no Analyser: did you mean Analyzer?"],
  ])("a name that is not known: %s", async (_, script, message) => {
    const out = await look(`${script};\nreturn func;`);
    const found = [...(out.script?.problems ?? []), ...out.steps.flatMap((step) => step.problems)];
    expect(found.map((one) => one.message).join("\n")).toContain(message);
  });
});
