/**
 * The messages between the page and the engine. Written by `cargo xtask codegen` from `src/boundary`; not to be edited.
 *
 * The engine (Rust, compiled to WebAssembly) lives in a worker. A `run` is one document: a program, a pass list and a
 * context. Its answer is a summary: small, always whole. Everything big (texts, diffs, values) is pulled for the step
 * that is looked at. Versions of the module are numbered from 0 (the program as parsed) and belong to the newest `run`
 * that answered `ok: true`. A run that could not start (`ok: false`) leaves the versions of the last good one in place,
 * so that the page can go on showing and stepping through it while the program has errors. Offsets into text are UTF-16
 * code units, as CodeMirror counts them; lines and columns start at 1.
 */

/** Everything that a run depends on. Same document, same result. */
export interface RunDocument {
  source: string;
  passes: PassItem[];
  optLevel: number;
  required: string[];
  disabled: string[];
  /** PassContext configuration, key to Python literal, e.g. `relay.FuseOps.max_depth` to `10`. */
  config: Record<string, string>;
  /**
   * Instruments that are switched on, as calls: `VerifyEach`, `PassPrintingInstrument([], ["FuseOps"])`.
   */
  instruments: string[];
  /**
   * The source of *My passes*, in JavaScript or Python; empty for none. It runs in the sandbox only.
   */
  script: string;
  /**
   * The program that it was forked from, as the text of a reproducer; empty or absent for none.
   */
  parent?: string;
  /**
   * The outputs of another compiler for the program, one file per pass. They are the versions, and no pass runs.
   */
  files?: DumpFile[];
  /** The part of the run that is looked at. */
  view?: ViewState;
  /** Absent: nothing ran. */
  made?: Made;
}

/** One row of the pass list: a call in TVM's Python notation, e.g. `FuseOps(fuse_opt_level=2)`. */
export interface PassItem {
  call: string;
  /** An unticked row stays in the list and is not run. */
  enabled: boolean;
}

/**
 * A file that the `DumpIR` instrument wrote, here or in TVM. Its name may say how long the pass took:
 * `003_FuseOps@1.5ms.relay`.
 */
export interface DumpFile {
  name: string;
  text: string;
}

/** State that a link carries besides the run itself. */
export interface ViewState {
  /** Step id, or empty. */
  step: string;
  /** Name of the view tab: `diff`, `before`, `after`. */
  view: string;
}

/**
 * The engine that ran a document and the result's hash, for comparison by another engine. Both may be empty.
 */
export interface Made {
  /** `Catalogue.version`. */
  engine: string;
  /** The answer to `hash`. */
  result: string;
}

/**
 * The part of a run that the page shows. Sent along with a `run`, so that its diff or texts come with the answer:
 * asking for them afterwards would cost another way to the worker and back, and another frame, at every keystroke.
 */
export interface Look {
  /** Id of the chosen step, as in the state of the page; may be empty or gone. */
  step: string;
  view: LookView;
}

/** The view of a step that is sent along with a run. */
export type LookView =
  /** Its diff. */
  | "diff"
  /** Its texts. */
  | "before";

/**
 * An expression that the user points at: by a word in a line of a version's text (`stable`: numbered as in a diff),
 * by the `node` of an earlier answer to the same run, or by an offset into the source.
 */
export type Place =
  | { line: number; word: string; stable: boolean }
  | { node: number }
  | { offset: number };

/** A request to evaluate a function. */
export interface Question {
  version: number;
  func: string;
  /** The seed of the inputs that are not given. */
  seed: number;
  /** Elements in row-major order, or one for all, by the name of the parameter. */
  given: Readonly<Record<string, readonly number[]>>;
  /** An expression of the version whose values are wanted, too. */
  node: number | null;
}

/** The loops that are wanted, and the instructions that are tried on them. */
export interface NestQuestion {
  version: number;
  /** Name of a tensor program; the first one where it names none. */
  func: string;
  /**
   * Instructions of a schedule, and how many of those that may change the program are applied first.
   */
  trace: string;
  upto: number;
  /** Further instructions, each tried for itself. */
  tries: readonly string[];
}

/** The version that is run and counted, and the one beside it. */
export interface MeasureQuestion {
  version: number;
  other: number;
  func: string;
  seed: number;
  /** Bytes of a line of the cache, and of the whole cache. */
  line: number;
  size: number;
}

/** Everything there is to choose from. */
export interface Catalogue {
  version: string;
  passes: PassDoc[];
  pipelines: PipelineDoc[];
  ops: OpDoc[];
  config: ConfigKey[];
  instruments: InstrumentDoc[];
}

/** A pass. */
export interface PassDoc {
  name: string;
  infoName: string;
  dialects: Language[];
  kind: PassKind;
  optLevel: number;
  required: string[];
  configKeys: string[];
  params: PassParam[];
  summary: string;
  /**
   * The text of a new row: the name, or the call of the example if the pass requires arguments.
   */
  call: string;
  /** False: TVM has it, passlab not yet. */
  available: boolean;
}

/** The language that a program is written in. Programs of TIR stand in programs of Relax. */
export type Language =
  /** As TVM 0.19 has it. */
  | "relay"
  /** As TVM 0.27 has it. */
  | "relax";

/** The unit that a pass works on. */
export type PassKind =
  /** The module. */
  | "module"
  /** Each function of Relay or Relax. */
  | "function"
  /** Each function of TIR. */
  | "primfunc"
  /** Each dataflow block of Relax. */
  | "dataflowblock"
  /** The module, by running other passes. */
  | "sequential";

/** A parameter of a pass or an instrument. */
export interface PassParam {
  name: string;
  /** Python literal. */
  default: string;
  doc: string;
}

/** A list of passes with a name. */
export interface PipelineDoc {
  name: string;
  title: string;
  /** The programs it is for. */
  dialect: Language;
  optLevel: number;
  passes: string[];
  /** Calls of `passes` that passlab does not have yet. */
  missing: string[];
}

/** An operator. */
export interface OpDoc {
  name: string;
  dialects: Language[];
  args: string[];
  attrs: AttrDoc[];
  pattern: string | null;
  hasKernel: boolean;
  doc: string;
}

/** An attribute of an operator. */
export interface AttrDoc {
  name: string;
  type: string;
  default: string | null;
}

/** A key of the configuration. */
export interface ConfigKey {
  key: string;
  type: TypeWord;
  /** Python literal. */
  default: string;
  doc: string;
}

/** The type of a configuration value, in Python's words. */
export type TypeWord =
  /** An integer. */
  | "int"
  /** A truth value. */
  | "bool"
  /** A string. */
  | "str"
  /** A list. */
  | "list"
  /** A dict. */
  | "dict";

/** An instrument. */
export interface InstrumentDoc {
  name: string;
  params: PassParam[];
  doc: string;
}

/** The summary of a run. */
export interface Run {
  dialect: Language;
  /** Problems of the program itself (parse, types). */
  problems: Problem[];
  /** False when the program could not be run at all; `steps` is then empty. */
  ok: boolean;
  steps: Step[];
  /** The number of module versions; version 0 is the parsed program. */
  versions: number;
  /** The calls, answers and output of instruments, and the output of passes, in order. */
  log: LogEntry[];
  /** TVM's `PassTimingInstrument.render()`. */
  timing: string;
  /** Milliseconds spent in the engine. */
  millis: number;
  /** The report on the document's script; absent when it has none. */
  script?: ScriptReport;
  /** The data that the page looks at, made with the run; see `Look`. */
  ahead?: Ahead;
}

/** A finding, with its place in the source, or null where there is none. */
export interface Problem {
  severity: Severity;
  /** Stable word, e.g. `relay-unbound-var`. */
  code: string;
  message: string;
  from: number | null;
  to: number | null;
  line: number | null;
  column: number | null;
  notes: string[];
  /** Edits that put it right, where they are known: each alone is enough. */
  fixes?: Fix[];
}

/** The severity of a finding. The words are TVM's. */
export type Severity =
  /** The program is wrong. */
  | "error"
  /** The program may be wrong. */
  | "warning"
  /** Additional information. */
  | "note"
  /** Advice for a repair. */
  | "help";

/** Edits that correct a text: ranges with their replacements, in order. */
export interface Fix {
  title: string;
  /** From, to, and the text instead. */
  edits: [number, number, string][];
  /**
   * Names whose values only the author knows, with likely ones; the edits have them as `name=value`.
   */
  asks: [string, string][];
}

/** One step of the trace, in execution order; a nested step follows its parent, one deeper. */
export interface Step {
  /** Stable over edits: names and occurrence from the root, e.g. `FuseOps#1/InferType#1`. */
  id: string;
  /** PassInfo.name. */
  name: string;
  depth: number;
  /** Index into `Run.steps` of the step this one ran inside of, or null. */
  parent: number | null;
  /** Row of the pass list that this step belongs to. */
  row: number;
  /**
   * `required` ran because a pass asked for it; `nested` ran inside its parent; `listed` stands in the pass list.
   */
  role: Role;
  outcome: OutcomeWord;
  /** The reason why it was skipped or failed; empty otherwise. */
  reason: string;
  optLevel: number;
  /** Module versions; equal when nothing changed. */
  before: number;
  after: number;
  /** Wall time in microseconds, children included. */
  micros: number;
  /** The number of rewrites that the pass recorded. */
  rewrites: number;
  /** The functions of the module that it changed, made or took away. */
  functions: string[];
  problems: Problem[];
}

/** The reason why a step is in the trace. */
export type Role =
  /** It stands in the list. */
  | "listed"
  /** A `Sequential` ran it because the pass after it requires it. */
  | "required"
  /** The pass it is inside of ran it. */
  | "nested";

/** The outcome of a step, without its reason. */
export type OutcomeWord =
  /** It ran, and the module is another one. */
  | "changed"
  /** It ran, and the module is as before. */
  | "unchanged"
  /** It did not run. */
  | "skipped"
  /** It failed. */
  | "failed"
  /** An earlier step failed. */
  | "not-reached";

/** A line of the log. */
export interface LogEntry {
  /** A call of a hook; a pass refused by an instrument; a failed hook or pass; printed text. */
  kind: LogKind;
  text: string;
  /** Index of the step it belongs to; null for entering and leaving a context. */
  step: number | null;
}

/** The kind of a line of the log. */
export type LogKind =
  /** A hook of an instrument was called: `PrintAfterAll.run_after_pass(FuseOps)`. */
  | "call"
  /** An instrument does not want a pass to run. */
  | "refused"
  /** A hook or a pass failed. */
  | "failed"
  /** The output of an instrument or a pass. */
  | "printed";

/**
 * The definitions, output and problems of a script, while it was loaded and while its passes ran.
 */
export interface ScriptReport {
  passes: UserPass[];
  instruments: UserInstrument[];
  /** Places refer to the script, not to the program. */
  problems: Problem[];
  /** Lines of `console.log` and the like, in order. */
  output: string[];
  /** The modules that the names of a script in Python stand for, in order. */
  modules?: UserModule[];
  /** The passes that such a script ran, in order, with the modules that they made. */
  steps?: DumpFile[];
}

/** A pass that the script made. It stands in the pass list by its name, without arguments. */
export interface UserPass {
  name: string;
  kind: UserPassKind;
  optLevel: number;
  required: string[];
  doc: string;
}

/** The unit that a pass of the script works on. */
export type UserPassKind =
  /** The module. */
  | "module"
  /** Each function. */
  | "function"
  /** Each dataflow block of Relax. */
  | "dataflow-block"
  /** Each function of TIR. */
  | "prim-func"
  /** The module, by running other passes. */
  | "sequential";

/**
 * An instrument that the script made. It is switched on by its name, like those that are built in.
 */
export interface UserInstrument {
  name: string;
  /** The hooks that it has, by TVM's names: `should_run`. */
  hooks: string[];
  doc: string;
}

/** A module of a script. */
export interface UserModule {
  name: string;
  text: string;
}

/** The diff or texts that were looked at when a run began. */
export interface Ahead {
  before: number;
  after: number;
  /** For the view `diff`. */
  diff: Diff | null;
  /** For the view `before`: the text of both versions. */
  texts: [string, string] | null;
}

/** The difference of two versions. */
export interface Diff {
  /** The two texts; empty where the versions are the same. */
  before: string;
  after: string;
  added: number;
  removed: number;
  changed: number;
  moved: number;
  renumbered: number;
  /** One plain sentence each, e.g. "FuseOps: 3 calls became 1 function". */
  summary: string[];
  /**
   * The rows, packed: see `diff.ts`. A typed array, but a list where an answer crosses as text.
   */
  rows: ArrayLike<number>;
}

/** The result of another list: its steps, or its problem. */
export interface Beside {
  problem: string;
  steps: Step[];
}

/** The names in a line of a version's text. */
export interface LineNames {
  /** Each name with its type, from left to right. */
  names: [string, string][];
  /** The type of the line's expression; empty for none. */
  own: string;
}

/** An expression with its origin and its fates. */
export interface History {
  version: number;
  node: number;
  label: string;
  /** Name of the operator that is called. */
  op: string | null;
  ty: string;
  /** Names with their values. */
  attrs: [string, string][];
  /** The place in the source that it comes from. */
  source: SourcePlace | null;
  /** One for every version that has it, and one for the first that no longer does. */
  entries: HistoryEntry[];
  /** The lines that it stands in, in the versions that were asked for. */
  lines: (number | null)[];
}

/** A place in the source, in UTF-16 units, and its line. */
export interface SourcePlace {
  from: number;
  to: number;
  line: number;
}

/** An expression in one version. */
export interface HistoryEntry {
  version: number;
  /** Index of the step that made the version; null for the program that was opened. */
  step: number | null;
  fate: Fate;
  /** The rule that rewrote or made it; empty for none. */
  rule: string;
  /** The node that stands for it here; null when it is gone. */
  node: number | null;
  /** Names that node, in a word or two. */
  label: string;
}

/** The fate of an expression on the way to a version. */
export type Fate =
  /** It stands in the program that was opened. */
  | "source"
  /** Nothing, or it was copied and reads as before. */
  | "kept"
  /** It was copied over other operands, or has another type. */
  | "rebuilt"
  /** Another node replaces it. */
  | "rewritten"
  /** It was made here; before, at most its origin existed. */
  | "made"
  /** It is gone. */
  | "removed";

/** The dataflow graph after a step, with the nodes that the step removed. */
export interface Graph {
  nodes: GraphNode[];
  /** Pairs of nodes, from operand to user, one after the other. */
  edges: number[];
  /** One stands behind the box that it is in. */
  groups: GraphGroup[];
}

/** A node of the graph of a step. */
export interface GraphNode {
  /** The expression, and the version that it belongs to: the later one unless it is gone. */
  node: number;
  version: number;
  label: string;
  /** Inputs that are no nodes: constants, and parameters that are used once. */
  leaves: string;
  ty: string;
  /** The innermost box that it stands in. */
  group: number;
  /** True if it is the result of its function. */
  result: boolean;
  fate: NodeFate;
  /**
   * Column (halves occur) and row. The same expression has the same place in every version of a run.
   */
  x: number;
  y: number;
}

/** The effect of a step on a node. */
export type NodeFate =
  /** Nothing. */
  | "same"
  /** It is a replacement of another node. */
  | "rewritten"
  /** It is new. */
  | "made"
  /** It is gone. */
  | "removed";

/** A function of the module, or one inside of it, with the box that it is in. */
export interface GraphGroup {
  parent: number | null;
  title: string;
  made: boolean;
}

/**
 * One rewrite of a step: the node and its replacement, in a word or two; the same when it was removed.
 */
export interface Rewrite {
  rule: string;
  pre: string;
  post: string;
}

/** The effect of a pass that was tried on a version. */
export type PreviewWord =
  /** It changes the version. */
  | "changed"
  /** It does not. */
  | "unchanged"
  /** It fails. */
  | "failed";

/** An evaluation. */
export interface Values {
  /** The reason why there is no result; empty when there is one. */
  problem: string;
  args: ValuePart[];
  result: ValuePart[];
  /** The first value of the expression that was asked about, and the number of its evaluations. */
  seen: ValuePart[];
  times: number;
}

/** A part of a value that is no tuple. */
export interface ValuePart {
  /** Its path: `x`, `result.1`. */
  name: string;
  /** As text, abbreviated. */
  text: string;
  /** Empty if it is no tensor, like the following fields. */
  dtype: string;
  shape: number[];
  /** The first of its elements, in row-major order. */
  data: number[];
}

/** The loops of a tensor program. */
export interface Nest {
  functions: string[];
  func: string;
  text: string;
  nodes: NestNode[];
  /** There are more nodes than are told. */
  cut: boolean;
  instructions: Instruction[];
  /** The number of instructions that were applied. */
  done: number;
  /** The reason why the next one was not, or why there is nothing to see; else empty. */
  problem: string;
  /** The reason why each of the tries is refused; empty for one that is not. */
  refused: string[];
  /** From this number on no name in the trace ends with it. */
  fresh: number;
}

/** A loop, a block or a statement in them. */
export interface NestNode {
  /** The node around it; null for nothing. */
  parent: number | null;
  /**
   * TVM's word for the kind of a loop; or `while`, `block`, `if`, `init`, `store`, `call`, `alloc`.
   */
  kind: string;
  name: string;
  /** Iterations of a loop, lanes of a store. */
  extent: number | null;
  /**
   * The thread of a loop, the condition of a branch, the scope of memory, the text of a statement.
   */
  note: string;
  annotations: string;
  /** The variables of a block, each with `S`, `R`, `scan` or `opaque`. */
  iters: [string, string][];
  reads: string;
  writes: string;
  /** First and last line of the text, from 1. */
  lines: [number, number];
  /** The key of the node, the same in every version that has it. */
  key: string;
  /** Its name in the trace; empty where it has none. */
  handle: string;
  /** Instructions that give it one, and that name; null where it cannot be reached. */
  reach: [string, string] | null;
}

/** An instruction in the text of a trace. */
export interface Instruction {
  from: number;
  to: number;
  name: string;
  /** It may change the program, and is a step then. */
  changes: boolean;
}

/**
 * The counted work of a tensor program, and the comparison of its results with those of another version.
 */
export interface Measure {
  /** The reason why it could not be run; empty when it could. */
  problem: string;
  /** The first difference of the results; empty when they are equal. */
  difference: string;
  /** Iterations that may run at the same time, and lanes of the widest vector. */
  parallel: number;
  vector: number;
  cost: Cost | null;
}

/** The counted work. */
export interface Cost {
  arithmetic: number;
  indexArithmetic: number;
  /** Operations for each byte that is fetched into the cache. */
  intensity: number | null;
  buffers: BufferCost[];
}

/** The accesses to a buffer. */
export interface BufferCost {
  name: string;
  scope: string;
  loads: number;
  stores: number;
  bytes: number;
  /** Distinct lines of the cache, and how often one had to be fetched. */
  lines: number;
  misses: number;
}

/** A step that was checked by running it. */
export interface Checked {
  outcome: VerdictWord;
  /** The same in a sentence, with the reason or the difference. */
  text: string;
  /**
   * The smallest inputs found that show a difference, names with their values; empty without one.
   */
  inputs: [string, string][];
  /** The first difference of the results, and the operator that gives the value there. */
  place: string;
  from: string;
  /** The number of runs of functions. */
  runs: number;
}

/** The result of checking a step, without its reason. */
export type VerdictWord =
  /** The changed functions have equal results. */
  | "equal"
  /** They have equal results but for rounding. */
  | "within tolerance"
  /** They have different results. */
  | "different"
  /** They were not run. */
  | "not run";

/** The place where a property was lost. */
export interface Blame {
  /** The fault of the property. */
  problem: string;
  /** Null if the property holds after every step. */
  culprit: Culprit | null;
}

/** The step after which a property is lost. */
export interface Culprit {
  /** The id of the step; empty if the program has it not before any pass. */
  id: string;
  name: string;
  row: number;
  why: string;
  /** The first rewrite, from 1, after which it is lost; null where it is none of the rewrites. */
  rewrite: number | null;
  rule: string;
  rewrites: number;
}

/** The progress of a reduction. */
export interface Reduced {
  problem: string;
  done: boolean;
  bindings: number;
  tried: number;
  culprit: Culprit | null;
  /** The smallest document so far. */
  document: SharedDocument | null;
}

/** A document of which something is looked at. */
export type SharedDocument = RunDocument & { view: ViewState };

/** A version beside another program. */
export interface Comparison {
  /** The problems of that program; empty when it could be read. */
  problems: Problem[];
  /** The first difference by TVM's structural equality; empty when they are equal. */
  difference: string;
  /** True if `@main` gives the same for a few inputs; null if one of them cannot be evaluated. */
  sameValues: boolean | null;
}

/** A document that was read, or why it was not. */
export interface DecodeResult {
  /** Null when nothing could be recovered. */
  document: SharedDocument | null;
  /**
   * Named error, empty when the link is whole: `link-version`, `link-damaged`, `link-truncated`, `link-too-large`.
   */
  error: string;
  message: string;
}

/** The kind of a text that a user brings. */
export interface Recognised {
  dialect: Language;
  /**
   * The program without the text around it, and the kind of that text; null when it stands alone.
   */
  inner: [string, string] | null;
}

/**
 * The long texts about a pass. The page loads them from a file of their own, `www/pkg/docs.json`.
 */
export interface Explanation {
  doc: string;
  exampleBefore: string;
  exampleAfter: string;
}

/** A line of a diff, as `rowsOf` in `diff.ts` reads them. */
export interface DiffRow {
  kind: DiffKind;
  /** Line numbers, from 1; null where the side has no such line. */
  left: number | null;
  right: number | null;
  leftText: string;
  rightText: string;
  /** For `changed`: ranges (UTF-16, pairs from/to) of the words that differ. */
  leftWords: number[];
  rightWords: number[];
}

/**
 * The kind of a line's change. The numbers of the kinds, from 0, are part of the page's protocol.
 */
export type DiffKind =
  /** The line stayed the same. */
  | "same"
  /** It is new. */
  | "added"
  /** It is gone. */
  | "removed"
  /** Its text has changed. */
  | "changed"
  /** It has moved, and its text is equal but for numbers and indentation. */
  | "moved"
  /** Only temporaries, variables or constants in it have other numbers. */
  | "renumbered";

/** The kinds of lines by the number that the engine gives them. */
export const DIFF_KINDS: readonly DiffKind[] = [
  "same",
  "added",
  "removed",
  "changed",
  "moved",
  "renumbered",
];

/** The requests of the page. `id` comes back in the answer. */
export type Request =
  | { id: number; type: "catalogue" }
  /** `look` is for the worker. */
  | { id: number; type: "run"; document: RunDocument; look?: Look }
  /**
   * Another list of passes on the program of the last run. Its versions are numbered after those of the run.
   */
  | { id: number; type: "beside"; document: RunDocument }
  | { id: number; type: "text"; version: number; stable: boolean }
  | { id: number; type: "diff"; before: number; after: number }
  /** `line`: from 1, in the text with stable names. */
  | { id: number; type: "names"; version: number; line: number }
  /** `shown`: versions in which its line is wanted. */
  | { id: number; type: "history"; version: number; place: Place; shown: number[] }
  | { id: number; type: "graph"; before: number; after: number }
  /** The rewrites of a step, by its index. */
  | { id: number; type: "rewrites"; step: number }
  /**
   * Asks for the program after `fuel` of the step's rewrites. Null where it cannot be said: passes of a script are not run again.
   */
  | { id: number; type: "partial"; step: number; fuel: number }
  /** Asks for the effect of a pass on a version. */
  | { id: number; type: "preview"; version: number; call: string }
  /** Asks for the numbers of calls of each operator: before, after. */
  | { id: number; type: "operators"; before: number; after: number }
  | ({ id: number; type: "eval" } & Question)
  | ({ id: number; type: "nest" } & NestQuestion)
  | ({ id: number; type: "measure" } & MeasureQuestion)
  /** Runs the program before and after a step of the last run. */
  | { id: number; type: "check"; step: number }
  /** Asks for the first step, and its rewrite, after which a property is lost. */
  | { id: number; type: "bisect"; property: string }
  /**
   * Makes the program small: begins if a property is named, else tries so many candidates more.
   */
  | { id: number; type: "reduce"; property: string; tries: number }
  | { id: number; type: "dump" }
  /** Asks for a hash of everything that the last run gave. */
  | { id: number; type: "hash" }
  | { id: number; type: "compare"; version: number; source: string }
  /** Asks for the reproducer file of a document. */
  | { id: number; type: "write"; document: RunDocument }
  /** Asks for the document of a reproducer file, or of a plain program. */
  | { id: number; type: "read"; text: string }
  /** Asks for the kind of a text from elsewhere. */
  | { id: number; type: "recognise"; text: string }
  | { id: number; type: "encode"; document: RunDocument }
  | { id: number; type: "decode"; link: string };

/** The answer to each request. */
export interface Answers {
  catalogue: Catalogue;
  run: Run;
  beside: Beside;
  text: string;
  diff: Diff;
  names: LineNames;
  history: History | null;
  graph: Graph;
  rewrites: Rewrite[];
  partial: Diff | null;
  preview: PreviewWord;
  operators: [string, number, number][];
  eval: Values;
  nest: Nest;
  measure: Measure;
  check: Checked;
  bisect: Blame;
  reduce: Reduced;
  dump: DumpFile[];
  hash: string;
  compare: Comparison;
  write: string;
  read: DecodeResult;
  recognise: Recognised;
  encode: string;
  decode: DecodeResult;
}

/** The answers of the engine. `failed` is the engine itself failing (a bug), never a bad program. */
export type Response =
  | { [K in keyof Answers]: { id: number; type: K; value: Answers[K] } }[keyof Answers]
  | { id: number; type: "failed"; message: string };
