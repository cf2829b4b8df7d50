/** Functions that make scalars, as TVM's of the same name. */
import { asPrim, binary, classes, type Maker, type Scalar, type Stmt, TirExpr } from "./tir";
import { BINARY } from "./tir-lines";

const two = (name: string) => {
  const op = BINARY.indexOf(name);
  return (a: Scalar, b: Scalar): TirExpr => {
    const first = a instanceof TirExpr ? a : asPrim(a, b instanceof TirExpr ? b.dtype : undefined);
    return binary(op, first, asPrim(b, first.dtype));
  };
};
const call = (dtype: string, op: string, args: readonly Scalar[]): TirExpr =>
  new (classes.Call as Maker)(dtype, op, args);

export const operators = {
  min: two("Min"),
  max: two("Max"),
  floordiv: two("FloorDiv"),
  floormod: two("FloorMod"),
  truncdiv: two("Div"),
  truncmod: two("Mod"),
  div: two("Div"),
  all: (...conds: Scalar[]): TirExpr => conds.map((one) => asPrim(one)).reduce(two("And")),
  any: (...conds: Scalar[]): TirExpr => conds.map((one) => asPrim(one)).reduce(two("Or")),
  const: (value: number | boolean, dtype?: string): TirExpr => asPrim(value, dtype),
  ifThenElse(cond: Scalar, then: Scalar, other: Scalar): TirExpr {
    const first = asPrim(then);
    return call(first.dtype, "if_then_else", [cond, first, asPrim(other, first.dtype)]);
  },
  callIntrin: (dtype: string, name: string, ...args: Scalar[]): TirExpr => call(dtype, name, args),
  callExtern: (dtype: string, name: string, ...args: Scalar[]): TirExpr =>
    call(dtype, "call_extern", [name, ...args]),
  /** Statements in order; one alone is itself. */
  seq: (...stmts: Stmt[]): Stmt =>
    stmts.length === 1 ? (stmts[0] as Stmt) : new (classes.SeqStmt as Maker)(stmts),
};
