/** Tests patterns in scripts. The expected results are those of TVM 0.27 for the same program and patterns. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const MAIN = `@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32"), v: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float32") = R.matmul(x, w)
            lv1: R.Tensor((2, 4), dtype="float32") = R.matmul(x, v)
            lv2: R.Tensor((2, 4), dtype="float32") = R.add(lv, lv1)
            lv3: R.Tensor((2, 4), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((2, 4), dtype="float32") = R.nn.softmax(lv3, axis=1)
            lv5: R.Tensor((2, 4), dtype="float32") = R.add(lv4, lv4)
            R.output(lv5)
        return lv5
`;

/** The head of each script: the bindings of the block by name. */
const HEAD = `
const { wildcard, isOp, isVar, isDfv, isGv, isConst, isExpr, isTuple, isTupleGetItem, isShape, isCallTIR, isCallPacked,
  PatternContext, rewriteCall, rewriteBindings } = relax.dpl;
const look = (f) => modulePass({ name: "Look" }, (mod) => {
  const block = mod.get("main").body.blocks[0];
  const value = {}, values = new Map();
  for (const { var: v, value: e } of block.bindings) { value[v.nameHint] = e; values.set(v, e); }
  return f(mod, block, value, values) ?? mod;
});
`;

/** Returns the bindings of a text. */
const lines = (text: string) =>
  text
    .split("\n")
    .filter((line) => / = /.test(line))
    .map((line) => line.trim().replace(/: R\.Tensor\(.*?\) = /, " = "));

describe.skipIf(!built)("patterns", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  const run = async (script: string, source = MAIN) => bench.run(source, HEAD + script, ["Look"]);

  test("an expression is matched, through what its variables are bound to", async () => {
    const out = await run(`look((mod, block, value, values) => {
      const [x, y] = [wildcard(), wildcard()];
      const mm = isOp("relax.matmul")(x, y);
      const relu = isOp("relax.nn.relu")(isOp("relax.add")(mm, wildcard()));
      console.log(relu.match(value.lv3), relu.match(value.lv3, values));
      const found = relu.extractMatchedExpr(value.lv3, values);
      console.log(found.get(x), found.get(y), found.get(mm), found.size);
      console.log(isOp("relax.exp")(x).extractMatchedExpr(value.lv3));
      const same = wildcard();
      const sum = isOp("relax.add")(same, same);
      console.log(sum.match(value.lv5), sum.match(value.lv2), sum.dup().match(value.lv5));
    });`);
    expect(said(out)).toEqual([
      "false true",
      "x w R.matmul(x, w, out_dtype=None) 9",
      "null",
      "true false true",
    ]);
  });

  test("attributes, types and shapes narrow a pattern, and patterns are combined", async () => {
    const out = await run(`look((mod, block, value) => {
      const any = wildcard();
      const softmax = isOp("relax.nn.softmax")(wildcard());
      const add = isOp("relax.add")(wildcard(), wildcard());
      const matmul = isOp("relax.matmul");
      const say = (expr, ...patterns) => console.log(...patterns.map((one) => one.match(expr)));
      say(value.lv4, softmax.hasAttr({ axis: 1 }), softmax.hasAttr({ axis: 0 }), any.hasDtype("float32"), any.hasDtype("float16"));
      say(value.lv4, any.hasShape([2, 4]), any.hasShape([4, 4]), any.hasTy(new TensorType([2, 4])), any.hasTy(new TensorType([2, 2])));
      say(value.lv2, matmul(any, any).or(add), add.not(), add.and(any.hasDtype("float32")));
      say(value.lv, matmul(wildcard(), { vargDefaultWildcard: true }), matmul(wildcard()));
      const [x, w] = mod.get("main").params;
      say(x, isVar("x"), isVar("y"), isExpr(x));
      console.log(isDfv().match(block.bindings[0].var), isGv("f").match(new GlobalVar("f")), isConst().match(constant(1)));
      const both = new Tuple([x, w]), second = new TupleGetItem(both, 1);
      say(both, isTuple([any, wildcard()]), isTuple([isVar("w"), isVar("x")]), isTuple([isVar("w"), isVar("x")], true));
      say(second, isTupleGetItem(any, 1), isTupleGetItem(any, 0), isTupleGetItem(wildcard()));
      const tir = relax.callTIR(new GlobalVar("f"), [x], new TensorType([2]));
      say(tir, isCallTIR("f"), isCallTIR("g"), isCallTIR("f", [isVar("x")]));
      const packed = relax.callPacked("p", [x]);
      say(packed, isCallPacked("p"), isCallPacked("q"));
      say(new ShapeExpr([2, 4]), isShape([2, 4]), isShape([2, 5]));
    });`);
    expect(said(out)).toEqual([
      "true false true false",
      "true false true false",
      "true false true",
      "true false",
      "true false true",
      "true true true",
      "true false true",
      "true false true",
      "true false true",
      "true false",
      "true false",
    ]);
  });

  test("patterns that use one another are found in a block", async () => {
    const out = await run(`look((mod, block) => {
      new PatternContext().run((ctx) => {
        const [a, b, c] = [wildcard(), wildcard(), wildcard()];
        const [m1, m2] = [isOp("relax.matmul")(a, b), isOp("relax.matmul")(a, c)];
        const s = isOp("relax.add")(m1, m2);
        s.onlyUsedBy(isOp("relax.nn.relu")(s));
        const found = ctx.matchDfb(block);
        console.log(...[a, b, c, m1, s].map((one) => found.get(one).nameHint), found.size);
      });
      new PatternContext().run((ctx) => {
        isOp("relax.matmul")(wildcard(), wildcard()).usedBy(isOp("relax.exp")(wildcard()));
        console.log(ctx.matchDfb(block));
      });
    });`);
    expect(said(out)).toEqual(["x w v lv lv2 7", "null"]);
  });

  test("what looks like a pattern is rewritten", async () => {
    const out = await run(`look((mod, block) => {
      const x = wildcard();
      const rewriter = (orig, found) => relax.multiply(found.get(x), constant(2));
      return mod.set("main", rewriteCall(isOp("relax.add")(x, x), rewriter, mod.get("main")));
    });`);
    expect(said(out)).toEqual([]);
    expect(lines(bench.text(1)).slice(3)).toEqual([
      "lv3 = R.nn.relu(lv2)",
      "lv4 = R.nn.softmax(lv3, axis=1)",
      'lv5 = R.multiply(lv4, R.const(2.0, "float32"))',
    ]);
  });

  test("bindings that several patterns stand for are rewritten", async () => {
    const out = await run(`look((mod, block) => new PatternContext().run((ctx) => {
      const [a, b, c] = [wildcard(), wildcard(), wildcard()];
      const [m1, m2] = [isOp("relax.matmul")(a, b), isOp("relax.matmul")(a, c)];
      const rewriter = (found, bindings) => {
        console.log(bindings.size, bindings.get(found.get(m1)));
        const both = relax.matmul(found.get(a), relax.concat([found.get(b), found.get(c)], { axis: 1 }));
        const part = (begin) => relax.strided_slice(both, { axes: [1], begin: [begin], end: [begin + 4] });
        return new Map([[found.get(m1), part(0)], [found.get(m2), part(4)]]);
      };
      return mod.set("main", rewriteBindings(ctx, rewriter, mod.get("main")));
    }));`);
    expect(said(out)).toEqual(["6 R.matmul(x, w, out_dtype=None)"]);
    expect(lines(bench.text(1))).toEqual([
      "lv = R.concat((w, v), axis=1)",
      "lv1 = R.matmul(x, lv, out_dtype=None)",
      "lv_1 = R.strided_slice(lv1, (1,), (0,), (4,), assume_inbound=False)",
      "lv1_1 = R.strided_slice(lv1, (1,), (4,), (8,), assume_inbound=False)",
      "lv2 = R.add(lv_1, lv1_1)",
      "lv3 = R.nn.relu(lv2)",
      "lv4 = R.nn.softmax(lv3, axis=1)",
      "lv5 = R.add(lv4, lv4)",
    ]);
  });

  test("FuseOpsByPattern takes patterns, and checks of what they stand for", async () => {
    const out = await run(`look((mod) => {
      const lhs = wildcard();
      const mm = isOp("relax.matmul")(lhs, wildcard());
      const check = ({ matchedExpr, annotatedExpr, matchedBindings }) => {
        console.log(matchedExpr, annotatedExpr.lhs, annotatedExpr.mm, [...matchedBindings.keys()].map(String));
        return true;
      };
      const fusion = ["x.matmul_add", isOp("relax.add")(mm, wildcard()), { lhs, mm }, check];
      return transform.FuseOpsByPattern({ patterns: [fusion, ["x.never", isOp("relax.nn.softmax")(wildcard()), () => false]] })(mod);
    });`);
    expect(said(out)).toEqual(['R.add(lv, lv1) x R.matmul(x, w, out_dtype=None) ["lv","lv2"]']);
    const text = bench.text(1);
    expect(text).toContain('{"Composite": "x.matmul_add", "Primitive": True}');
    expect(lines(text.slice(text.indexOf("def main"))).slice(0, 4)).toEqual([
      "cls = Module",
      "lv1 = R.matmul(x, v, out_dtype=None)",
      "lv = cls.fused_relax_matmul_relax_add(x, w, lv1)",
      "lv3 = R.nn.relu(lv)",
    ]);
  });

  test("what goes wrong in a rewriter stops the rewriting and has its line", async () => {
    const out = await run(`look((mod) => {
      rewriteCall(isOp("relax.add")(wildcard(), wildcard()), () => 5, mod.get("main"));
    });`);
    expect(out.steps[0]?.problems.map((one) => one.message)).toEqual([
      expect.stringMatching(/an expression is needed here, not 5.*\(line 11 of My passes\)/),
    ]);
    const calls = await run(`look((mod) => {
      isOp("relax.add")(wildcard(), 3);
    });`);
    expect(calls.steps[0]?.problems[0]?.message).toMatch(/a pattern is needed here, not 3/);
  });

  test("calls of functions of the module stay as they are where nothing is known of the module", async () => {
    const source = `@I.ir_module
class Module:
    @R.function(private=True)
    def f(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype="float32") = R.exp(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.abs(x)
            gv: R.Tensor((2,), dtype="float32") = cls.f(lv)
            R.output(gv)
        return gv
`;
    const out = await run(
      `look((mod) => {
        const x = wildcard();
        const rewriter = (orig, found) => relax.negative(found.get(x));
        return mod.set("main", rewriteCall(isOp("relax.abs")(x), rewriter, mod.get("main")));
      });`,
      source,
    );
    expect(said(out)).toEqual([]);
    expect(lines(bench.text(1)).slice(-2)).toEqual(["lv = R.negative(x)", "gv = cls.f(lv)"]);
  });
});
