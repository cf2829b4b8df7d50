/**
 * Compares the page's results with TVM's: the Python script that *Share* saves is made and run for every lesson, for the
 * examples in Relax, for a schedule with each primitive (`primitives.txt`), and for every program of a corpus.
 *
 *     PASSLAB_PYTHON=.../python npm run exports
 *
 * with a Python that has `apache-tvm` 0.27. The corpus is `../shared/corpus/relax` beside the project, or $PASSLAB_CORPUS.
 * Scripts about Relay need TVM 0.19 and say so. The engine is the one in `www/pkg`; KEEP=1 keeps the scripts.
 * The results go to `table.txt`; BLESS=1 writes it, otherwise it must be the same.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import type { Catalogue, PassItem, Run, RunDocument } from "../../www/engine/protocol";
import { python, toRepeat } from "../../www/share/python";
import { findPass } from "../../www/state/calls";
import { Bench } from "../../www/user/testing";

const root = resolve(import.meta.dirname, "../..");
const corpus = process.env.PASSLAB_CORPUS ?? resolve(root, "../shared/corpus/relax");
const interpreter = process.env.PASSLAB_PYTHON ?? "";
const table = join(import.meta.dirname, "table.txt");

/**
 * The passes for every program of the corpus: they clean up, decompose, fuse and leave dataflow blocks. Not
 * FoldConstant: TVM's legalizes operators to evaluate them, and ours evaluates them as they are.
 */
const PASSES = [
  "DecomposeOpsForInference()",
  "CanonicalizeBindings()",
  "EliminateCommonSubexpr()",
  "ConvertToDataflow()",
  "DeadCodeElimination()",
  "FuseOps()",
  "ToNonDataflow()",
  "RemovePurityChecking()",
];

interface Row {
  program: string;
  passes: string;
  outcome: string;
  /** Its script; empty when there is none. */
  file: string;
}

const bench = await Bench.open();
const catalogue = bench.handle({ id: 3, type: "catalogue" }) as Catalogue;
const rows: Row[] = [];
const folder = mkdtempSync(join(tmpdir(), "passlab-exports-"));

const plain = { optLevel: 2, required: [], disabled: [], config: {}, instruments: [], script: "" };
const items = (calls: string[]): PassItem[] => calls.map((call) => ({ call, enabled: true }));
const read = (path: string) => readFileSync(path, "utf8");

/** Writes the script of a document, to be run with the others. */
async function prepare(program: string, document: RunDocument): Promise<void> {
  const { source, script, passes: list, ...more } = document;
  const calls = list.filter((pass) => pass.enabled).map((pass) => pass.call);
  const row: Row = {
    program,
    passes: calls
      .map((call) => call.replace(/^(.*Schedule|MetaSchedule\w+)\(.*$/s, "$1(…)"))
      .join(", ")
      .replaceAll("()", ""),
    outcome: "",
    file: "",
  };
  rows.push(row);
  const run: Run = await bench.run(source, script, calls, more);
  if (!run.ok) {
    row.outcome = `not run: ${run.problems[0]?.message}`;
    return;
  }
  const isKnown = (call: string) => findPass(catalogue, call, run.dialect)?.available === true;
  const textOf = async (version: number) =>
    String(bench.handle({ id: 2, type: "text", version, stable: false }));
  const repeat = await toRepeat({ ...document, passes: items(calls) }, run, "", isKnown, textOf);
  if (typeof repeat === "string") throw new Error(repeat);
  row.file = join(folder, `${rows.length}.py`);
  row.outcome = repeat.failure ? "both fail" : "equal";
  writeFileSync(row.file, python(document, repeat, ""));
}

/** Runs every script in one Python: importing TVM takes longer than most of them. */
const DRIVER = `
import json, runpy, sys, traceback
for path in sys.argv[1:]:
    said = ""
    try:
        runpy.run_path(path)
    except BaseException as error:
        unread = "read(BEFORE)" in traceback.format_exc() and not isinstance(error, SystemExit)
        said = "cannot read" if unread else f"{type(error).__name__}: {error}"
    print("@" + json.dumps([path, said]), flush=True)
`;

async function ask(): Promise<void> {
  const files = rows.map((row) => row.file).filter(Boolean);
  const out = await new Promise<string>((done) => {
    execFile(
      interpreter,
      ["-c", DRIVER, ...files],
      { maxBuffer: 1 << 28, timeout: 1_800_000 },
      (_, stdout) => done(stdout),
    );
  });
  const answers = new Map<string, string>();
  for (const [, line] of out.matchAll(/^@(.*)$/gm))
    answers.set(...(JSON.parse(line ?? "") as [string, string]));
  for (const row of rows.filter((one) => one.file)) {
    const said = answers.get(row.file) ?? "no answer";
    if (said.includes("take TVM 0.19")) row.outcome = "needs TVM 0.19";
    else if (said.includes("without its metadata")) row.outcome = "without its constants";
    else if (said === "cannot read") row.outcome = "TVM cannot read the program";
    else if (said) row.outcome = `NOT EQUAL: ${(said.split("\n")[0] ?? "").slice(0, 150)}`;
  }
}

/** Opens a reproducer as the page does. */
function opened(path: string): RunDocument {
  const answer = bench.handle({ id: 1, type: "read", text: read(path) });
  const { document, message } = answer as { document: RunDocument | null; message: string };
  if (!document) throw new Error(`${path}: ${message}`);
  return document;
}

test.skipIf(!interpreter)("TVM gives what the page showed", async () => {
  const lessons = join(root, "www/lessons");
  for (const entry of readdirSync(lessons, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    for (const name of ["solution.relay", "solution.py"]) {
      const path = join(lessons, entry.name, name);
      if (existsSync(path)) await prepare(`lesson ${entry.name}`, opened(path));
    }
  }
  const examples: [name: string, passes: string[], script: string][] = [
    [
      "relax-conv",
      ["Normalize", "DeadCodeElimination", "ToNonDataflow", "RemovePurityChecking"],
      "",
    ],
    [
      "relax-fuse-conv",
      ["FuseTwoConv", "DeadCodeElimination"],
      read(join(root, "www/user/samples/fuse-two-conv.js")),
    ],
  ];
  const rules = ["Matmul", "GEMV", "Reduction", "Fallback"].map((rule) => `dlight.gpu.${rule}()`);
  const scheduled = `ApplyDefaultSchedule(${rules.join(", ")}, target="cuda")`;
  const fused = ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"];
  examples.push(["relax-dlight", [...fused, scheduled], ""]);
  for (const name of ["tir-mm-relu", "tir-matmul", "tir-conv-relu", "tir-rows-gpu"]) {
    const trace = read(join(root, `www/examples/${name}.trace.py`));
    examples.push([name, [`Schedule(trace=${JSON.stringify(trace)})`], ""]);
  }
  for (const [name, calls, script] of examples) {
    const source = read(join(root, `www/examples/${name}.py`));
    await prepare(`example ${name}`, { ...plain, source, script, passes: items(calls) });
  }
  // A program and a trace for each primitive.
  for (const part of read(join(import.meta.dirname, "primitives.txt"))
    .split(/^== .*\n/m)
    .slice(1)) {
    const [source = "", ...traces] = part.split(/^-- /m);
    for (const text of traces) {
      const [title = "", ...lines] = text.split("\n");
      const calls = [`Schedule(trace=${JSON.stringify(lines.join("\n"))})`];
      await prepare(`primitive ${title}`, { ...plain, source, passes: items(calls) });
    }
  }
  const database = read(join(root, "tests/databases/double.jsonl"));
  await prepare("database", {
    ...plain,
    source: read(join(root, "tests/databases/double.txt")),
    passes: items([`MetaScheduleApplyDatabase(database=${JSON.stringify(database)})`]),
  });
  for (const name of existsSync(corpus) ? readdirSync(corpus).sort() : []) {
    if (!name.endsWith(".py")) continue;
    const source = read(join(corpus, name));
    await prepare(name, { ...plain, source, passes: items(PASSES) });
  }
  await ask();
  if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true });
  const width = Math.max(...rows.map((row) => row.program.length)) + 2;
  const said = Math.max(...rows.map((row) => row.outcome.length)) + 2;
  const lines = rows.map(
    (row) => `${row.program.padEnd(width)}${row.outcome.padEnd(said)}${row.passes}\n`,
  );
  console.log(lines.join(""));
  if (process.env.BLESS) writeFileSync(table, lines.join(""));
  expect(lines.join("")).toBe(read(table));
});
