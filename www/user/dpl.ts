/**
 * The dataflow pattern language (TVM's `relax.dpl`). A pattern is made here and matched by the engine, which gets it as
 * numbers: for each pattern its kind and its parts, parts first.
 */

import { attrsIdOf } from "./attrs";
import { DPL, PATTERN } from "./calls";
import { cross, nameId } from "./engine";
import { IRModule, needModule } from "./module";
import { type Expr, type Func, needExpr, nodeAt, Op, type Var } from "./nodes";
import { type DataflowBlock, needBlock } from "./relax";
import { Scope } from "./scope";
import { asType, type Dim, dimWords, shown, type Type } from "./types";

type Item = number | DFPattern;
type Options = { vargDefaultWildcard?: boolean; addConstraint?: boolean };
type Matched = Map<DFPattern, Expr>;

function pattern(kind: keyof typeof PATTERN, ...items: Item[]): DFPattern {
  const made: DFPattern = ((...args: (DFPattern | Options)[]) => {
    const options = (typeof args.at(-1) === "object" ? args.pop() : {}) as Options;
    const call = pattern("call", made, options.vargDefaultWildcard ? 1 : 0, ...parts(args));
    if (options.addConstraint !== false)
      for (const [at, arg] of (args as DFPattern[]).entries()) arg.usedBy(call, at);
    return call;
  }) as never;
  Object.setPrototypeOf(made, PatternBase.prototype);
  Object.assign(made, { kind: PATTERN[kind], items });
  return made;
}

function part(value: unknown): DFPattern {
  if (value instanceof PatternBase) return value as DFPattern;
  throw new TypeError(`a pattern is needed here, not ${shown(value)}`);
}
const parts = (list: readonly unknown[]): DFPattern[] => list.map(part);

/** Patterns in a row, each with whether the next one is the only one to use it. */
class PatternSeq {
  constructor(
    readonly patterns: readonly DFPattern[],
    /** For each but the first, the index of the operand that is the one before. */
    private readonly indices: readonly number[] = patterns.slice(1).map(() => -1),
  ) {}
  usedBy(other: DFPattern | PatternSeq, index = -1, only = false): PatternSeq {
    const next = other instanceof PatternSeq ? other : new PatternSeq([part(other)]);
    const [a, b] = [this.patterns.at(-1) as DFPattern, next.patterns[0] as DFPattern];
    PatternContext.current()?.edges.push([a, b, index + 1, only ? 1 : 0]);
    return new PatternSeq(
      [...this.patterns, ...next.patterns],
      [...this.indices, index, ...next.indices],
    );
  }
  onlyUsedBy(other: DFPattern | PatternSeq, index = -1): PatternSeq {
    return this.usedBy(other, index, true);
  }
  /** Returns other patterns that look the same; each is used by the next only, as in TVM. */
  dup(): PatternSeq {
    const [first, ...others] = this.patterns.map((one) => one.dup());
    return others.reduce(
      (seq, one, at) => seq.onlyUsedBy(one, this.indices[at]),
      new PatternSeq([first as DFPattern]),
    );
  }
}

class PatternBase {
  declare readonly kind: number;
  declare readonly items: readonly Item[];
  or(this: DFPattern, other: DFPattern): DFPattern {
    return pattern("or", this, part(other));
  }
  and(this: DFPattern, other: DFPattern): DFPattern {
    return pattern("and", this, part(other));
  }
  not(this: DFPattern): DFPattern {
    return pattern("not", this);
  }
  hasAttr(this: DFPattern, attrs: Record<string, unknown>): DFPattern {
    return pattern("attr", this, attrsIdOf(attrs, null));
  }
  hasTy(this: DFPattern, type: Type | string): DFPattern {
    return pattern("type", this, asType(type).id);
  }
  hasDtype(this: DFPattern, dtype: string): DFPattern {
    return pattern("dtype", this, nameId(dtype));
  }
  hasShape(this: DFPattern, shape: readonly Dim[]): DFPattern {
    return pattern("shape", this, ...shape.flatMap(dimWords));
  }
  usedBy(this: DFPattern, other: DFPattern | PatternSeq, index = -1): PatternSeq {
    return new PatternSeq([this]).usedBy(other, index);
  }
  onlyUsedBy(this: DFPattern, other: DFPattern | PatternSeq, index = -1): PatternSeq {
    return new PatternSeq([this]).usedBy(other, index, true);
  }
  forkTo(this: DFPattern, ...users: DFPattern[]): void {
    for (const user of users) this.usedBy(user);
  }
  sameShapeAs(this: DFPattern, ...others: DFPattern[]): void {
    PatternContext.current()?.shapes.push([this, ...parts(others)]);
  }
  /** Makes another pattern that looks the same and may stand for something else. */
  dup(): DFPattern {
    const copy = pattern("wildcard", ...this.items);
    return Object.assign(copy, { kind: this.kind });
  }
  match(this: DFPattern, expr: Expr, values?: Map<Var, Expr> | null): boolean {
    return this.extractMatchedExpr(expr, values) !== null;
  }
  /** Returns the expression that matches each part of the pattern; null if the pattern does not match. */
  extractMatchedExpr(this: DFPattern, expr: Expr, values?: Map<Var, Expr> | null): Matched | null {
    const sent = new Sent([this]);
    const bound = [...(values ?? [])].flat().map((one) => needExpr(one).id);
    const found = sent.do("match", [sent.at(this), needExpr(expr).id, ...bound]);
    return found.length > 0 ? sent.matched(found.subarray(1)) : null;
  }
}

export interface DFPattern extends PatternBase {
  (...args: (DFPattern | Options)[]): DFPattern;
}

/** Patterns with all that they are made of, as the engine gets them. */
class Sent {
  readonly list: DFPattern[] = [];
  private readonly places = new Map<DFPattern, number>();
  private readonly words: number[] = [];
  constructor(roots: readonly unknown[]) {
    const stack = parts(roots).reverse();
    for (let next = stack.at(-1); next; next = stack.at(-1)) {
      const missing = next.items.filter((one) => typeof one !== "number" && !this.places.has(one));
      stack.push(...(missing as DFPattern[]));
      if (missing.length > 0) continue;
      stack.pop();
      if (this.places.has(next)) continue;
      this.places.set(next, this.list.push(next) - 1);
      const items = next.items.map((one) => (typeof one === "number" ? one : this.at(one)));
      this.words.push(next.kind, items.length, ...items);
    }
  }
  at(one: DFPattern): number {
    return this.places.get(one) as number;
  }
  do(
    what: keyof typeof DPL,
    words: readonly number[],
    ask?: (words: Uint32Array, index: number) => unknown,
  ) {
    const all = Uint32Array.from([this.list.length, ...this.words, ...words]);
    return cross().user_dpl(DPL[what], all, ask);
  }
  /** Reads pairs of a pattern and an expression. */
  matched(words: Uint32Array, step = 2): Matched {
    const found: Matched = new Map();
    for (let at = 0; at < words.length; at += step)
      found.set(this.list[words[at] as number] as DFPattern, nodeAt(words[at + 1] as number));
    return found;
  }
  context(context: PatternContext): number[] {
    const { edges, shapes } = context;
    const edgeWords = edges.flatMap(([a, b, ...how]) => [this.at(a), this.at(b), ...how]);
    const shapeWords = shapes.flatMap((list) => [list.length, ...list.map((one) => this.at(one))]);
    return [edges.length, ...edgeWords, shapes.length, ...shapeWords];
  }
}

/** Patterns that use one another: `new PatternContext().run((ctx) => ...)`, Python's `with`, notes who uses whom. */
class PatternContext extends Scope {
  private static stack: PatternContext[] = [];
  readonly edges: [producer: DFPattern, consumer: DFPattern, index: number, only: number][] = [];
  readonly shapes: DFPattern[][] = [];
  constructor(incremental = false) {
    super();
    if (incremental) this.edges.push(...(PatternContext.current()?.edges ?? []));
  }
  static current(): PatternContext | undefined {
    return PatternContext.stack.at(-1);
  }
  enter(): this {
    PatternContext.stack.push(this);
    return this;
  }
  exit(): void {
    PatternContext.stack.pop();
  }
  get sent(): Sent {
    return new Sent([...this.edges.flatMap((edge) => edge.slice(0, 2)), ...this.shapes.flat()]);
  }
  /** Returns the variable of the block that each pattern stands for; null when they are not found. */
  matchDfb(block: DataflowBlock): Map<DFPattern, Var> | null {
    const { sent } = this;
    const found = sent.do("matchBlock", [...sent.context(this), needBlock(block).id]);
    return found.length > 0 ? (sent.matched(found) as Map<DFPattern, Var>) : null;
  }
}

const moduleWords = (module?: IRModule) => (module ? needModule(module) : new IRModule()).toWords();

/** Replaces matches of a pattern by the results of `rewriter`: TVM's `rewrite_call`. */
function rewriteCall(
  root: DFPattern,
  rewriter: (expr: Expr, matched: Matched) => Expr,
  func: Func,
  module?: IRModule,
): Func {
  const sent = new Sent([root]);
  const words = [0, 0, sent.at(root), needExpr(func).id, ...moduleWords(module)];
  const [id] = sent.do("rewriteCall", words, (found) => {
    const orig = nodeAt(found[0] as number);
    return Uint32Array.of(needExpr(rewriter(orig, sent.matched(found.subarray(1)))).id);
  });
  return nodeAt(id as number) as Func;
}

/** Replaces variables that the patterns of a context stand for: TVM's `rewrite_bindings`. */
function rewriteBindings(
  context: PatternContext,
  rewriter: (matched: Map<DFPattern, Var>, bindings: Map<Var, Expr>) => Map<Var, Expr>,
  func: Func,
  module?: IRModule,
): Func {
  const { sent } = context;
  const words = [...sent.context(context), 0, needExpr(func).id, ...moduleWords(module)];
  const [id] = sent.do("rewriteBindings", words, (found) => {
    const end = 1 + (found[0] as number);
    const nodes = Array.from(found.subarray(end), (one) => nodeAt(one));
    const bindings = new Map<Var, Expr>();
    for (let at = 0; at < nodes.length; at += 2)
      bindings.set(nodes[at] as Var, nodes[at + 1] as Expr);
    const made = rewriter(sent.matched(found.subarray(1, end)) as Map<DFPattern, Var>, bindings);
    return Uint32Array.from([...(made ?? [])].flat(), (one) => needExpr(one).id);
  });
  return nodeAt(id as number) as Func;
}

export interface FusionCheck {
  matchedExpr: Expr;
  annotatedExpr: Record<string, Expr>;
  matchedBindings: Map<Var, Expr>;
}

/** Runs `transform.FuseOpsByPattern` for patterns: `[name, pattern, annotations?, check?]`, as TVM's FusionPattern. */
export function fuseOpsByPattern(args: Record<string, unknown>, module: IRModule): IRModule {
  const list = args.patterns as [string, DFPattern, ...unknown[]][];
  const sent = new Sent(list.map((one) => one[1]));
  const checks = list.map((one) => one.find((it, at) => at > 1 && typeof it === "function"));
  const entries = (args.entry_functions ?? []) as string[];
  const flag = (value: unknown) => (value ? 1 : 0);
  const words = [
    flag(args.bind_constants ?? true),
    flag(args.annotate_codegen),
    entries.length,
    ...entries.map(nameId),
    list.length,
    ...list.flatMap(([name, root], at) => [nameId(name), sent.at(root), flag(checks[at])]),
    ...module.toWords(),
  ];
  const fused = sent.do("fuse", words, (found, at) => {
    const matched = sent.matched(found.subarray(1), 3);
    const matchedBindings = new Map<Var, Expr>();
    for (let next = 1; next < found.length; next += 3) {
      const [expr, bound] = found.subarray(next + 1) as unknown as [number, number];
      if (bound) matchedBindings.set(nodeAt(bound - 1) as Var, nodeAt(expr));
    }
    const named = Object.entries((list[at]?.[2] ?? {}) as Record<string, DFPattern>);
    const annotated = named.filter(([, one]) => matched.has(one));
    const annotatedExpr = Object.fromEntries(
      annotated.map(([name, one]) => [name, matched.get(one)]),
    );
    const check = checks[at] as unknown as (context: FusionCheck) => boolean;
    const matchedExpr = nodeAt(found[0] as number);
    return check({ matchedExpr, annotatedExpr, matchedBindings } as FusionCheck);
  });
  return IRModule.fromWords(fused);
}

const wildcard = () => pattern("wildcard");
const isExpr = (expr: Expr) => pattern("expr", needExpr(expr).id);
const isOp = (name: string) => isExpr(new Op(name.replace(/^(relax\.)?/, "relax.")));
const isTuple = (fields: readonly DFPattern[], unordered = false) =>
  pattern(unordered ? "unordered" : "tuple", ...parts(fields));
const isGv = (name = "") => pattern("gv", nameId(name));
const isExtern = (name = "") => pattern("extern", nameId(name));

type Args = readonly DFPattern[] | DFPattern | null;
/** Makes a call of an operator whose second argument is a tuple. */
function destination(op: string, callee: DFPattern, args?: Args): DFPattern {
  const tuple = args instanceof PatternBase ? args : args ? isTuple(args) : wildcard();
  return isOp(op)(callee, tuple as DFPattern, { addConstraint: false });
}

/** Everything of it, by TVM's names in this language's spelling. */
export const dpl: Record<string, unknown> = {
  wildcard,
  isExpr,
  isOp,
  isTuple,
  isGv,
  isConst: () => pattern("const"),
  isVar: (name = "") => pattern("var", nameId(name)),
  isDfv: (name = "") => pattern("dfv", nameId(name)),
  isShape: (shape: readonly Dim[]) => pattern("extents", ...shape.flatMap(dimWords)),
  isTupleGetItem: (tuple: DFPattern, index?: number | null) =>
    pattern("item", part(tuple), (index ?? -1) + 1),
  isCallTIR: (name: string, args?: Args) => destination("call_tir", isGv(name), args),
  isCallDPSPacked: (name: string, args?: Args) =>
    destination("call_dps_packed", isExtern(name), args),
  isCallPacked: (name: string, args?: readonly DFPattern[]) =>
    isExtern(name)(...(args ?? [{ vargDefaultWildcard: true }])),
  reject: (one: DFPattern) => part(one).not(),
  hasDtype: (dtype: string, one = wildcard()) => one.hasDtype(dtype),
  hasAttr: (attrs: Record<string, unknown>, one = wildcard()) => one.hasAttr(attrs),
  FunctionPattern: (params: readonly DFPattern[] | null, body: DFPattern) =>
    pattern("function", part(body), params ? 0 : 1, ...parts(params ?? [])),
  DFPattern: PatternBase,
  PatternContext,
  rewriteCall,
  rewriteBindings,
};
