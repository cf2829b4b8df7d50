/** Walks over tensor programs (`tirx/stmt_functor.py`): every kind of scalar and statement has a hook. */

import { cross } from "./engine";
import { checkHooks } from "./names";
import { PrimFunc } from "./relax";
import { asPrim, classes, mapParts, partsOf, primAt, Stmt, stmtAt, TirExpr, Var } from "./tir";
import { Buffer } from "./tir-buffer";
import { shown } from "./types";

type Node = TirExpr | Stmt;

function needNode(value: unknown): Node {
  if (value instanceof TirExpr || value instanceof Stmt) return value;
  if (value instanceof PrimFunc) return value.body;
  throw new TypeError(`a statement or scalar is needed here, not ${shown(value)}`);
}

/** The hook for a node. */
type Hooked = Record<string, (node: Node) => unknown>;
const hook = (owner: object, node: Node) =>
  (owner as Hooked)[`visit${node.constructor.name}`]?.call(owner as never, node) as never;

/** Goes over a tensor program and changes nothing. Hooks visit all parts unless they are overridden. */
export class StmtExprVisitor {
  constructor() {
    checkHooks(this);
  }
  /** Calls the hook of the node's kind: of a statement, a scalar, or a tensor program's body. */
  visit(node: Node | PrimFunc): void {
    const one = needNode(node);
    if (one instanceof Stmt) this.visitStmt(one);
    else this.visitExpr(one);
  }
  visitStmt(stmt: Stmt): void {
    hook(this, stmt);
  }
  visitExpr(expr: TirExpr): void {
    hook(this, expr);
  }
  /** Visits each buffer where it is defined or used. */
  visitBuffer(_buffer: Buffer): void {}
  /** Visits the parts of a node: what the hooks do. */
  visitParts(node: Node): void {
    for (const part of partsOf(node))
      if (part instanceof Buffer) this.visitBuffer(part);
      else this.visit(part);
  }
}

/** Makes another program. Hooks rebuild nodes over their new parts unless they are overridden. */
export class StmtExprMutator {
  constructor() {
    checkHooks(this);
  }
  /** Returns what stands in the place of the node; a tensor program is given one with another body. */
  visit<T extends Node | PrimFunc>(node: T): T {
    if (node instanceof PrimFunc) return node.withBody(this.visitStmt(node.body)) as T;
    const one = needNode(node);
    return (one instanceof Stmt ? this.visitStmt(one) : this.visitExpr(one)) as T;
  }
  visitStmt(stmt: Stmt): Stmt {
    const after: unknown = hook(this, stmt);
    if (after instanceof Stmt) return after;
    throw this.wrong(stmt, after, "a statement");
  }
  visitExpr(expr: TirExpr): TirExpr {
    const after: unknown = hook(this, expr);
    if (after instanceof TirExpr) return after;
    if (typeof after === "number" || typeof after === "boolean") return asPrim(after, expr.dtype);
    throw this.wrong(expr, after, "a scalar");
  }
  private wrong(node: Node, after: unknown, what: string) {
    const given = after === undefined ? "nothing" : shown(after);
    return new TypeError(
      `${this.constructor.name}.visit${node.constructor.name} gave ${given}: the hook returns ${what}`,
    );
  }
  /** Returns the buffer in the place of one, where it is defined and where it is used. */
  visitBuffer(buffer: Buffer): Buffer {
    return buffer;
  }
  /** Rebuilds a node over its new parts: what the hooks do. */
  visitParts<T extends Node>(node: T): T {
    return mapParts(node, (part) =>
      part instanceof Buffer ? this.visitBuffer(part) : this.visit(part),
    );
  }
}

for (const name of [...Object.keys(classes), "OtherScalar"])
  for (const { prototype } of [StmtExprVisitor, StmtExprMutator])
    Object.defineProperty(prototype, `visit${name}`, {
      configurable: true,
      writable: true,
      value(this: { visitParts(node: Node): unknown }, node: Node) {
        return this.visitParts(node);
      },
    });

/** Calls `f` with every scalar and statement, parts first, each once. */
export function postOrderVisit(node: Node | PrimFunc, f: (node: Node) => void): void {
  const seen = new Set<Node>();
  const stack: [Node, boolean][] = [[needNode(node), false]];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [one, done] = top;
    if (done) f(one);
    else if (!seen.has(one)) {
      seen.add(one);
      stack.push([one, true]);
      for (const part of partsOf(one).reverse())
        if (!(part instanceof Buffer)) stack.push([part, false]);
    }
  }
}

/** Calls `f` with every scalar and statement, outer ones first; false leaves out what is inside. */
export function preOrderVisit(node: Node | PrimFunc, f: (node: Node) => unknown): void {
  const stack: Node[] = [needNode(node)];
  for (let top = stack.pop(); top; top = stack.pop())
    if (f(top) !== false)
      for (const part of partsOf(top).reverse()) if (!(part instanceof Buffer)) stack.push(part);
}

type Change = ((node: Node) => Node | null | undefined) | null;

/**
 * Changes a statement: what `before` gives stands in a node's place and is not gone into; what `after` gives stands in
 * the place of a node with new parts. `only` names the kinds that they are called with.
 */
export function irTransform(
  stmt: Stmt,
  before: Change,
  after: Change,
  only: readonly string[] | null = null,
): Stmt {
  const names = only?.map((name) => {
    const own = name.replace(/^.*\./, "");
    if (!(own in classes)) throw new TypeError(`there is no node ${name}`);
    return own;
  });
  const wanted = (node: Node) => !names || names.includes(node.constructor.name);
  const visit = (node: Node): Node => {
    const given = before && wanted(node) ? before(node) : null;
    if (given) return given;
    const made = mapParts(node, (part) => (part instanceof Buffer ? part : visit(part)));
    return (after && wanted(made) ? after(made) : null) ?? made;
  };
  return visit(stmt) as Stmt;
}

/** Replaces variables: a Map from variables to scalars. */
export function substitute<T extends Node | PrimFunc>(
  node: T,
  values: ReadonlyMap<Var, unknown>,
): T {
  if (node instanceof PrimFunc) return node.withBody(substitute(node.body, values)) as T;
  const one = needNode(node);
  const words = [one instanceof Stmt ? 1 : 0, one instanceof Stmt ? one.id : one.prim];
  for (const [from, to] of values) {
    if (!(from instanceof Var))
      throw new TypeError(`a variable is needed here, not ${shown(from)}`);
    words.push(from.id, asPrim(to, from.dtype).prim);
  }
  const id = cross().table_tir("substitute", Uint32Array.from(words));
  return (one instanceof Stmt ? stmtAt(id) : primAt(id)) as T;
}
