/**
 * A stand-in for the engine: text in, plausible text out, by rules on lines. It understands no Relay. It lets
 * the page be built and tested without WebAssembly and is never part of a production build.
 */
import { packed } from "./diff";
import type {
  Catalogue,
  DecodeResult,
  Diff,
  DiffRow,
  PassDoc,
  PipelineDoc,
  Problem,
  Request,
  Run,
  RunDocument,
  ScriptReport,
  SharedDocument,
  Step,
} from "./protocol";

type Rewrite = (lines: string[]) => string[];

const inferred: Rewrite = (lines) =>
  lines.map((line) =>
    /^\s*%\w+ = .*;$/.test(line) && !line.includes("/* ty=")
      ? line.replace(/;$/, " /* ty=Tensor[(1, 16), float32] */;")
      : line,
  );

const rewrites: Record<string, Rewrite> = {
  InferType: inferred,
  SimplifyInference: (lines) =>
    lines.flatMap((line) => {
      const found = line.match(/^(\s*)(%\w+) = nn\.batch_norm\((%[\w.]+), (%\w+), (%\w+)/);
      if (!found) return [line.replace(/(%\d+)\.0\b/g, "$1")];
      const [, pad, name, x, gamma, beta] = found;
      return [`${pad}${name} = add(multiply(${x}, ${gamma}), ${beta});`];
    }),
  FoldConstant: (lines) =>
    lines.map((line) =>
      line.replace(/(add|multiply)\((\d+)f, (\d+)f\)/g, (_, op, a, b) =>
        op === "add" ? `${+a + +b}f` : `${+a * +b}f`,
      ),
    ),
  FuseOps: (lines) =>
    lines.flatMap((line) => {
      const found = line.match(/^(\s*)(%\w+) = ([\w.]+)\((%[\w.]+)(.*)$/);
      if (!found || line.includes("Primitive=1")) return [line];
      const [, pad, name, op, arg, rest] = found;
      return [
        `${pad}${name} = fn (%p0: Tensor[(1, 16), float32], Primitive=1) {`,
        `${pad}  ${op}(%p0${rest?.replace(/;$/, "")}`,
        `${pad}}(${arg});`,
      ];
    }),
  DeadCodeElimination: (lines) => {
    const text = lines.join("\n");
    return lines.filter((line) => {
      const name = line.match(/^\s*(?:let )?(%\w+)\b.* = /)?.[1];
      return !name || text.split(new RegExp(`${name}(?!\\w)`)).length > 2;
    });
  },
};

const pass = (
  name: string,
  optLevel: number,
  summary: string,
  more: Partial<PassDoc> = {},
): PassDoc => ({
  name,
  infoName: name,
  dialects: ["relay"],
  kind: "function",
  optLevel,
  required: ["InferType"],
  configKeys: [],
  params: [],
  summary,
  doc: summary,
  exampleBefore: "",
  exampleAfter: "",
  available: true,
  ...more,
});

const passes: PassDoc[] = [
  pass("InferType", 0, "Works out the type of every expression.", { required: [], kind: "module" }),
  pass("SimplifyInference", 0, "Replaces batch norm and its kin by plain arithmetic."),
  pass("FoldConstant", 2, "Evaluates what depends on constants only.", {
    params: [{ name: "fold_qnn", default: "False", doc: "Fold quantised operators too." }],
  }),
  pass("EliminateCommonSubexpr", 3, "Computes equal calls once."),
  pass("CombineParallelConv2D", 4, "Joins convolutions that read the same input."),
  pass("DeadCodeElimination", 1, "Removes bindings that nobody uses."),
  pass("FuseOps", 0, "Groups operators that can run in one kernel.", {
    configKeys: ["relay.FuseOps.max_depth"],
    params: [{ name: "fuse_opt_level", default: "-1", doc: "Opt level of the fusion itself." }],
  }),
  pass("ToANormalForm", 1, "Binds every intermediate value with let.", { kind: "module" }),
  pass("FastMath", 4, "Replaces exp, tanh and erf by faster approximations."),
  pass("RemoveUnusedFunctions", 1, "Drops functions that main cannot reach.", { kind: "module" }),
  pass("AlterOpLayout", 3, "Changes data layouts for the target.", { available: false }),
];

const build = [
  "RemoveUnusedFunctions",
  "SimplifyInference",
  "EliminateCommonSubexpr",
  "FoldConstant",
];
const pipelines: PipelineDoc[] = [0, 1, 2, 3, 4].map((optLevel) => ({
  name: `relay.build-O${optLevel}`,
  title: `relay.build at O${optLevel}`,
  dialect: "relay",
  optLevel,
  passes: [...build, "AlterOpLayout", "FastMath", "FuseOps"],
  missing: ["AlterOpLayout"],
}));
pipelines.push({
  name: "fold",
  title: "Fold and clean up",
  dialect: "relay",
  optLevel: 2,
  passes: ["FoldConstant", "DeadCodeElimination"],
  missing: [],
});

const catalogue: Catalogue = {
  version: "mock",
  passes,
  pipelines,
  ops: [],
  config: [
    {
      key: "relay.FuseOps.max_depth",
      type: "int",
      default: "256",
      doc: "The most nodes in one group.",
    },
    {
      key: "relay.FuseOps.link_params",
      type: "bool",
      default: "False",
      doc: "Constants stay inside.",
    },
  ],
  instruments: [
    { name: "PrintAfterAll", params: [], doc: "Prints the program after every pass." },
    {
      name: "DumpIR",
      params: [{ name: "dump_dir", default: '"dump"', doc: "The folder." }],
      doc: "Writes the program after every pass.",
    },
  ],
};

function problems(source: string): Problem[] {
  const found: Problem[] = [];
  const bound = new Set<string>();
  let offset = 0;
  const lines = source.split("\n");
  lines.forEach((text, index) => {
    const code = text.replace(/\/\/.*$/, "");
    for (const hit of code.matchAll(/%[A-Za-z0-9_]+/g)) {
      const after = code.slice(hit.index + hit[0].length);
      if (/^\s*(:|=[^>=])/.test(after)) bound.add(hit[0]);
      else if (!bound.has(hit[0])) {
        found.push({
          severity: "error",
          code: "relay-unbound-var",
          message: `undefined variable ${hit[0]}`,
          from: offset + hit.index,
          to: offset + hit.index + hit[0].length,
          line: index + 1,
          column: hit.index + 1,
          notes: [],
        });
      }
    }
    offset += text.length + 1;
  });
  if (!source.startsWith("#[version")) {
    found.push({
      severity: "error",
      code: "relay-version",
      message: 'a module starts with #[version = "0.0.5"]',
      from: 0,
      to: 1,
      line: 1,
      column: 1,
      notes: [],
    });
  }
  return found;
}

function compare(left: string[], right: string[]): Diff {
  const rows: DiffRow[] = [];
  const put = (kind: DiffRow["kind"], l: number | null, r: number | null) => {
    const leftText = l === null ? "" : (left[l] ?? "");
    const rightText = r === null ? "" : (right[r] ?? "");
    rows.push({
      kind,
      left: l === null ? null : l + 1,
      right: r === null ? null : r + 1,
      leftText,
      rightText,
      leftWords: kind === "changed" ? words(leftText, rightText) : [],
      rightWords: kind === "changed" ? words(rightText, leftText) : [],
    });
  };
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      put("same", i++, j++);
      continue;
    }
    const inRight = i < left.length ? right.indexOf(left[i] as string, j) : j;
    const inLeft = j < right.length ? left.indexOf(right[j] as string, i) : i;
    if (i < left.length && j < right.length && inRight < 0 && inLeft < 0) put("changed", i++, j++);
    else if (j >= right.length || (inRight < 0 && i < left.length)) put("removed", i++, null);
    else put("added", null, j++);
  }
  const count = (kind: DiffRow["kind"]) => rows.filter((row) => row.kind === kind).length;
  const added = count("added");
  return {
    before: left.join("\n"),
    after: right.join("\n"),
    rows: packed(rows),
    added,
    removed: count("removed"),
    changed: count("changed"),
    moved: 0,
    renumbered: 0,
    summary: [`${left.length} lines became ${right.length}`],
  };
}

function words(mine: string, other: string): number[] {
  let head = 0;
  while (head < mine.length && mine[head] === other[head]) head++;
  let tail = 0;
  while (tail < mine.length - head && mine.at(-1 - tail) === other.at(-1 - tail)) tail++;
  return [head, mine.length - tail];
}

class Session {
  private versions: string[][] = [];

  handle(request: Request): unknown {
    switch (request.type) {
      case "catalogue":
        return catalogue;
      case "run":
        return this.run(request.document);
      case "text":
        return this.version(request.version).join("\n");
      case "diff":
        return compare(this.version(request.before), this.version(request.after));
      case "eval":
        return { problem: "it runs nothing", args: [], result: [], seen: [], times: 0 };
      case "dump":
        return this.versions.map((lines, at) => ({
          name: `dump/00${at}.relay`,
          text: lines.join("\n"),
        }));
      case "compare":
        return { problems: [], difference: "", sameValues: null };
      case "write":
        return request.document.source;
      case "read":
        return {
          document: {
            source: request.text,
            passes: [],
            optLevel: 2,
            required: [],
            disabled: [],
            config: {},
            instruments: [],
            script: "",
            view: { step: "", view: "" },
          },
          error: "",
          message: "",
        };
      case "recognise":
        return { dialect: "relay", inner: null };
      case "hash":
        return "000000";
      case "encode":
        return `m${btoa(unescape(encodeURIComponent(JSON.stringify(request.document)))).replace(/=+$/, "")}`;
      case "decode":
        return decode(request.link);
    }
  }

  private version(number: number): string[] {
    return this.versions[number] ?? [];
  }

  private run(document: RunDocument): Run {
    const started = performance.now();
    if (document.source.includes("// hang")) for (;;);
    if (document.source.includes("// crash")) throw new Error("unreachable");
    const wrong = problems(document.source);
    const base: Run = {
      dialect: "relay",
      problems: wrong,
      ok: wrong.length === 0,
      steps: [],
      versions: 0,
      log: [],
      timing: "",
      millis: 0,
      script: report(document.script),
    };
    const own = new Set(base.script?.passes.map((one) => one.name));
    if (wrong.length > 0) return base;
    this.versions = [document.source.replace(/\n$/, "").split("\n")];
    const steps: Step[] = [];
    const count = new Map<string, number>();
    let version = 0;
    const step = (name: string, row: number, role: Step["role"], parent: number | null): Step => {
      const path = parent === null ? "" : `${steps[parent]?.id}/`;
      const number = (count.get(path + name) ?? 0) + 1;
      count.set(path + name, number);
      const made: Step = {
        id: `${path}${name}#${number}`,
        name,
        depth: parent === null ? 0 : 1,
        parent,
        row,
        role,
        outcome: "unchanged",
        reason: "",
        optLevel: 0,
        before: version,
        after: version,
        micros: 0,
        rewrites: 0,
        functions: [],
        problems: [],
      };
      steps.push(made);
      return made;
    };
    const apply = (made: Step, rewrite: Rewrite) => {
      const before = this.version(version);
      const after = rewrite(before);
      made.micros = 20 + before.length * 3;
      if (after.join("\n") === before.join("\n")) return;
      made.rewrites = Math.abs(after.length - before.length) + 1;
      version = this.versions.push(after) - 1;
      made.after = version;
      made.outcome = "changed";
    };
    document.passes.forEach((item, row) => {
      if (!item.enabled) return;
      const name = item.call.replace(/\(.*$/, "");
      const known = passes.find((one) => one.name === name);
      if (known && known.optLevel > document.optLevel) {
        const skipped = step(name, row, "listed", null);
        skipped.outcome = "skipped";
        skipped.optLevel = known.optLevel;
        skipped.reason = `needs opt level ${known.optLevel}, this run has ${document.optLevel}`;
        return;
      }
      if (known?.required.length) apply(step("InferType", row, "required", null), inferred);
      const made = step(name, row, "listed", null);
      if (own.has(name)) {
        apply(made, (lines) => [...lines, `// ${name} was here`]);
        return;
      }
      if (!known) {
        made.outcome = "failed";
        made.reason = `there is no pass named ${name}`;
        return;
      }
      apply(made, rewrites[name] ?? ((lines) => lines));
      const inner = step("InferType", row, "nested", steps.indexOf(made));
      if (made.outcome === "changed") apply(inner, inferred);
      made.after = version;
    });
    if (document.instruments.includes("PrintAfterAll")) {
      steps.forEach((one, index) => {
        const call = `PrintAfterAll.run_after_pass(${one.name})`;
        base.log.push({ kind: "call", text: call, step: index });
        base.log.push({ kind: "printed", text: this.version(one.after).join("\n"), step: index });
      });
    }
    return {
      ...base,
      steps,
      versions: this.versions.length,
      timing: steps.map((one) => `${one.name}: ${one.micros}us`).join("\n"),
      millis: performance.now() - started,
    };
  }
}

/** Guesses the definitions of a script from its text. */
function report(script: string): ScriptReport | undefined {
  if (!script.trim()) return undefined;
  if (script.includes("for (;;);")) for (;;);
  const passes = [...script.matchAll(/(\w+)Pass\(\{\s*name: "(\w+)"/g)].map((hit) => ({
    name: hit[2] ?? "",
    kind: hit[1] === "module" ? ("module" as const) : ("function" as const),
    optLevel: 1,
    required: ["InferType"],
    doc: "Adds a comment.",
  }));
  const at = script.indexOf("oops");
  const line = script.slice(0, at).split("\n").length;
  const wrong: Problem = {
    severity: "error",
    code: "script",
    message: "oops is not defined",
    from: at,
    to: at + 4,
    line,
    column: 1,
    notes: [],
  };
  const output = [...script.matchAll(/console\.log\("(.*?)"\)/g)].map((hit) => hit[1] ?? "");
  return { passes, instruments: [], problems: at < 0 ? [] : [wrong], output };
}

function decode(link: string): DecodeResult {
  try {
    const json = decodeURIComponent(escape(atob(link.replace(/^#?m/, ""))));
    return { document: JSON.parse(json) as SharedDocument, error: "", message: "" };
  } catch {
    return { document: null, error: "link-damaged", message: "the end is missing" };
  }
}

export async function prepare(): Promise<void> {}

export async function open(): Promise<Session> {
  return new Session();
}

/** In the place of the engine's address: there are no bytes to load. */
export default [];
