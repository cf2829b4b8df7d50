/** Rewrite rules written as text: `rule("add(%x, 0f) => %x")`. */
import { attrsAt, attrsIdOf } from "./attrs";
import { namesIn, parseExpr, structuralEqual } from "./build";
import { space } from "./engine";
import { Match } from "./match";
import { MixedModeMutator } from "./mixed-mode";
import {
  Call,
  Constant,
  type Expr,
  Func,
  If,
  Let,
  needExpr,
  Op,
  Tuple,
  TupleGetItem,
  Var,
} from "./nodes";
import type { PassObject, PassOptions } from "./pass";
import { functionPass } from "./passes";

/** The expressions bound to a rule's variables, by name without `%`. */
export type Bindings = Record<string, Expr>;

export interface Rule {
  readonly text: string;
  /** Returns the sides as nodes of the memory that is current. */
  readonly sides: () => Sides;
}

interface Sides {
  readonly lhs: Expr;
  /** The other side, or a function that makes it; null when the rule does not apply after all. */
  readonly rhs: Expr | ((found: Bindings) => Expr | null);
  readonly vars: ReadonlySet<Expr>;
}

/**
 * `rule("lhs => rhs")`, or `rule("lhs", ({ x }) => ...)`. Both sides are expressions as a program writes them; a `%x` that
 * is not bound in it stands for any expression, the same one wherever it is repeated. Constants are compared by value.
 * Attributes are compared where the pattern gives them another value than their default.
 */
export function rule(text: string, make?: (found: Bindings) => Expr | null): Rule {
  const at = text.lastIndexOf("=>");
  const [left, right] = make ? [text, null] : [text.slice(0, at), text.slice(at + 2)];
  if (!make && at < 0) throw new TypeError(`a rule has two sides, as in "add(%x, 0f) => %x"`);
  const unknown =
    right === null ? [] : namesIn(right).filter((name) => !namesIn(left).includes(name));
  if (unknown.length > 0)
    throw new TypeError(`${unknown.join(", ")} is not on the left side of the rule`);
  const read = () => sidesOf(left, right, make);
  let known = { space: space(), sides: read() };
  const sides = () => {
    if (known.space !== space()) known = { space: space(), sides: read() };
    return known.sides;
  };
  return { text, sides };
}

function sidesOf(
  left: string | undefined,
  right: string | null | undefined,
  make?: (found: Bindings) => Expr | null,
): Sides {
  // Read as one expression, so that both sides mean the same variables.
  const both = parseExpr(right === null ? `(${left},)` : `(${left}, ${right})`) as Tuple;
  const [lhs, rhs] = both.fields as [Expr, Expr];
  const vars = new Set<Expr>();
  const stack: Expr[] = rhs ? [lhs, rhs] : [lhs];
  for (let next = stack.pop(); next; next = stack.pop()) {
    if (next instanceof Let || next instanceof Match || next instanceof Func)
      throw new TypeError("a rule is made of calls, tuples, projections, if and constants");
    if (next instanceof Var) vars.add(next);
    stack.push(...partsOf(next));
  }
  return { lhs, rhs: make ?? rhs, vars };
}

function partsOf(expr: Expr): readonly Expr[] {
  if (expr instanceof Call) return [expr.op, ...expr.args];
  if (expr instanceof Tuple) return expr.fields;
  if (expr instanceof TupleGetItem) return [expr.tuple];
  if (expr instanceof If) return [expr.cond, expr.trueBranch, expr.falseBranch];
  return [];
}

/** True if the attributes fit the pattern's: equal wherever the pattern differs from the default. */
function attrsFit(pattern: Call, found: Call): boolean {
  const wanted = pattern.attrs;
  if (!wanted) return true;
  const given = found.attrs;
  if (!given) return false;
  let defaults: Record<string, unknown> = {};
  try {
    const id = pattern.op instanceof Op ? attrsIdOf({}, pattern.op) : 0;
    if (id !== 0) defaults = attrsAt(id - 1);
  } catch {
    // An operator with attributes that must be written: then all of them count.
  }
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return Object.entries(wanted).every(
    ([name, value]) =>
      same(value, given[name]) || (name in defaults && same(value, defaults[name])),
  );
}

/** Returns the bindings of a rule's variables if its left side matches `expr`; else null. */
export function match(rule: Rule, expr: Expr): Bindings | null {
  const { lhs, vars } = rule.sides();
  const found = new Map<Expr, Expr>();
  const stack: [Expr, Expr][] = [[lhs, expr]];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [pattern, node] = next;
    if (vars.has(pattern)) {
      const before = found.get(pattern);
      if (before && !structuralEqual(before, node)) return null;
      found.set(pattern, node);
      continue;
    }
    if (pattern === node) continue;
    if (pattern.kind !== node.kind) return null;
    if (pattern instanceof Constant) {
      if (!structuralEqual(pattern, node)) return null;
      continue;
    }
    if (pattern instanceof TupleGetItem && pattern.index !== (node as TupleGetItem).index)
      return null;
    if (pattern instanceof Call && !attrsFit(pattern, node as Call)) return null;
    const [mine, theirs] = [partsOf(pattern), partsOf(node)];
    if (mine.length === 0 || mine.length !== theirs.length) return null;
    for (let at = mine.length - 1; at >= 0; at--)
      stack.push([mine[at] as Expr, theirs[at] as Expr]);
  }
  const named: Bindings = Object.create(null);
  for (const [variable, node] of found) named[(variable as Var).nameHint] = node;
  return named;
}

/** Returns the right side of a rule for a match. */
function apply(rule: Rule, found: Bindings): Expr | null {
  const { rhs, vars } = rule.sides();
  if (typeof rhs === "function") {
    const made = rhs(found);
    return made === null || made === undefined ? null : needExpr(made);
  }
  // Makes new nodes, not copies of those of the rule: their origin is the match. Rules are as shallow as a text.
  const copy = (expr: Expr): Expr => {
    if (vars.has(expr)) return found[(expr as Var).nameHint] as Expr;
    if (expr instanceof Call) return new Call(expr.op, expr.args.map(copy), expr.attrs);
    if (expr instanceof Tuple) return new Tuple(expr.fields.map(copy));
    if (expr instanceof TupleGetItem) return new TupleGetItem(copy(expr.tuple), expr.index);
    if (expr instanceof If)
      return new If(copy(expr.cond), copy(expr.trueBranch), copy(expr.falseBranch));
    return expr;
  };
  return copy(rhs);
}

/** The limits of rule applications and of rounds over a program: a rule may undo another for ever. */
export const FUEL = 10_000;
const MAX_ROUNDS = 100;

/**
 * Applies rules wherever they fit, parts before wholes, the first that fits first, again and again until none fits any
 * more, `fuel` rewrites were made, or the program was gone over a hundred times.
 */
export function rewrite(expr: Expr, rules: readonly Rule[], fuel = FUEL): Expr {
  let left = fuel;
  class Rewriter extends MixedModeMutator {
    apply(post: Expr): Expr {
      for (const one of rules) {
        const found = left > 0 && match(one, post);
        const made = found && apply(one, found);
        if (made && made !== post) {
          left--;
          return made;
        }
      }
      return post;
    }
    override rewriteCall(_: Call, post: Expr): Expr {
      return this.apply(post);
    }
    override rewriteTuple(_: Tuple, post: Expr): Expr {
      return this.apply(post);
    }
    override rewriteTupleGetItem(_: TupleGetItem, post: Expr): Expr {
      return this.apply(post);
    }
    override visitIf(pre: If): Expr {
      return this.apply(super.visitIf(pre));
    }
  }
  let before = expr;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const after = new Rewriter().visit(before);
    if (after === before || left === 0) return after;
    before = after;
  }
  return before;
}

/** Makes a function pass that applies rules. */
export function rulePass(
  options: PassOptions & { fuel?: number },
  rules: readonly Rule[],
): PassObject {
  const { fuel, ...rest } = options;
  return functionPass(rest, (func: Func) => rewrite(func, rules, fuel));
}
