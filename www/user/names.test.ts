/** A name that is not known is an error that says which one was meant. */
import { beforeAll, describe, expect, test } from "vitest";
import { Bench, built, said } from "./testing";

const PROGRAM = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }";

describe.skipIf(!built)("a name that is not known", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test.each([
    [
      "an option in Python's spelling",
      `functionPass({ opt_level: 3 }, (f) => f)`,
      "functionPass has no option opt_level: did you mean optLevel?",
    ],
    [
      "an option that is nearly one",
      `modulePass({ requires: ["A"] }, (m) => m)`,
      "modulePass has no option requires: did you mean required?",
    ],
    ["an option of a decorator", `modulePass({ opt_level: 2 })`, "did you mean optLevel?"],
    [
      "an option of a context",
      `new PassContext({ opt_level: 0 })`,
      "PassContext has no option opt_level: did you mean optLevel?",
    ],
    [
      "an option of nothing",
      `new PassContext({ colour: "red" })`,
      "there are optLevel, requiredPass",
    ],
    [
      "a hook in Python's spelling",
      `class A extends ExprMutator { visit_call(c) { return c; } }\nnew A()`,
      "A has no hook visit_call: did you mean visitCall?",
    ],
    [
      "the hook of a base class of one's own",
      `class A extends ExprVisitor { visit_if_(c) {} }\nclass B extends A {}\nnew B()`,
      "A has no hook visit_if_: did you mean visitIf?",
    ],
    [
      "the entry of C++",
      `class A extends ExprVisitor { VisitExpr(e) {} }\nnew A()`,
      "did you mean visit?",
    ],
    [
      "a hook that is nearly one",
      `class A extends ExprMutator { visitCal(c) { return c; } }\nnew A()`,
      "did you mean visitCall?",
    ],
    [
      "a hook of Relax",
      `class A extends relax.ExprVisitor { visit_var_def_(v) {} }\nnew A()`,
      "did you mean visitVarDef_?",
    ],
    [
      "a hook over types",
      `class A extends TypeVisitor { visit_tensor_type(t) {} }\nnew A()`,
      "did you mean visitTensorType?",
    ],
    [
      "a hook of an instrument",
      `passInstrument({ name: "a", run_before_pass() {} })`,
      "a has no hook run_before_pass: did you mean runBeforePass?",
    ],
    [
      "a class of hooks",
      `class A { should_run() {} }\nnew PassContext({ instruments: [new A()] }).run(() => 0)`,
      "did you mean shouldRun?",
    ],
    [
      "an instrument without hooks",
      `passInstrument({ name: "a", before() {} })`,
      "a has none of the hooks enterPassCtx",
    ],
    ["a pass", `transform.FoldConstnt()`, "did you mean `FoldConstant`?"],
    [
      "an argument of a pass",
      `transform.FuseOps({ level: 2 })`,
      "FuseOps takes no argument `level`\nit takes fuse_opt_level",
    ],
    [
      "arguments without names",
      `transform.FuseOps(2)`,
      "FuseOps takes its arguments by their names",
    ],
    [
      "a decorator of Python",
      `relay.transform.module_pass({})`,
      "did you mean transform.modulePass?",
    ],
    ["an instrument", `instrument.PassTimingInstrumnt()`, "did you mean PassTimingInstrument?"],
    [
      "an argument of an instrument",
      `instrument.VerifyEach(1)`,
      "VerifyEach takes no argument `number 1`",
    ],
    [
      "a key of the configuration",
      `new PassContext({ config: { "relay.FuseOps.max_dept": 3 } }).run(() => 0)`,
      "did you mean `relay.FuseOps.max_depth`?",
    ],
    ["an operator", `op("nn.rellu")(constant(1))`, "nn.relu"],
    [
      "a method of a class pass",
      `class A { transform_function(f) { return f; } }\nfunctionPass({}, A)`,
      "A needs a method transformFunction",
    ],
    ["a node that cannot be made so", `new Constant(3)`, "new Constant(3) makes no node"],
    ["a tensor program", `new PrimFunc([], null)`, "a statement is needed here"],
  ])("%s", async (_, script, message) => {
    const run = await bench.run(PROGRAM, script);
    expect(run.script?.problems.map((one) => one.message).join("\n")).toContain(message);
  });

  test("a hook that gives nothing is shown where it is written", async () => {
    const run = await bench.run(
      PROGRAM,
      `functionPass({ name: "Forgets" }, (f) => new Forgets().visit(f));
class Other extends ExprMutator { visitCall(call) { return call; } }
class Forgets extends ExprMutator {
  visitCall(call) { super.visitCall(call); }
}`,
      ["Forgets"],
    );
    expect(run.script?.problems.map(({ message, line }) => [message, line])).toEqual([
      ["TypeError: Forgets.visitCall gave nothing: a hook of a mutator returns an expression", 4],
    ]);
  });

  test("Python is recognised as such", async () => {
    const run = await bench.run(
      PROGRAM,
      "@relay.transform.function_pass(opt_level=1)\nclass Mine:\n    def transform_function(self, func, mod, ctx):\n        return func\n",
    );
    expect(run.script?.problems[0]?.message).toContain("this looks like Python");
    const other = await bench.run(PROGRAM, "let = ;");
    expect(other.script?.problems[0]?.message).not.toContain("Python");
  });

  test("a helper of the class's own is no hook, though it is called nearly like one", async () => {
    const out = await bench.run(
      PROGRAM,
      `class A extends ExprVisitor {
        visitArgs(call) { for (const arg of call.args) this.visit(arg); }
        visitCall(call) { console.log("call"); this.visitArgs(call); }
      }
      functionPass({ name: "Count" }, (f) => { new A().visit(f); return f; });`,
      ["Count"],
    );
    expect(said(out)).toEqual(["call"]);
  });

  test("what the first Relax took is taken", async () => {
    const source = `# from tvm.script import relax as R\n\n@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n`;
    const out = await bench.run(
      source,
      `const x = new relax.Var("x", [2, 3], relax.DynTensorType(2, "float16"));
      console.log(String(x.typeAnnotation), String(x.shape_), x._checked_type_ === x.checkedType);
      const f = new relax.GlobalVar("f");
      console.log(String(relax.callTIR(f, [x], x.shape_, "float32")));
      console.log(String(new relax.Call(f, [x], null, null)));`,
    );
    expect(said(out)).toEqual([
      'R.Tensor((2, 3), dtype="float16") R.shape([2, 3]) true',
      'R.call_tir(f, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))',
      "f(x)",
    ]);
  });
});
