/**
 * Readers of the answers that come out of the sandbox: only the fields of a message are copied, all of them checked.
 * Written by `cargo xtask codegen` from `src/boundary`; not to be edited.
 */

import type {
  Answers,
  Beside,
  Blame,
  BufferCost,
  Checked,
  Comparison,
  Cost,
  Culprit,
  Diff,
  DumpFile,
  Fate,
  Fix,
  Graph,
  GraphGroup,
  GraphNode,
  History,
  HistoryEntry,
  Instruction,
  Language,
  LineNames,
  LogEntry,
  LogKind,
  Made,
  Measure,
  Nest,
  NestNode,
  NodeFate,
  OutcomeWord,
  PassItem,
  PreviewWord,
  Problem,
  Reduced,
  Rewrite,
  Role,
  Run,
  RunDocument,
  ScriptReport,
  Severity,
  SourcePlace,
  Step,
  UserInstrument,
  UserModule,
  UserPass,
  UserPassKind,
  ValuePart,
  Values,
  VerdictWord,
  ViewState,
} from "../engine/protocol";
import {
  dictionary,
  element,
  flag,
  list,
  maybe,
  nothing,
  oneOf,
  optional,
  pair,
  type Read,
  real,
  record,
  shared,
  short,
  text,
  triple,
  whole,
} from "./readers";

const language = oneOf<Language>("relay", "relax");
const severity = oneOf<Severity>("error", "warning", "note", "help");
const fix = record<Fix>({
  title: short(10_000),
  edits: list(triple(whole, whole, text), 20_000),
  asks: list(pair(text, text), 20_000),
});
const problem = record<Problem>({
  severity,
  code: short(200),
  message: short(10_000),
  from: maybe(whole),
  to: maybe(whole),
  line: maybe(whole),
  column: maybe(whole),
  notes: list(short(10_000), 100),
  fixes: optional(list(fix, 100)),
});
const role = oneOf<Role>("listed", "required", "nested");
const outcomeWord = oneOf<OutcomeWord>("changed", "unchanged", "skipped", "failed", "not-reached");
const step = record<Step>({
  id: short(2_000),
  name: short(200),
  depth: whole,
  parent: maybe(whole),
  row: whole,
  role,
  outcome: outcomeWord,
  reason: short(10_000),
  optLevel: whole,
  before: whole,
  after: whole,
  micros: real,
  rewrites: whole,
  functions: list(short(300), 20_000),
  problems: list(problem, 1_000),
});
const logKind = oneOf<LogKind>("call", "refused", "failed", "printed");
const logEntry = record<LogEntry>({
  kind: logKind,
  text,
  step: maybe(whole),
});
const userPassKind = oneOf<UserPassKind>(
  "module",
  "function",
  "dataflow-block",
  "prim-func",
  "sequential",
);
const userPass = record<UserPass>({
  name: short(200),
  kind: userPassKind,
  optLevel: whole,
  required: list(short(200), 1_000),
  doc: short(10_000),
});
const userInstrument = record<UserInstrument>({
  name: short(200),
  hooks: list(short(200), 100),
  doc: short(10_000),
});
const userModule = record<UserModule>({
  name: short(200),
  text,
});
const dumpFile = record<DumpFile>({
  name: short(300),
  text,
});
const scriptReport = record<ScriptReport>({
  passes: list(userPass, 1_000),
  instruments: list(userInstrument, 1_000),
  problems: list(problem, 1_000),
  output: list(short(10_000), 20_000),
  modules: optional(list(userModule, 100)),
  steps: optional(list(dumpFile, 1_000)),
});
const run = record<Run>({
  dialect: language,
  problems: list(problem, 1_000),
  ok: flag,
  steps: list(step, 10_000),
  versions: whole,
  log: list(logEntry, 2_000_000),
  timing: text,
  millis: real,
  script: optional(scriptReport),
  ahead: nothing,
});
const beside = record<Beside>({
  problem: short(10_000),
  steps: list(step, 10_000),
});
const diff = record<Diff>({
  before: text,
  after: text,
  added: whole,
  removed: whole,
  changed: whole,
  moved: whole,
  renumbered: whole,
  summary: list(short(10_000), 1_000),
  rows: list(whole, 20_000_000),
});
const lineNames = record<LineNames>({
  names: list(pair(short(10_000), text), 2_000_000),
  own: text,
});
const sourcePlace = record<SourcePlace>({
  from: whole,
  to: whole,
  line: whole,
});
const fate = oneOf<Fate>("source", "kept", "rebuilt", "rewritten", "made", "removed");
const historyEntry = record<HistoryEntry>({
  version: whole,
  step: maybe(whole),
  fate,
  rule: short(300),
  node: maybe(whole),
  label: short(300),
});
const history = record<History>({
  version: whole,
  node: whole,
  label: short(300),
  op: maybe(short(300)),
  ty: text,
  attrs: list(pair(short(300), text), 20_000),
  source: maybe(sourcePlace),
  entries: list(historyEntry, 20_000),
  lines: list(maybe(whole), 10),
});
const nodeFate = oneOf<NodeFate>("same", "rewritten", "made", "removed");
const graphNode = record<GraphNode>({
  node: whole,
  version: whole,
  label: short(300),
  leaves: text,
  ty: text,
  group: whole,
  result: flag,
  fate: nodeFate,
  x: real,
  y: whole,
});
const graphGroup = record<GraphGroup>({
  parent: maybe(whole),
  title: text,
  made: flag,
});
const graph = record<Graph>({
  nodes: list(graphNode, 2_000_000),
  edges: list(whole, 2_000_000),
  groups: list(graphGroup, 20_000),
});
const rewrite = record<Rewrite>({
  rule: short(300),
  pre: short(300),
  post: short(300),
});
const previewWord = oneOf<PreviewWord>("changed", "unchanged", "failed");
const valuePart = record<ValuePart>({
  name: short(200),
  text: short(100_000),
  dtype: short(50),
  shape: list(whole, 100),
  data: list(element, 2_000_000),
});
const values = record<Values>({
  problem: short(10_000),
  args: list(valuePart, 1_000),
  result: list(valuePart, 1_000),
  seen: list(valuePart, 1_000),
  times: whole,
});
const nestNode = record<NestNode>({
  parent: maybe(whole),
  kind: short(300),
  name: short(300),
  extent: maybe(whole),
  note: text,
  annotations: text,
  iters: list(pair(short(300), short(300)), 20_000),
  reads: text,
  writes: text,
  lines: pair(whole, whole),
  key: short(300),
  handle: short(300),
  reach: maybe(pair(text, text)),
});
const instruction = record<Instruction>({
  from: whole,
  to: whole,
  name: short(300),
  changes: flag,
});
const nest = record<Nest>({
  functions: list(short(300), 20_000),
  func: short(300),
  text,
  nodes: list(nestNode, 20_000),
  cut: flag,
  instructions: list(instruction, 20_000),
  done: whole,
  problem: text,
  refused: list(text, 20_000),
  fresh: whole,
});
const bufferCost = record<BufferCost>({
  name: short(300),
  scope: short(300),
  loads: whole,
  stores: whole,
  bytes: whole,
  lines: whole,
  misses: whole,
});
const cost = record<Cost>({
  arithmetic: whole,
  indexArithmetic: whole,
  intensity: maybe(real),
  buffers: list(bufferCost, 20_000),
});
const measure = record<Measure>({
  problem: text,
  difference: text,
  parallel: real,
  vector: real,
  cost: maybe(cost),
});
const verdictWord = oneOf<VerdictWord>("equal", "within tolerance", "different", "not run");
const checked = record<Checked>({
  outcome: verdictWord,
  text: short(10_000),
  inputs: list(pair(short(300), short(10_000)), 1_000),
  place: short(1_000),
  from: short(1_000),
  runs: whole,
});
const culprit = record<Culprit>({
  id: short(2_000),
  name: short(200),
  row: whole,
  why: short(10_000),
  rewrite: maybe(whole),
  rule: short(300),
  rewrites: whole,
});
const blame = record<Blame>({
  problem: short(10_000),
  culprit: maybe(culprit),
});
const passItem = record<PassItem>({
  call: short(300),
  enabled: flag,
});
const viewState = record<ViewState>({
  step: text,
  view: text,
});
const made = record<Made>({
  engine: text,
  result: text,
});
const runDocument = record<RunDocument>({
  source: text,
  passes: list(passItem, 20_000),
  optLevel: whole,
  required: list(short(300), 20_000),
  disabled: list(short(300), 20_000),
  config: dictionary(300, short(300), 20_000),
  instruments: list(short(300), 20_000),
  script: text,
  parent: optional(text),
  files: optional(list(dumpFile, 20_000)),
  view: optional(viewState),
  made: optional(made),
});
const reduced = record<Reduced>({
  problem: short(10_000),
  done: flag,
  bindings: whole,
  tried: whole,
  culprit: maybe(culprit),
  document: maybe(shared(runDocument)),
});
const comparison = record<Comparison>({
  problems: list(problem, 1_000),
  difference: text,
  sameValues: maybe(flag),
});

/** The readers of the sandbox's answers. */
export const answers = {
  run,
  beside,
  text,
  diff,
  names: lineNames,
  history: maybe(history),
  graph,
  rewrites: list(rewrite, 2_000_000),
  partial: maybe(diff),
  preview: previewWord,
  operators: list(triple(short(300), whole, whole), 20_000),
  eval: values,
  nest,
  measure,
  check: checked,
  bisect: blame,
  reduce: reduced,
  dump: list(dumpFile, 20_000),
  hash: short(6),
  compare: comparison,
} satisfies { [K in keyof Answers]?: Read<Answers[K]> };
