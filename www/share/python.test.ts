import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Run, RunDocument, Step } from "../engine/protocol";
import { emptyDocument } from "../state/model";
import { gone } from "../state/steps";
import { literal, python, type Result, toRepeat } from "./python";

const document: RunDocument = {
  ...emptyDocument,
  source: "@I.ir_module\nclass Module: pass\n",
  passes: [
    { call: "FuseOps(fuse_opt_level=2)", enabled: true },
    { call: "DeadCodeElimination()", enabled: false },
  ],
  optLevel: 3,
  disabled: ["FoldConstant"],
  config: { "relax.x": "True" },
};
const result: Result = {
  dialect: "relax",
  before: document.source,
  steps: ["FuseOps(fuse_opt_level=2)"],
  after: "it's",
  failure: "",
  version: "1",
};
const step = (row: number, more: Partial<Step> = {}): Step => ({
  ...gone.step,
  id: `step ${row}`,
  name: "FoldConstant",
  row,
  outcome: "changed",
  after: row + 1,
  ...more,
});
const runOf = (steps: Step[], own: string[] = []): Run => ({
  dialect: "relay",
  problems: [],
  ok: true,
  steps,
  versions: steps.length + 1,
  log: [],
  timing: "",
  millis: 0,
  script: {
    passes: own.map((name) => ({ name, kind: "function", optLevel: 0, required: [], doc: "" })),
    instruments: [],
    problems: [],
    output: [],
  },
});
const textOf = async (version: number) => `version ${version}`;
const isKnown = (call: string) => call === "FoldConstant()";
const EVIL = "__import__('os').system('touch taken')";

describe("the Python script", () => {
  test("runs what is ticked, in its context", () => {
    const text = python(document, result, "http://x/#2.a");
    expect(text).toContain("    r'''FuseOps(fuse_opt_level=2)''',\n]");
    expect(text).toContain(
      "PassContext(opt_level=3, disabled_pass=[r'''FoldConstant'''], config={r'''relax.x''': value(r'''True''')})",
    );
    expect(text).toContain("AFTER = r'''it's'''");
    const odd = python(document, { ...result, before: "a'''\\" }, "");
    expect(odd).toContain(`BEFORE = "a'''\\\\"`);
    const failed = python(document, { ...result, failure: 'FuseOps: "no"' }, "");
    expect(failed).not.toContain("AFTER");
    expect(failed).toContain("raise AssertionError");
    const steps = ["FuseOps()", { name: "Mine", before: "b", after: "a" }];
    const mixed = python(document, { ...result, steps }, "");
    expect(mixed).toContain("    # Mine\n    Given(r'''b''', r'''a'''),\n]");
  });

  test("holds only rows that ran, as passes that are known", async () => {
    const passes = [
      { call: "FoldConstant()", enabled: true },
      { call: EVIL, enabled: true },
    ];
    const rows = { ...document, passes };
    const files = { ...rows, files: [{ name: "1_FoldConstant.relay", text: "" }] };
    expect(await toRepeat(files, runOf([step(0)]), "", isKnown, textOf)).toMatch(/no passes/);
    // A row without a step of its own did not run.
    // A link without files has an empty list of them.
    const ran = await toRepeat({ ...rows, files: [] }, runOf([step(0)]), "", isKnown, textOf);
    expect(ran).toMatchObject({ steps: ["FoldConstant()"] });
    expect(await toRepeat(rows, runOf([step(0), step(1)]), "", isKnown, textOf)).toMatch(/no pass/);
    const own = runOf([step(0), step(1, { outcome: "unchanged" })], ["__import__"]);
    expect(await toRepeat(rows, own, "", isKnown, textOf)).toMatchObject({
      steps: ["FoldConstant()"],
    });
    expect(await toRepeat(rows, own, "", isKnown, async () => null)).toMatch(/could not be had/);
  });

  test("holds no character that ends a comment or a literal, or hides something", () => {
    const text = python(
      { ...document, config: { "a\u0000": EVIL } },
      {
        ...result,
        before: "x\r\u0000\u202e\u2028\u{e0001}",
        failure: 'Mine: no\r""")\nimport os',
        steps: [{ name: "Mine\rimport os", before: "\r", after: "'''" }],
        version: "1\nimport os",
      },
      'http://x/"""\rimport os\n#2.a',
    );
    expect(text).toMatch(/^[\n\x20-\x7e]*$/);
    expect(text.match(/^\s*import os/gm)).toBeNull();
    expect(literal("\u{e0001}\r")).toBe('"\\U000e0001\\r"');
  });
});

/** A stand-in that looks like TVM to the script, with members that are no passes. */
const STUB = {
  "tvm/__init__.py": `
from . import relay, transform
__version__ = "0"
class IRModule: pass
class ir:
    def assert_structural_equal(*given, **named): pass
`,
  "tvm/transform.py": `
from os import system
class PassContext:
    def __init__(self, **named): print("context", sorted(named.items()))
    def __enter__(self): pass
    def __exit__(self, *given): pass
class Sequential:
    def __init__(self, passes, **named): self.passes = passes
    def __call__(self, module): print("ran", self.passes)
for one in (PassContext, Sequential): one.__module__ = "tvm.ir.transform"
`,
  "tvm/relay/__init__.py": "from . import transform\ndef fromtext(text): return text\n",
  "tvm/relay/transform.py": `
import os
from os import system
def InferType(): return lambda module: module
def FoldConstant(*given, **named): return ("FoldConstant", given, named)
def _hidden(): raise SystemError
`,
};
const python3 = ["/usr/bin/python3", "/usr/local/bin/python3"].find(existsSync);

describe.skipIf(!python3)("what the script executes", () => {
  const folder = mkdtempSync(join(tmpdir(), "passlab-python-"));
  for (const [name, text] of Object.entries(STUB)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text.replace("class IRModule", "class IRModule(str)"));
  }
  // A program of Relay as it is read by the stub.
  writeFileSync(
    join(folder, "tvm/relay/__init__.py"),
    "from . import transform\ndef fromtext(text):\n    import tvm\n    return tvm.IRModule()\n",
  );
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const executed = (steps: Result["steps"], more: Partial<RunDocument> = {}): string => {
    const relay = { ...result, dialect: "relay" as const, steps };
    writeFileSync(join(folder, "script.py"), python({ ...document, ...more }, relay, ""));
    try {
      return execFileSync(python3 ?? "", ["script.py"], {
        cwd: folder,
        encoding: "utf8",
        stdio: "pipe",
      });
    } catch (error) {
      return String((error as { stderr?: string }).stderr);
    } finally {
      expect(existsSync(join(folder, "taken"))).toBe(false);
    }
  };

  test("is passes with literals and other passes as their arguments", () => {
    const calls = [
      "FoldConstant(1, fold_qnn=True)",
      "relay.transform.FoldConstant({'a': ['NHWC', 'default']})",
      "Sequential([FoldConstant, FoldConstant()], opt_level=2)",
    ];
    const said = executed(calls, { config: { "a.b": "3", c: "text" } });
    expect(said).toContain(
      "('FoldConstant', (1,), {'fold_qnn': True}), ('FoldConstant', ({'a': ['NHWC', 'default']},), {})",
    );
    expect(said).toContain("('config', {'a.b': 3, 'c': 'text'})");
    expect(said).toContain("gives what passlab showed");
  });

  test.each([
    EVIL,
    "system('touch taken')",
    "relay.transform.system('touch taken')",
    "transform.system('touch taken')",
    "os.system('touch taken')",
    "FoldConstant(system('touch taken'))",
    "FoldConstant(os.system('touch taken'))",
    `FoldConstant(${EVIL})`,
    `FoldConstant([${EVIL}])`,
    `FoldConstant({1: ${EVIL}})`,
    `FoldConstant(**{'a': ${EVIL}})`,
    `FoldConstant(*[${EVIL}])`,
    `(lambda: ${EVIL})()`,
    `[${EVIL} for x in [1]]`,
    "_hidden()",
    "FoldConstant.__globals__['os'].system('touch taken')",
  ])("is not %s", (call) => {
    const said = executed([call]);
    expect(said).not.toMatch(/^ran/m);
    expect(said).not.toContain("SystemError");
  });

  test("is no value of the configuration", () => {
    expect(executed(["FoldConstant()"], { config: { a: EVIL } })).toContain(`('config', {'a': "`);
  });
});
