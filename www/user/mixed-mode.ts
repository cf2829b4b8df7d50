/** Visitors and mutators that do not recurse over calls, and functions that walk a program without a class. */
import { WALK } from "./calls";
import { cross } from "./engine";
import { ExprVisitor, HOOKS } from "./functor";
import { ExprMutator } from "./mutator";
import {
  type Call,
  type Expr,
  Let,
  needExpr,
  nodeAt,
  type Tuple,
  type TupleGetItem,
} from "./nodes";

/** A visitor that sees every call, tuple and projection after its operands, however deep. */
export class MixedModeVisitor extends ExprVisitor {
  override visit(expr: Expr, ...args: unknown[]): void {
    if (args.length === 0 && !this.hasArgs && !this.memo.has(expr)) this.visitAhead(expr);
    super.visit(expr, ...args);
  }
}

/**
 * A mutator that never recurses over calls, tuples and projections. Instead of their hooks it has
 * `rewriteCall(pre, post)` and so on: `pre` is the node as it was, with its types, `post` the one over new parts.
 */
export class MixedModeMutator extends ExprMutator {
  override visit(expr: Expr, ...args: unknown[]): Expr {
    if (args.length === 0 && !this.hasArgs && !this.memo.has(expr)) this.visitAhead(needExpr(expr));
    return super.visit(expr, ...args);
  }
  rewriteCall(_pre: Call, post: Expr): Expr {
    return post;
  }
  rewriteTuple(_pre: Tuple, post: Expr): Expr {
    return post;
  }
  rewriteTupleGetItem(_pre: TupleGetItem, post: Expr): Expr {
    return post;
  }
  override visitCall(expr: Call): Expr {
    return this.rewriteCall(expr, super.visitCall(expr));
  }
  override visitTuple(expr: Tuple): Expr {
    return this.rewriteTuple(expr, super.visitTuple(expr));
  }
  override visitTupleGetItem(expr: TupleGetItem): Expr {
    return this.rewriteTupleGetItem(expr, super.visitTupleGetItem(expr));
  }
}

/** Calls `f(pre, post)` for every node, parts before wholes; its result replaces `pre`. */
export function postOrderRewrite(expr: Expr, f: (pre: Expr, post: Expr) => Expr): Expr {
  class Rewriter extends ExprMutator {
    override visit(from: Expr): Expr {
      if (!this.memo.has(from)) this.visitAhead(from);
      return super.visit(from);
    }
    override rewriteLet(pre: Let, post: Expr): Expr {
      return f(pre, post);
    }
  }
  for (const hook of HOOKS.filter((name) => name !== "visitLet")) {
    const plain = ExprMutator.prototype[hook] as (this: ExprMutator, expr: Expr) => Expr;
    const value = function (this: ExprMutator, pre: Expr) {
      return f(pre, plain.call(this, pre));
    };
    Object.defineProperty(Rewriter.prototype, hook, { value });
  }
  return new Rewriter().visit(needExpr(expr));
}

/** Calls `f` with every node once, parts before wholes. */
export function postOrderVisit(expr: Expr, f: (expr: Expr) => void): void {
  for (const found of cross().user_walk(WALK.all, needExpr(expr).id)) f(nodeAt(found));
}

/** Calls `pre` for each let of a chain, from the outside in, and then `post` for each, from the inside out. */
export function expandANormalForm(
  first: Let,
  pre: (expr: Let) => void,
  post: (expr: Let) => void,
): void {
  const chain: Let[] = [];
  for (let at: Expr = first; at instanceof Let; at = at.body) {
    pre(at);
    chain.push(at);
  }
  for (const at of chain.reverse()) post(at);
}
