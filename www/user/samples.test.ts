/** Tests every sample's documented effect, on a program that shows it. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { samples } from "./samples/list";
import { Bench, built, said } from "./testing";

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, path), "utf8");
const script = (id: string): string => read(`samples/${id}.js`);

const PLAIN = "def @main(%x: Tensor[(2), float32]) { nn.relu(add(%x, %x)) }";

describe.skipIf(!built)("samples", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await Bench.open();
  });

  test("each is loaded without a problem, makes something, and its passes run", async () => {
    for (const { id, title, dialect } of samples) {
      if (dialect || id.startsWith("python")) continue;
      const text = script(id);
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

  describe("on programs of Relax", () => {
    const last = (run: { versions: number }) => bench.text(run.versions - 1);
    const twoConv = read("../examples/relax-fuse-conv.py");
    const TENSOR = 'R.Tensor((2,), dtype="float32")';
    const relaxMain = (body: string[], params = `x: ${TENSOR}`, ret = TENSOR) =>
      `@I.ir_module\nclass Module:\n    @R.function\n    def main(${params}) -> ${ret}:\n${body.map((line) => `        ${line}\n`).join("")}`;

    test("FuseTwoConv moves two convolutions in a row into a function", async () => {
      const run = await bench.run(twoConv, script("fuse-two-conv"), [
        "FuseTwoConv",
        "DeadCodeElimination",
        "FuseTwoConv",
      ]);
      said(run);
      const conv = (args: string) =>
        `R.call_tir(cls.conv2d, (${args}), out_ty=R.Tensor((1, 16, 64, 64), dtype="float32"))`;
      const image = 'R.Tensor((1, 16, 64, 64), dtype="float32")';
      expect(bench.text(1)).toContain(`            lv0 = ${conv("x, w1")}
            conv_2 = ${conv("lv0, w2")}
            R.output(conv_2)
        return conv_2`);
      expect(bench.text(1)).toContain(`            gv: ${image} = cls.fused_conv_conv(x, w1, w2)`);
      expect(bench.text(1)).toContain('R.func_attr({"Primitive": True})');
      expect(run.steps[0]?.rewrites).toBe(1);
      // A fused program stays as it is.
      expect(run.steps.at(-1)?.outcome).toBe("unchanged");
      // The first convolution is not used any more.
      expect(bench.text(1)).toContain(`lv1 = ${conv("x, w1")}`);
      expect(last(run)).not.toContain("lv1");
    });

    test("the builder makes the program of that example", async () => {
      const run = await bench.run(relaxMain(["return x"]), script("build-two-conv"), [
        "BuildTwoConv",
      ]);
      expect(said(run)[0]).toContain("def main(x: R.Tensor((1, 16, 64, 64)");
      const text = last(run);
      await bench.run(twoConv, "", []);
      const same = (it: string) =>
        it
          .replaceAll("lv1", "lv")
          .replace(/^# .*\n/gm, "")
          .trim();
      expect(same(text)).toBe(same(bench.text(0)));
    });

    test("variables are counted, and dataflow variables apart", async () => {
      const program = relaxMain([
        "with R.dataflow():",
        "    lv = R.add(x, x)",
        "    lv1 = R.exp(lv)",
        "    gv = R.exp(lv1)",
        "    R.output(gv)",
        "gv1 = R.exp(gv)",
        "return gv1",
      ]);
      const run = await bench.run(program, script("count-vars"), ["CountVars"]);
      // The parameter, lv, lv1, gv, gv1.
      expect(said(run)).toEqual(["5 variables, of which 2 are dataflow variables"]);
    });

    test("short loops are unrolled", async () => {
      const program = `@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            A[i, j] = A[i, j] * T.float32(2.0)
`;
      const run = await bench.run(program, script("tir-unroll"), ["UnrollShort"]);
      expect(said(run)).toEqual(["j runs 4 times", "1 loads before, 1 after"]);
      expect(last(run)).toContain("            for j in T.unroll(4):");
    });

    test("constants are found through bindings", async () => {
      const program = relaxMain(["one = R.const(1.0, 'float32')", "y = R.add(x, one)", "return y"]);
      const calls = ["FoldConstantVars", "DeadCodeElimination"];
      const run = await bench.run(program, script("fold-constant-vars"), calls);
      said(run);
      expect(last(run)).toContain(`        y: ${TENSOR} = R.add(x, R.const(1.0, "float32"))`);
      expect(last(run)).not.toContain("one");
      expect(run.steps[0]?.rewrites).toBe(1);
    });

    test("PrintVisitor prints every visit, every use of a variable included", async () => {
      const run = await bench.run(
        relaxMain(["y = R.add(x, x)", "return y"]),
        script("relax-print-visitor"),
        ["PrintVisits"],
      );
      expect(said(run)).toEqual([
        "Here: Function",
        "  Here: SeqExpr",
        "    block",
        "      binding of y",
        "        Here: Call",
        "          Here: Op",
        "          Here: Var",
        "          Here: Var",
        "    Here: Var",
      ]);
    });

    test("the checker says what is not well-formed", async () => {
      const program = relaxMain(
        ["if c:", "    y = R.exp(x)", "else:", "    y = R.add(x, x)", "return y"],
        `c: R.Tensor((), dtype="bool"), x: ${TENSOR}`,
      );
      const run = await bench.run(program, script("well-formed"), ["WellFormed"]);
      expect(said(run)).toEqual([
        "well-formed",
        "R.exp(R.exp(x)) is not in A-normal form.",
        "Var x is defined more than once.",
        "Var z is not defined here.",
        "Symbolic Var n is not defined here.",
      ]);
    });

    test("the dataflow mutator leaves what is outside of dataflow blocks", async () => {
      const program = relaxMain([
        "with R.dataflow():",
        "    gv = R.add(x, x)",
        "    R.output(gv)",
        "z = R.add(gv, gv)",
        "return z",
      ]);
      const run = await bench.run(program, script("dataflow-mutator"), ["DoubleByTwo"]);
      said(run);
      expect(last(run)).toContain(`gv: ${TENSOR} = R.multiply(x, R.const(2.0, "float32"))`);
      expect(last(run)).toContain(`z: ${TENSOR} = R.add(gv, gv)`);
    });

    test("patterns rewrite sums and products, and make functions for a compiler", async () => {
      const type = 'R.Tensor((2, 2), dtype="float32")';
      const params = `x: ${type}, w: ${type}, v: ${type}`;
      const program = relaxMain(
        [
          "with R.dataflow():",
          "    lv = R.matmul(x, v)",
          "    lv1 = R.matmul(x, w)",
          "    lv2 = R.add(lv, lv1)",
          "    gv = R.add(lv2, lv2)",
          "    R.output(gv)",
          "return gv",
        ],
        params,
        type,
      );
      const text = script("patterns");
      said(await bench.run(program, text, ["AddToMultiply", "OneMatmul"]));
      expect(bench.text(1)).toContain('R.multiply(lv2, R.const(2.0, "float32"))');
      expect(bench.text(2)).toContain("R.concat((v, w), axis=1)");
      expect(bench.text(2).match(/R.matmul/g)).toHaveLength(1);
      expect(bench.text(2).match(/R.strided_slice/g)).toHaveLength(2);
      said(await bench.run(program, text, ["MineMatmul"]));
      expect(bench.text(1)).toContain('R.func_attr({"Composite": "mine.matmul_bias"})');
      expect(bench.text(1)).toContain('R.func_attr({"Codegen": "mine"})');
    });

    test("each has a test here", () => {
      const inJavaScript = samples.filter(({ id }) => !id.startsWith("python"));
      const ids = inJavaScript.filter(({ dialect }) => dialect === "relax").map(({ id }) => id);
      expect(ids).toHaveLength(9);
    });
  });
});
