/** Every sample does what it says, on a program that shows it. */
import { beforeAll, describe, expect, test } from "vitest";
import { samples } from "./samples";
import { Bench, built, said } from "./testing";

const script = (id: string): string => samples.find((one) => one.id === id)?.script ?? "";

const PLAIN = "def @main(%x: Tensor[(2), float32]) { nn.relu(add(%x, %x)) }";

describe.skipIf(!built)("samples", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test("each is loaded without a problem, makes something, and its passes run", async () => {
    for (const { id, title, script: text } of samples) {
      expect(title).not.toBe("");
      const first = await bench.run(PLAIN, text);
      said(first);
      const made = first.script;
      expect((made?.passes.length ?? 0) + (made?.instruments.length ?? 0), id).toBeGreaterThan(0);
      const passes = made?.passes.map((pass) => pass.name) ?? [];
      const instruments = made?.instruments.map((one) => one.name) ?? [];
      const run = await bench.run(PLAIN, text, [...passes, "FuseOps"], { instruments });
      said(run);
      expect(run.ok, id).toBe(true);
    }
  });

  test("PrintVisitor prints before every visit, also of what was visited", async () => {
    const run = await bench.run(PLAIN, script("print-visitor"), ["PrintEveryVisit"]);
    // The function, its parameter, relu's call and operator, add's call and operator, and %x twice.
    expect(said(run).map((line) => line.replace("Here: ", ""))).toEqual([
      "Func",
      "Var",
      "Call",
      "Op",
      "Call",
      "Op",
      "Var",
      "Var",
    ]);
  });

  test("CallChecker finds calls", async () => {
    const program = `def @main(%x: int32) { %x + 1 }\ndef @id(%x: int32) { %x }`;
    const run = await bench.run(program, script("call-checker"), ["CallChecker"]);
    expect(said(run)).toEqual(["@main calls something", "@id calls nothing"]);
  });

  test("ConstantChecker knows constants and tuples of constants", async () => {
    const program = "def @main(%x: float32) { ((1f, (2f, 3f)), (1f, %x)) }";
    const run = await bench.run(program, script("constant-checker"), ["ConstantChecker"]);
    expect(said(run).filter((line) => line.includes("Tuple"))).toEqual([
      "constant     Tuple",
      "constant     Tuple",
      "not constant Tuple",
      "not constant Tuple",
    ]);
  });

  test("IfCollapser takes the true branch", async () => {
    const program = "def @main(%c: bool, %x: float32) { add(if (%c) { %x } else { 0f }, 1f) }";
    const run = await bench.run(program, script("if-collapser"), ["IfCollapser"]);
    said(run);
    expect(bench.text(run.versions - 1)).toBe(
      "def @main(%c: bool, %x: float32) -> float32 {\n  add(%x, 1f)\n}",
    );
    expect(run.steps[0]?.rewrites).toBe(1);
  });

  test("ConstantFolder does what FoldConstant does", async () => {
    const program = `def @main(%x: Tensor[(4), float32]) {
  let %two = add(1f, 1f);
  let %pair = (multiply(%two, 2f), %x);
  let %relu = nn.relu(%pair.1);
  add(%relu, (%two, %x).0)
}`;
    const mine = await bench.run(program, script("constant-folder"), ["MyFoldConstant"]);
    said(mine);
    const text = bench.text(mine.versions - 1);
    expect(text).toContain("add(%relu, 2f)");
    expect(text).toContain("(4f, %x)");
    await bench.run(program, "", ["FoldConstant"]);
    const theirs = await bench.run(program, "", ["FoldConstant"]);
    expect(bench.text(theirs.versions - 1)).toBe(text);
  });

  test("the module pass adds @abs", async () => {
    const run = await bench.run(PLAIN, script("add-abs"), ["AddAbs"]);
    const [info, text] = said(run);
    expect(info).toBe("AddAbs has opt level 2");
    expect(text).toContain("def @abs(%x: Tensor[(10), float32])");
    expect(bench.text(run.versions - 1)).toContain("def @abs(%x: Tensor[(10), float32])");
    expect(bench.text(run.versions - 1)).toContain("def @main(");
  });

  test("TestReplaceFunc replaces every function", async () => {
    const program = `def @main(%x: int32) { %x + 1 }`;
    const run = await bench.run(program, script("test-replace-func"), ["TestReplaceFunc"]);
    const [before, after] = said(run);
    expect(before).toContain("log(%x)");
    expect(after).not.toContain("log(%x)");
    expect(bench.text(run.versions - 1)).toBe(
      "def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {\n  %x\n}",
    );
  });

  test("the timing instruments see nested passes", async () => {
    const run = await bench.run(PLAIN, script("timing-instrument"), ["FoldConstant"], {
      instruments: ["PassTimer"],
    });
    const [tree, ...lines] = said(run);
    expect(tree?.split("\n").map((line) => line.replace(/:.*/, ""))).toEqual([
      "sequential",
      "\tInferType",
      "\tFoldConstant",
      "\t\tInferType",
      // FuseOps requires it.
      "\tInferType",
      "\tFuseOps",
      "\t\tInferType",
      "",
    ]);
    expect(lines.map((line) => line.replace(/:.*/, ""))).toEqual(["  InferType", "FoldConstant"]);
  });

  test("the skipping instrument skips, and instruments are called in TVM's order", async () => {
    const passes = ["FoldConstant", "FuseOps"];
    const run = await bench.run(PLAIN, script("skipping-instrument"), passes, {
      instruments: ["Sequence", "SkipFusion"],
    });
    expect(run.steps.find((step) => step.name === "FuseOps")?.reason).toBe("refused by SkipFusion");
    expect(said(run)).toEqual([
      "enter_pass_ctx",
      "should_run FoldConstant",
      "run_before_pass FoldConstant",
      "should_run InferType",
      "run_before_pass InferType",
      "run_after_pass InferType",
      "run_after_pass FoldConstant",
      // FuseOps requires it, and that is not asked whether FuseOps will run.
      "should_run InferType",
      "run_before_pass InferType",
      "run_after_pass InferType",
      "should_run FuseOps",
      "exit_pass_ctx",
    ]);
  });

  test("override_instruments leaves the old ones and enters the new ones", async () => {
    const run = await bench.run(PLAIN, script("override-instruments"));
    expect(said(run)).toEqual([
      "the first is entered",
      // The sequence itself, InferType, FoldConstant and the InferType behind it.
      "the first has seen 4 passes",
      "the first is left",
      "the second is entered",
      "the first has seen 4 passes",
      "the second has seen 1 passes",
      "the second is left",
    ]);
  });

  test("rules are applied until none fits", async () => {
    const program = `def @main(%a: Tensor[(2), float32]) {
  %0 = add(multiply(%a, 1f), 0f);
  %1 = nn.relu(nn.relu(nn.relu(%0)));
  %2 = (add(%1, %1), %a);
  negative(negative(%2.0))
}`;
    const run = await bench.run(program, script("rules"), ["Algebra"]);
    said(run);
    expect(bench.text(run.versions - 1)).toContain("  %0 = nn.relu(%a);\n  multiply(%0, 2f)\n");
    expect(run.steps[0]?.rewrites).toBe(7);
  });
});
