/** TVM's arithmetic: what is known of scalars (`src/wasm/user/table/arith.rs`). */
import { cross } from "./engine";
import { asPrim, primAt, type Scalar, type TirExpr, Var } from "./tir";
import { Range } from "./tir-region";
import { NONE } from "./tir-table";
import { shown } from "./types";

const POS_INF = (1n << 63n) - 1n;

/** Reads a whole number of 64 bits; what is beyond all numbers is `Infinity`. */
function long(words: Uint32Array, at: number): number {
  const value = BigInt.asIntN(
    64,
    BigInt(words[at] as number) | (BigInt(words[at + 1] as number) << 32n),
  );
  if (value >= POS_INF) return Infinity;
  return value <= -POS_INF ? -Infinity : Number(value);
}

function variable(value: unknown): number {
  if (!(value instanceof Var))
    throw new TypeError(`a variable is needed here, not ${shown(value)}`);
  return value.id;
}

/** The least and the greatest value. */
export interface ConstIntBound {
  readonly minValue: number;
  readonly maxValue: number;
}

/** Knows facts about variables; simplifies and proves with them. */
export class Analyzer {
  private readonly number = cross().table_arith(NONE, "new", new Uint32Array())[0] as number;

  private ask(what: string, ...words: number[]): Uint32Array {
    return cross().table_arith(this.number, what, Uint32Array.from(words));
  }
  private scalar(what: string, expr: Scalar, ...more: number[]): TirExpr {
    return primAt(this.ask(what, asPrim(expr).prim, ...more)[0] as number);
  }
  simplify(expr: Scalar, steps = 2): TirExpr {
    return this.scalar("simplify", expr, steps);
  }
  rewriteSimplify(expr: Scalar): TirExpr {
    return this.scalar("rewrite_simplify", expr);
  }
  canonicalSimplify(expr: Scalar): TirExpr {
    return this.scalar("canonical_simplify", expr);
  }
  constIntBound(expr: Scalar): ConstIntBound {
    const words = this.ask("const_int_bound", asPrim(expr).prim);
    return Object.freeze({ minValue: long(words, 0), maxValue: long(words, 2) });
  }
  /** Every value of the scalar is `coeff * k + base`. */
  modularSet(expr: Scalar): { readonly coeff: number; readonly base: number } {
    const words = this.ask("modular_set", asPrim(expr).prim);
    return Object.freeze({ coeff: long(words, 0), base: long(words, 2) });
  }
  /** Values while variables run through ranges; without these, through what they are bound to. */
  intSet(expr: Scalar, domains?: ReadonlyMap<Var, Range>) {
    const words = [asPrim(expr).prim, domains ? 1 : 0];
    if (domains) words.push(domains.size);
    for (const [from, { min, extent }] of domains ?? [])
      words.push(variable(from), min.prim + 2, this.simplify(min.add(extent).sub(1)).prim + 2);
    const [low = 0, high = 0] = this.ask("int_set", ...words);
    const end = (word: number) =>
      word === 0 ? -Infinity : word === 1 ? Infinity : primAt(word - 2);
    return Object.freeze({ minValue: end(low), maxValue: end(high) });
  }
  /** True if a condition provably always holds; `strength` 1 tries harder. */
  canProve(cond: Scalar, strength = 0): boolean {
    return this.ask("can_prove", asPrim(cond).prim, strength)[0] === 1;
  }
  canProveEqual(a: Scalar, b: Scalar): boolean {
    return this.ask("can_prove_equal", asPrim(a).prim, asPrim(b).prim)[0] === 1;
  }
  canProveGreaterEqual(expr: Scalar, bound: number): boolean {
    return this.constIntBound(this.rewriteSimplify(expr)).minValue >= bound;
  }
  canProveLess(expr: Scalar, bound: number): boolean {
    return this.constIntBound(this.rewriteSimplify(expr)).maxValue < bound;
  }
  /** Binds a variable to a value or to a Range. */
  bind(of: Var, to: Scalar | Range, allowOverride = false): void {
    const id = variable(of);
    const words =
      to instanceof Range
        ? this.ask("bind_range", id, to.min.prim, to.extent.prim)
        : this.ask("bind", id, asPrim(to, of.dtype).prim);
    if (words[0] === 1 && !allowOverride)
      throw new Error(`Trying to update var '${of.name}' with a different const bound`);
  }
  /** Runs `f` while a condition holds; TVM's `constraint_scope`. */
  constraintScope<T>(cond: Scalar, f: () => T): T {
    this.ask("enter", asPrim(cond).prim);
    try {
      return f();
    } finally {
      this.ask("exit");
    }
  }
}

export const arith = { Analyzer };
