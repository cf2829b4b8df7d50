/**
 * Reads the messages of the sandbox. The user's code may have written them, so each is text of bounded length, and only
 * the fields of an answer to the question are copied out of it, all of them checked. Throws on malformed messages.
 */

import type { BufferCost, Cost, Instruction, Measure, Nest, NestNode } from "../engine/nest";
import type {
  Answers,
  Beside,
  Blame,
  Checked,
  Comparison,
  Culprit,
  Diff,
  DumpFile,
  Fate,
  Graph,
  GraphNode,
  History,
  HistoryEntry,
  LogEntry,
  PassItem,
  Problem,
  Reduced,
  Request,
  Response,
  Rewrite,
  Run,
  ScriptReport,
  SharedDocument,
  Step,
  UserInstrument,
  UserModule,
  UserPass,
  ValuePart,
  Values,
} from "../engine/protocol";
import type { Boot } from "../engine/worker";

/** Characters of one answer. A diff of a large network is some millions. */
export const LONGEST = 32_000_000;
/** Entries of a list that the page draws only in part, and of one that it draws whole. */
const MANY = 2_000_000;
const SOME = 20_000;
/** The most steps of a run, and parts of a value: each costs the page something, and a script may have made them up. */
const STEPS = 10_000;
const PARTS = 1_000;

type Read<T> = (value: unknown) => T;

function wrong(wanted: string): never {
  throw new Error(`${wanted} was expected`);
}

const text: Read<string> = (value) => (typeof value === "string" ? value : wrong("a text"));
const flag: Read<boolean> = (value) =>
  typeof value === "boolean" ? value : wrong("true or false");
const real: Read<number> = (value) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : wrong("a number");
const whole: Read<number> = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : wrong("a whole number");

function short(limit: number): Read<string> {
  return (value) => {
    const read = text(value);
    return read.length <= limit ? read : `${read.slice(0, limit)}…`;
  };
}

function oneOf<T extends string>(...names: T[]): Read<T> {
  return (value) => names.find((name) => name === value) ?? wrong(names.join(" or "));
}

function maybe<T>(read: Read<T>): Read<T | null> {
  return (value) => (value === null || value === undefined ? null : read(value));
}

function list<T>(read: Read<T>, limit: number): Read<T[]> {
  return (value) => {
    if (!Array.isArray(value)) return wrong("a list");
    if (value.length > limit) return wrong(`a list of at most ${limit}`);
    return value.map(read);
  };
}

function pair<A, B>(first: Read<A>, second: Read<B>): Read<[A, B]> {
  return (value) =>
    Array.isArray(value) && value.length === 2
      ? [first(value[0]), second(value[1])]
      : wrong("a pair");
}

function triple<A, B, C>(first: Read<A>, second: Read<B>, third: Read<C>): Read<[A, B, C]> {
  return (value) =>
    Array.isArray(value) && value.length === 3
      ? [first(value[0]), second(value[1]), third(value[2])]
      : wrong("three in a row");
}

/** Own properties only: JSON's `__proto__` is an ordinary name here, and not one of these. */
function record<T extends object>(fields: { [K in keyof T]: Read<T[K]> }): Read<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return (value) => {
    if (typeof value !== "object" || value === null) return wrong("an object");
    const result: Partial<T> = {};
    for (const name of names) {
      const own = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
      result[name] = fields[name](own);
    }
    return result as T;
  };
}

const problem = record<Problem>({
  severity: oneOf("error", "warning", "note", "help"),
  code: short(200),
  message: short(10_000),
  from: maybe(whole),
  to: maybe(whole),
  line: maybe(whole),
  column: maybe(whole),
  notes: list(short(10_000), 100),
});

const step = record<Step>({
  id: short(2000),
  name: short(200),
  depth: whole,
  parent: maybe(whole),
  row: whole,
  role: oneOf("listed", "required", "nested"),
  outcome: oneOf("changed", "unchanged", "skipped", "failed", "not-reached"),
  reason: short(10_000),
  optLevel: whole,
  before: whole,
  after: whole,
  micros: real,
  rewrites: whole,
  functions: list(short(300), SOME),
  problems: list(problem, 1000),
});

const dumpFile = record<DumpFile>({ name: short(300), text });

const report = record<ScriptReport>({
  problems: list(problem, 1000),
  passes: list(
    record<UserPass>({
      name: short(200),
      kind: oneOf("module", "function", "dataflow-block", "prim-func", "sequential"),
      optLevel: whole,
      required: list(short(200), 1000),
      doc: short(10_000),
    }),
    1000,
  ),
  instruments: list(
    record<UserInstrument>({
      name: short(200),
      hooks: list(short(200), 100),
      doc: short(10_000),
    }),
    1000,
  ),
  output: list(short(10_000), SOME),
  modules: (item) =>
    maybe(list(record<UserModule>({ name: short(200), text }), 100))(item) ?? undefined,
  steps: (item) => maybe(list(dumpFile, 1000))(item) ?? undefined,
});

const logEntry = record<LogEntry>({
  kind: oneOf("call", "refused", "failed", "printed"),
  text,
  step: maybe(whole),
});

/** A tree by its own numbers: a parent stands before its children, and versions are those that there are. */
const run: Read<Run> = (value) => {
  const read = record<Run>({
    dialect: oneOf("relay", "relax"),
    problems: list(problem, 1000),
    ok: flag,
    steps: list(step, STEPS),
    versions: whole,
    log: list(logEntry, MANY),
    timing: text,
    millis: real,
    ahead: () => undefined,
    script: (item) => maybe(report)(item) ?? undefined,
  })(value);
  const ids = new Set<string>();
  read.steps.forEach((item, index) => {
    if (item.parent !== null && item.parent >= index) wrong("a parent before its child");
    if (Math.max(item.before, item.after) >= read.versions) wrong("a version that there is");
    if (ids.has(item.id)) wrong("an id of its own for every step");
    ids.add(item.id);
  });
  return read;
};

const diff = record<Diff>({
  before: text,
  after: text,
  rows: list(whole, 10 * MANY),
  added: whole,
  removed: whole,
  changed: whole,
  moved: whole,
  renumbered: whole,
  summary: list(short(10_000), 1000),
});

const name = short(300);
/** By their type, so that none is forgotten here. */
const FATES: Record<Fate, true> = {
  source: true,
  kept: true,
  rebuilt: true,
  rewritten: true,
  made: true,
  removed: true,
};
const fate = oneOf(...(Object.keys(FATES) as Fate[]));

const history = record<History>({
  version: whole,
  node: whole,
  label: name,
  op: maybe(name),
  ty: text,
  attrs: list(pair(name, text), SOME),
  source: maybe(record<NonNullable<History["source"]>>({ from: whole, to: whole, line: whole })),
  entries: list(
    record<HistoryEntry>({
      version: whole,
      step: maybe(whole),
      fate,
      rule: name,
      node: maybe(whole),
      label: name,
    }),
    SOME,
  ),
  lines: list(maybe(whole), 10),
});

const graphNode = record<GraphNode>({
  node: whole,
  version: whole,
  label: name,
  leaves: text,
  ty: text,
  group: whole,
  result: flag,
  fate: oneOf("same", "rewritten", "made", "removed"),
  x: real,
  y: whole,
});

/** A graph by its own numbers: edges lead between nodes, nodes stand in boxes that there are, boxes in earlier ones. */
const graph: Read<Graph> = (value) => {
  const read = record<Graph>({
    nodes: list(graphNode, MANY),
    edges: list(whole, MANY),
    groups: list(
      record<Graph["groups"][number]>({ parent: maybe(whole), title: text, made: flag }),
      SOME,
    ),
  })(value);
  if (read.edges.some((node) => node >= read.nodes.length)) wrong("an edge between nodes");
  if (read.nodes.some((node) => node.group >= read.groups.length)) wrong("a box that there is");
  read.groups.forEach((group, index) => {
    if (group.parent !== null && group.parent >= index) wrong("a box inside of an earlier one");
  });
  return read;
};

/** JSON has no infinities and NaN; they come as null. */
const element: Read<number> = (value) =>
  value === null ? Number.NaN : typeof value === "number" ? value : wrong("an element");
const part = record<ValuePart>({
  name: short(200),
  text: short(100_000),
  dtype: short(50),
  shape: list(whole, 100),
  data: list(element, MANY),
});
const evaluated = record<Values>({
  problem: short(10_000),
  args: list(part, PARTS),
  result: list(part, PARTS),
  seen: list(part, PARTS),
  times: whole,
});

const nest = record<Nest>({
  functions: list(name, SOME),
  func: name,
  text,
  nodes: list(
    record<NestNode>({
      parent: maybe(whole),
      kind: name,
      name,
      extent: maybe(whole),
      note: text,
      annotations: text,
      iters: list(pair(name, name), SOME),
      reads: text,
      writes: text,
      lines: pair(whole, whole),
      key: name,
      handle: name,
      reach: maybe(pair(text, name)),
    }),
    SOME,
  ),
  cut: flag,
  instructions: list(record<Instruction>({ from: whole, to: whole, name, changes: flag }), SOME),
  done: whole,
  problem: text,
  refused: list(text, SOME),
  fresh: whole,
});
const measure = record<Measure>({
  problem: text,
  difference: text,
  parallel: real,
  vector: real,
  cost: maybe(
    record<Cost>({
      arithmetic: whole,
      indexArithmetic: whole,
      intensity: maybe(real),
      buffers: list(
        record<BufferCost>({
          name,
          scope: name,
          loads: whole,
          stores: whole,
          bytes: whole,
          lines: whole,
          misses: whole,
        }),
        SOME,
      ),
    }),
  ),
});

const culprit = record<Culprit>({
  id: short(2000),
  name: short(200),
  row: whole,
  why: short(10_000),
  rewrite: maybe(whole),
  rule: name,
  rewrites: whole,
});

/** A document that was made small. Its script is the page's business: the page has it. */
const smaller = record<SharedDocument>({
  source: text,
  passes: list(record<PassItem>({ call: name, enabled: flag }), SOME),
  optLevel: whole,
  required: list(name, SOME),
  disabled: list(name, SOME),
  config: (value) => {
    const entries = Object.entries(typeof value === "object" && value ? value : {});
    return Object.fromEntries(list(pair(name, name), SOME)(entries));
  },
  instruments: list(name, SOME),
  script: () => "",
  view: () => ({ step: "", view: "" }),
});

/** The readers for the sandbox's answers. Links and the catalogue are never its business. */
const answers: { [K in keyof Answers]?: Read<Answers[K]> } = {
  run,
  beside: record<Beside>({ problem: short(10_000), steps: list(step, STEPS) }),
  text,
  diff,
  history: maybe(history),
  graph,
  rewrites: list(record<Rewrite>({ rule: name, pre: name, post: name }), MANY),
  partial: maybe(diff),
  preview: oneOf("changed", "unchanged", "failed"),
  operators: list(triple(name, whole, whole), SOME),
  eval: evaluated,
  nest,
  measure,
  check: record<Checked>({
    outcome: oneOf("equal", "within tolerance", "different", "not run"),
    text: short(10_000),
    inputs: list(pair(name, short(10_000)), 1000),
    place: short(1000),
    from: short(1000),
    runs: whole,
  }),
  bisect: record<Blame>({ problem: short(10_000), culprit: maybe(culprit) }),
  reduce: record<Reduced>({
    problem: short(10_000),
    done: flag,
    bindings: whole,
    tried: whole,
    culprit: maybe(culprit),
    document: maybe(smaller),
  }),
  dump: list(dumpFile, SOME),
  hash: short(6),
  compare: record<Comparison>({
    problems: list(problem, 1000),
    difference: text,
    sameValues: maybe(flag),
  }),
};

/** The frame has ended the worker, and why. */
export interface Ended {
  type: "ended";
  message: string;
}

/** The worker has nothing to do; it was asked whether it has. */
export interface Rest {
  type: "rest";
}

/** Reads one message. `asked` holds the questions that have no answer yet; the answered one is taken out. */
export function check(
  data: unknown,
  asked: Map<number, Request["type"]>,
): Boot | Ended | Rest | Response {
  if (typeof data !== "string") return wrong("text");
  if (data.length > LONGEST) return wrong("a shorter text");
  const message: unknown = JSON.parse(data);
  const { type } = record({ type: short(20) })(message);
  if (type === "ready" || type === "rest") return { type };
  if (type === "unready" || type === "ended") {
    return { type, ...record({ message: short(2000) })(message) };
  }
  const { id } = record({ id: whole })(message);
  const question = asked.get(id);
  if (!question) return wrong("an answer to a question");
  asked.delete(id);
  if (type === "failed") return { type, id, ...record({ message: short(2000) })(message) };
  const read = answers[question];
  if (type !== question || !read) return wrong("an answer to its question");
  const { value } = record({ value: read as Read<unknown> })(message);
  return { id, type: question, value } as Response;
}
