/** Matches on values of type definitions: the patterns and results of arms. */
import { CLAUSE, KIND } from "./calls";
import { cross, here, type Space, space } from "./engine";
import {
  build,
  CLASSES,
  type Constructor,
  Expr,
  needExpr,
  needVar,
  nodeAt,
  type Var,
} from "./nodes";
import { Raw, shown } from "./types";

/** The pattern of an arm of a match. */
export class Pattern {
  readonly space: Space = space();
  constructor(
    readonly id: number,
    readonly words: Uint32Array,
  ) {}
  get kind(): "wildcard" | "var" | "constructor" | "tuple" {
    return (["wildcard", "var", "constructor", "tuple"] as const)[this.words[0] as 0 | 1 | 2 | 3];
  }
  /** Returns the variable of a `var` pattern. */
  get var(): Var | null {
    return this.words[0] === 1 ? (nodeAt(this.words[1] as number, this.space) as Var) : null;
  }
  get constructorNode(): Constructor | null {
    return this.words[0] === 2
      ? (nodeAt(this.words[1] as number, this.space) as Constructor)
      : null;
  }
  get fields(): readonly Pattern[] {
    here(this.space);
    const from = this.words[0] === 2 ? 2 : this.words[0] === 3 ? 1 : this.words.length;
    return Array.from(this.words.subarray(from), patternAt);
  }
}

function madePattern(words: number[]): Pattern {
  const array = Uint32Array.from(words);
  return new Pattern(cross().user_make_pattern(array), array);
}

function needPattern(value: unknown): Pattern {
  if (!(value instanceof Pattern)) throw new TypeError(`a pattern is needed, not ${shown(value)}`);
  here(value.space);
  return value;
}

export const PatternWildcard = (): Pattern => madePattern([CLAUSE.wildcard]);
export const PatternVar = (variable: Var): Pattern =>
  madePattern([CLAUSE.var, needVar(variable).id]);
export const PatternConstructor = (ctor: Constructor, fields: readonly Pattern[] = []): Pattern =>
  madePattern([CLAUSE.ctor, needExpr(ctor).id, ...fields.map((field) => needPattern(field).id)]);
export const PatternTuple = (fields: readonly Pattern[]): Pattern =>
  madePattern([CLAUSE.tuple, ...fields.map((field) => needPattern(field).id)]);

export function patternAt(id: number): Pattern {
  const patterns = space().patterns;
  let known = patterns.get(id) as Pattern | undefined;
  if (!known) {
    known = new Pattern(id, cross().user_pattern(id));
    patterns.set(id, known);
  }
  return known;
}

/** One arm of a match. */
export class Clause {
  constructor(
    readonly lhs: Pattern,
    readonly rhs: Expr,
  ) {}
}

export class Match extends Expr {
  constructor(data: Expr | Raw, clauses: readonly Clause[] = [], complete = true) {
    if (data instanceof Raw) super(data);
    else {
      const arms = clauses.flatMap(({ lhs, rhs }) => [needPattern(lhs).id, needExpr(rhs).id]);
      super(build(KIND.Match, [needExpr(data).id, complete ? 1 : 0, ...arms]));
    }
  }
  get data(): Expr {
    return this.node(2);
  }
  get complete(): boolean {
    return this.words[3] !== 0;
  }
  get clauses(): readonly Clause[] {
    here(this.space);
    const clauses: Clause[] = [];
    for (let at = 4; at < this.words.length; at += 2) {
      const [pattern, body] = this.words.subarray(at, at + 2) as unknown as [number, number];
      clauses.push(new Clause(patternAt(pattern), nodeAt(body, this.space)));
    }
    return Object.freeze(clauses);
  }
}

CLASSES[KIND.Match] = Match as never;
