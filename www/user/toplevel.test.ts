/** Tests scripts in the manner of notebooks: a pass is made, inspected, called, and the next one is called. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const RELAY = "def @main(%x: Tensor[(2), float32]) { add(%x, add(1f, 2f)) }";
const RELAX = `# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv = R.add(x, x)
            gv = R.exp(lv)
            R.output(gv)
        return gv
`;

describe.skipIf(!built)("at the top level of a script", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  const lines = async (source: string, script: string) => said(await bench.run(source, script));

  test("passes act on programs of Relax, one after the other", async () => {
    const out = await lines(
      RELAX,
      `const mod = parseModule(${JSON.stringify(RELAX)});
      const lowered = relax.transform.LegalizeOps()(mod);
      const marked = relax.transform.AnnotateTIROpPattern()(lowered);
      const fused = relax.transform.FuseOps()(marked);
      console.log(String(lowered).includes("R.call_tir(cls.add"), String(fused).includes("fused_add_tir_exp"));
      console.log(String(transform.FoldConstant()(mod)) === String(mod), relax.analysis.wellFormed(fused));`,
    );
    expect(out).toEqual(["true true", "true true"]);
  });

  test("a function without a module is a module of one, by its own name", async () => {
    const out = await lines(
      RELAX.replace("def main", "def f"),
      `const mod = parseModule(${JSON.stringify(RELAX.replace("def main", "def f"))});
      const after = relax.transform.LegalizeOps()(mod["f"]);
      console.log(after.getGlobalVars().map((one) => one.nameHint).join());`,
    );
    expect(out).toEqual(["f,add,tir_exp"]);
  });

  test("a program of the other dialect gets the passes of its own", async () => {
    const relaxIn = await lines(
      RELAY,
      `const mod = parseModule(${JSON.stringify(RELAX)});
      console.log(String(relax.transform.LegalizeOps()(mod)).includes("R.call_tir"));`,
    );
    expect(relaxIn).toEqual(["true"]);
    const relayIn = await lines(
      RELAX,
      `const mod = parseModule('#[version = "0.0.5"]\\n${RELAY}');
      console.log(String(relay.transform.FoldConstant()(mod)).includes("3f"));`,
    );
    expect(relayIn).toEqual(["true"]);
  });

  test("a pass that a pass requires is found, built in or one's own", async () => {
    const out = await lines(
      RELAY,
      `functionPass({ name: "First" }, (f) => { console.log("first"); return f; });
      const second = functionPass({ name: "Second", required: ["First", "InferType"] }, (f) => f);
      sequential([second])(parseModule('#[version = "0.0.5"]\\n${RELAY}'));`,
    );
    expect(out).toEqual(["first"]);
  });

  test("passes know what they are", async () => {
    const out = await lines(
      RELAY,
      `const about = ({ info }) => [info.name, info.optLevel, info.required.join()].join(" ");
      console.log(about(transform.FoldConstant()), "|", about(relay._transform.BackwardFoldScaleAxis()));
      console.log(String(transform.FoldConstant().info));
      const mine = modulePass({ name: "Mine", optLevel: 2 }, (mod) => mod);
      console.log(mine instanceof ModulePass, mine instanceof transform.ModulePass, mine instanceof Pass, mine instanceof FunctionPass, mine.info.optLevel);
      console.log(transform.FoldConstant() instanceof FunctionPass, transform.InferType() instanceof ModulePass);
      console.log(transform.Sequential([mine]) instanceof Sequential, new Sequential([mine]) instanceof Pass, transform.FoldScaleAxis() instanceof Sequential);`,
    );
    expect(out).toEqual([
      "FoldConstant 2  | BackwardFoldScaleAxis 3 InferType",
      "The meta data of the pass - pass name: FoldConstant, opt_level: 2, required passes: []\n",
      "true true true false 2",
      "true true",
      "true true true",
    ]);
  });

  test("what is printed and reported while the script is loaded is in the console", async () => {
    const out = await lines(
      RELAY,
      `const mod = parseModule('#[version = "0.0.5"]\\n${RELAY}');
      new PassContext({ optLevel: 3, instruments: [instrument.PassMemoryInstrument(), instrument.PassPrintingInstrument([], ["FuseOps"])] })
        .run(() => transform.Sequential([transform.FoldConstant(), transform.FuseOps()])(mod));
      mod.show();`,
    );
    const nodes = out.filter((line) => /^FoldConstant: \+\d+ nodes, \+\d+ bytes/.test(line));
    expect(nodes).toHaveLength(1);
    expect(out.filter((line) => line.includes("Primitive=1"))).toHaveLength(1);
    expect(out.at(-1)).toContain("def @main");
  });

  test("an exception that is caught is no problem, and one that is not is one problem", async () => {
    const caught = await bench.run(
      RELAY,
      `const bad = modulePass({ name: "Bad" }, () => { throw new Error("no"); });
      try { bad(new IRModule()); } catch (error) { console.log(error.message); }
      modulePass({ name: "Good" }, (mod) => { try { return bad(mod); } catch { return mod; } });`,
      ["Good"],
    );
    expect(caught.script?.problems).toEqual([]);
    expect(caught.script?.output).toEqual(["Error: no (line 1 of My passes)"]);
    const thrown = await bench.run(
      RELAY,
      `const bad = modulePass({ name: "Bad" }, () => {\n  throw new Error("no"); });\nbad(new IRModule());`,
    );
    expect(thrown.script?.problems.map(({ line, message }) => [line, message])).toEqual([
      [2, "Error: no"],
    ]);
  });

  test("the current context is the object that was entered, and an outer one can be given instruments", async () => {
    const out = await lines(
      RELAY,
      `const heard = (name) => ({ constructor: { name }, enterPassCtx() { console.log(name, "enters"); }, exitPassCtx() { console.log(name, "exits"); } });
      const outer = new PassContext({ optLevel: 1, instruments: [heard("a")] });
      outer.run((ctx) => {
        console.log(ctx === outer, PassContext.current() === outer);
        new PassContext({ instruments: [heard("b")] }).run(() => outer.overrideInstruments([heard("c")]));
      });
      console.log(PassContext.current() === PassContext.current(), PassContext.current().optLevel);`,
    );
    expect(out).toEqual([
      "a enters",
      "true true",
      "b enters",
      "a exits",
      "c enters",
      "b exits",
      "c exits",
      "true 2",
    ]);
  });

  test("configurations keep their types, and one's own keys are known to the page", async () => {
    const script = `PassContext.registerConfigOption("mine.depth", "int");
      new PassContext({ config: { "tir.UnrollLoop": { auto_max_step: 16, explicit_unroll: true }, "mine.depth": 3 } })
        .run(() => console.log(JSON.stringify(PassContext.current().config)));
      modulePass({ name: "Mine" }, (mod, ctx) => { console.log(ctx.config["mine.depth"], ctx.config["tir.UnrollLoop"]); return mod; });`;
    const config = { "mine.depth": "5", "tir.UnrollLoop": '{"explicit_unroll": True}' };
    const run = await bench.run(RELAY, script, ["Mine"], { config });
    expect(said(run)).toEqual([
      '{"tir.UnrollLoop":{"auto_max_step":16,"explicit_unroll":true},"mine.depth":3}',
      '5 {"explicit_unroll":true}',
    ]);
    const without = await bench.run(RELAY, "", [], { config: { "mine.depth": "5" } });
    expect(without.problems[0]?.message).toContain("Invalid config option 'mine.depth'");
  });

  test("a pass reports at a place of the program, and fails for an error", async () => {
    const script = `functionPass({ name: "Look" }, (func, mod, ctx) => {
        postOrderVisit(func, (expr) => {
          if (expr instanceof Call && expr.args.length === 2) ctx.diagCtx.emit(Diagnostic.warning(expr, "a sum at " + expr.span));
        });
        return func;
      });
      functionPass({ name: "Refuse" }, (func, mod, ctx) => {
        ctx.diagCtx.emit(Diagnostic.error(func.body.span, "not this"));
        return func;
      });`;
    const run = await bench.run(RELAY, script, ["Look", "Refuse"]);
    const [look, refuse] = run.steps.filter((step) => step.depth === 0);
    expect(look?.outcome).not.toBe("failed");
    expect(look?.problems.map((one) => [one.severity, one.message, one.line])).toContainEqual([
      "warning",
      "a sum at 2:39",
      2,
    ]);
    expect([refuse?.outcome, refuse?.reason]).toEqual(["failed", "not this"]);
    expect(refuse?.problems[0]?.line).toBe(2);
  });

  test("functions of a module are found by their names", async () => {
    const out = await lines(
      RELAY,
      `const mod = parseModule('#[version = "0.0.5"]\\n${RELAY}');
      console.log(mod["main"] === mod.get("main"), mod["nothing"]);
      mod["other"] = mod.main;
      console.log(mod.getGlobalVars().map((one) => one.nameHint).join());`,
    );
    expect(out).toEqual(["true undefined", "main,other"]);
  });
});

/** The notebook of conv-conv fusion, cell by cell, with the names that Relax had then. */
const NOTEBOOK = `
const bb = new relax.BlockBuilder();
const type = relax.DynTensorType(4, "float32");
const x = new relax.Var("x", [1, 16, 64, 64], type);
const [w1, w2] = ["w1", "w2"].map((name) => new relax.Var(name, [16, 16, 3, 3], type));
bb.function("main", [x, w1, w2], () => {
  let gv;
  bb.dataflow(() => {
    const lv1 = bb.emitTE(relax.nn.conv2d, x, w1, { strides: 1, padding: 1, dilation: 1 });
    gv = bb.emitOutput(bb.emitTE(relax.nn.conv2d, lv1, w2, { strides: 1, padding: 1, dilation: 1 }));
  });
  bb.emitFuncOutput(gv);
});
const mod = bb.get();
mod["conv2d"] = mod["conv2d"].withAttr("my_op_kind", "convolution");

class FuseTwoConvMutator extends relax.ExprMutator {
  constructor(mod) { super(mod); this.mod_ = mod; }
  isConvolution(call) {
    return call instanceof relax.Call && call.op === op("call_tir").op && this.mod_[call.args[0].nameHint].attrs.my_op_kind === "convolution";
  }
  visitCall(call) {
    if (!this.isConvolution(call)) return call;
    const first = this.lookupBinding(call.args[1].fields[0]);
    if (!this.isConvolution(first)) return call;
    const args = [...first.args[1].fields, call.args[1].fields[1]];
    const [x, w1, w2] = ["x", "w1", "w2"].map((name, at) => new relax.Var(name, args[at].shape_, args[at]._checked_type_));
    const conv = call.args[0];
    const lv0 = new relax.DataflowVar("lv0", first.shape_, first._checked_type_);
    const gv = new relax.Var("conv_2", call.shape_, call._checked_type_);
    const blocks = [new relax.DataflowBlock([
      new relax.VarBinding(lv0, relax.callTIR(conv, [x, w1], first.shape_, "float32")),
      new relax.VarBinding(gv, relax.callTIR(conv, [lv0, w2], call.shape_, { dtype: "float32" })),
    ])];
    const fused = new relax.Function([x, w1, w2], new relax.SeqExpr(blocks, gv), call._checked_type_).withAttr("Primitive", 1);
    return new relax.Call(this.builder.addFunc(this.builder.normalize(fused), "fused_conv_conv"), args, null, null);
  }
  transform() {
    for (const [name, func] of this.mod_.functions)
      if (func instanceof relax.Function) this.builder.updateFunc(name, this.visit(func));
    return this.builder.get();
  }
}
const FuseTwoConv = modulePass({ optLevel: 2, name: "fuse_two_conv" }, class FuseTwoConv {
  transformModule(mod, ctx) { return new FuseTwoConvMutator(mod).transform(); }
});

const after = FuseTwoConv()(mod);
if (!relax.analysis.wellFormed(after)) console.log("NOT WELL FORMED");
const fused = relax.transform.FuseTIR()(after);
if (!relax.analysis.wellFormed(fused)) console.log("NOT WELL FORMED");
console.log(Object.keys(after["fused_conv_conv"].attrs).join());
fused.show();
`;

describe.skipIf(!built)("a notebook", () => {
  test("runs at the top level of a script", async () => {
    const bench = await Bench.open();
    const out = said(await bench.run(RELAX, NOTEBOOK));
    expect(out[0]).toContain("Primitive");
    expect(out[1]).toContain("def fused_conv_conv(");
    expect(out[1]).toContain("R.call_tir(cls.fused_conv_conv, (x, w1, w2)");
    expect(out).toHaveLength(2);
  });
});

describe.skipIf(!built)("visitors", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test("hand arguments on to all parts", async () => {
    const script = `functionPass({ name: "Depths" }, (func) => {
        class Depths extends ExprVisitor {
          visit(expr, depth) { if (expr instanceof Call) console.log(depth, expr.op.name, expr.args.length); super.visit(expr, depth + 1); }
        }
        new Depths().visit(func, 0);
        class Tagged extends ExprFunctor {
          visitFunction(f, tag) { return this.visit(f.body, tag + "f"); }
          visitCall(call, tag) { return tag + call.args.length; }
        }
        console.log(new Tagged().visit(func, "<"));
        return func;
      });`;
    const run = await bench.run(RELAY, script, ["Depths"]);
    expect(said(run)).toEqual(["1 add 2", "2 add 2", "<f2"]);
  });

  test("see extents, and change them", async () => {
    const out = await bench.run(
      RELAX,
      `const [n, m] = [tir.Var("n"), tir.Var("m")];
      class Dims extends TypeVisitor { found = []; visitDim(dim) { this.found.push(String(dim)); } }
      const dims = new Dims();
      dims.visitType(new TupleType([new TensorType([n, 4]), new ShapeType([m])]));
      console.log(dims.found.join());
      class Values extends relax.ExprVisitor { visitPrimExpr(value) { console.log("value", String(value)); } }
      new Values().visit(new Tuple([new ShapeExpr([n, 2]), new PrimValue(3)]));
      class Fixed extends relax.ExprMutatorBase { visitPrimExpr(value) { return value === n ? 7 : value; } }
      console.log(String(new Fixed().visit(new ShapeExpr([n, 2]))));
      class Bound extends TypeMutator { visitDim(dim) { return dim === n ? 7 : dim; } }
      console.log(String(new Bound().visitType(new TensorType([n, 4]))));`,
    );
    expect(said(out)).toEqual([
      "n,4,m",
      "value n",
      "value 2",
      "value 3",
      "R.shape([7, 2])",
      'R.Tensor((7, 4), dtype="float32")',
    ]);
  });
});
