/**
 * Visitors and mutators, as TVM has them (`expr_functor.py`, `expr_functor.cc`): a hook for each kind of node, a memo
 * by identity, and functional update.
 *
 * They recurse to a limited depth: past a hundred nested nodes, deeper parts are visited first, without recursion. Only
 * the order then differs (parts before wholes).
 */

import { KIND } from "./calls";
import type { Match, Pattern } from "./match";
import { checkHooks } from "./names";
import {
  type Call,
  type Constant,
  type Constructor,
  DataflowVar,
  type Expr,
  type Func,
  type GlobalVar,
  type If,
  Let,
  needExpr,
  type Op,
  type OtherExpr,
  type RefCreate,
  type RefRead,
  type RefWrite,
  type Tuple,
  type TupleGetItem,
  type Var,
} from "./nodes";
import {
  type Binding,
  type BindingBlock,
  type DataflowBlock,
  type DataTypeImm,
  type ExternFunc,
  MatchCast,
  type PrimFunc,
  type PrimValue,
  type SeqExpr,
  type ShapeExpr,
  type StringImm,
  type VarBinding,
} from "./relax";
import type { Dim, Type } from "./types";

/** Hooks by kind of node. */
export const HOOKS = Object.keys(KIND).map((kind) => `visit${kind}` as `visit${keyof typeof KIND}`);

/** The greatest depth of nested visits. Each takes some ten calls of JavaScript. */
const DEEP = 100;

/** Returns the parts that are computed before the node and bind nothing: these can be visited ahead. */
function parts(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case KIND.Call:
      return [(expr as Call).op, ...(expr as Call).args];
    case KIND.Tuple:
      return (expr as Tuple).fields;
    case KIND.TupleGetItem:
      return [(expr as TupleGetItem).tuple];
    case KIND.If:
      return [(expr as If).cond];
    case KIND.RefCreate:
      return [(expr as RefCreate).value];
    case KIND.RefRead:
      return [(expr as RefRead).ref];
    case KIND.RefWrite:
      return [(expr as RefWrite).ref, (expr as RefWrite).value];
    default:
      return [];
  }
}

/** Returns the name of the hook that is called for a node. */
export function hookOf(expr: Expr): keyof ExprFunctor {
  return expr instanceof DataflowVar ? "visitDataflowVar" : (HOOKS[expr.kind] ?? "visitOther");
}

/** The error for a hook's result that is no expression; the names of class and method locate the hook. */
export class HookError extends TypeError {
  constructor(
    readonly owner: string,
    readonly hook: string,
    what: string,
  ) {
    super(`${owner}.${hook} gave ${what}: a hook of a mutator returns an expression`);
    this.name = "TypeError";
  }
}

const NO_ARGS: readonly unknown[] = Object.freeze([]);

/** Visits expressions: `visit` finds the hook of a node's kind, and remembers the hook's result. */
export abstract class ExprFunctor<R = unknown> {
  /** The result of each visited node. A script may write to it, to set the result of a node beforehand. */
  memo: Map<Expr, R> = new Map();
  private depth = 0;
  /** The other arguments of the visit under way. */
  private args: readonly unknown[] = NO_ARGS;

  constructor() {
    checkHooks(this);
  }

  /**
   * Calls the hook of the node's kind. Passes further arguments to the hook, and the default hooks pass them to all
   * parts, as those of TVM's `ExprFunctor` do; then no result is remembered.
   */
  visit(expr: Expr, ...args: unknown[]): R {
    if (args.length > 0 || this.hasArgs) return this.visitWith(expr, args);
    const known = this.memo.get(expr);
    if (known !== undefined || this.memo.has(expr)) return known as R;
    needExpr(expr);
    if (this.depth >= DEEP) this.visitAhead(expr);
    this.depth++;
    try {
      const result = this.dispatch(expr);
      this.memo.set(expr, result);
      return result;
    } finally {
      this.depth--;
    }
  }

  protected get hasArgs(): boolean {
    return this.args !== NO_ARGS;
  }

  /** Visits with these arguments. Entries of the memo hold; none is added. */
  protected visitWith(expr: Expr, args: readonly unknown[]): R {
    const known = this.memo.get(expr);
    if (known !== undefined || this.memo.has(expr)) return known as R;
    needExpr(expr);
    const outer = this.args;
    this.args = args.length > 0 ? args : NO_ARGS;
    try {
      return this.dispatch(expr);
    } finally {
      this.args = outer;
    }
  }

  /** Visits a part of the node under way with the node's further arguments. */
  protected part(expr: Expr): R {
    return this.hasArgs ? this.visit(expr, ...this.args) : this.visit(expr);
  }

  /** True at a depth where a chain should be followed in a loop. */
  protected get isDeep(): boolean {
    return this.depth >= DEEP;
  }

  /** Visits everything that `expr` is computed from, parts first. */
  protected visitAhead(expr: Expr): void {
    const opened = new Set<Expr>();
    const stack: Expr[] = [expr];
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      if (this.memo.has(top)) {
        stack.pop();
      } else if (opened.has(top)) {
        stack.pop();
        if (top === expr) continue;
        this.depth++;
        try {
          this.memo.set(top, this.dispatch(top));
        } finally {
          this.depth--;
        }
      } else {
        opened.add(top);
        const below = parts(top);
        for (let at = below.length - 1; at >= 0; at--) {
          const part = below[at] as Expr;
          if (!opened.has(part) && !this.memo.has(part)) stack.push(part);
        }
      }
    }
  }

  /** Calls the hook of the node's kind; a mutator also checks its result. */
  protected dispatch(expr: Expr): R {
    return this.hook(expr);
  }

  protected hook(expr: Expr): R {
    const name = hookOf(expr);
    if (!this.hasArgs) return (this[name] as (expr: Expr) => R)(expr);
    return (this[name] as (expr: Expr, ...args: unknown[]) => R)(expr, ...this.args);
  }

  protected none(expr: Expr): R {
    throw new Error(`${this.constructor.name} has no hook for a ${expr.constructor.name}`);
  }
  visitVar(expr: Var): R {
    return this.none(expr);
  }
  visitGlobalVar(expr: GlobalVar): R {
    return this.none(expr);
  }
  visitOp(expr: Op): R {
    return this.none(expr);
  }
  visitConstructor(expr: Constructor): R {
    return this.none(expr);
  }
  visitConstant(expr: Constant): R {
    return this.none(expr);
  }
  visitTuple(expr: Tuple): R {
    return this.none(expr);
  }
  visitTupleGetItem(expr: TupleGetItem): R {
    return this.none(expr);
  }
  visitCall(expr: Call): R {
    return this.none(expr);
  }
  visitLet(expr: Let): R {
    return this.none(expr);
  }
  visitIf(expr: If): R {
    return this.none(expr);
  }
  visitFunction(expr: Func): R {
    return this.none(expr);
  }
  visitMatch(expr: Match): R {
    return this.none(expr);
  }
  visitRefCreate(expr: RefCreate): R {
    return this.none(expr);
  }
  visitRefRead(expr: RefRead): R {
    return this.none(expr);
  }
  visitRefWrite(expr: RefWrite): R {
    return this.none(expr);
  }
  visitDataflowVar(expr: DataflowVar): R {
    return this.visitVar(expr);
  }
  visitSeqExpr(expr: SeqExpr): R {
    return this.none(expr);
  }
  visitShapeExpr(expr: ShapeExpr): R {
    return this.none(expr);
  }
  visitPrimValue(expr: PrimValue): R {
    return this.none(expr);
  }
  visitStringImm(expr: StringImm): R {
    return this.none(expr);
  }
  visitDataTypeImm(expr: DataTypeImm): R {
    return this.none(expr);
  }
  visitExternFunc(expr: ExternFunc): R {
    return this.none(expr);
  }
  visitPrimFunc(expr: PrimFunc): R {
    return this.none(expr);
  }
  visitOther(expr: OtherExpr): R {
    return this.none(expr);
  }
}

/** Goes over a program and changes nothing: the hooks visit all parts, each node once. */
export class ExprVisitor extends ExprFunctor<void> {
  /** Visits the definition of a variable: a parameter, a let's, a pattern's; in Relax it dispatches by kind. */
  visitVarDef(variable: Var): void {
    if (!variable.space.relax) this.part(variable);
    else if (variable instanceof DataflowVar) this.visitDataflowVarDef(variable);
    else this.visitVarDef_(variable);
  }
  /** Visits in Relax the definition of a variable that is no dataflow variable. */
  visitVarDef_(variable: Var): void {
    this.typeOf(variable);
  }
  /** Visits in Relax the definition of a dataflow variable. */
  visitDataflowVarDef(variable: DataflowVar): void {
    this.typeOf(variable);
  }
  private typeOf(variable: Var): void {
    if (this.visitType !== ExprVisitor.prototype.visitType && variable.typeAnnotation)
      this.visitType(variable.typeAnnotation);
  }
  /** Types are not gone into; see `TypeVisitor`. */
  visitType(_type: Type): void {}
  visitPattern(pattern: Pattern): void {
    if (pattern.var) this.visitVarDef(pattern.var);
    for (const field of pattern.fields) this.visitPattern(field);
  }
  override visitVar(expr: Var): void {
    this.typeOf(expr);
  }
  override visitGlobalVar(_expr: GlobalVar): void {}
  override visitOp(_expr: Op): void {}
  override visitConstructor(_expr: Constructor): void {}
  override visitConstant(_expr: Constant): void {}
  override visitTuple(expr: Tuple): void {
    for (const field of expr.fields) this.part(field);
  }
  override visitTupleGetItem(expr: TupleGetItem): void {
    this.part(expr.tuple);
  }
  override visitCall(expr: Call): void {
    this.part(expr.op);
    if (this.visitType !== ExprVisitor.prototype.visitType)
      for (const type of expr.typeArgs) this.visitType(type);
    for (const arg of expr.args) this.part(arg);
  }
  override visitLet(expr: Let): void {
    let at = expr;
    for (;;) {
      this.part(at.value);
      this.visitVarDef(at.var);
      const { body } = at;
      const own = this.visitLet !== ExprVisitor.prototype.visitLet;
      if (!this.isDeep || own || !(body instanceof Let) || this.memo.has(body)) {
        this.part(body);
        return;
      }
      this.memo.set(body, undefined);
      at = body;
    }
  }
  override visitIf(expr: If): void {
    this.part(expr.cond);
    this.part(expr.trueBranch);
    this.part(expr.falseBranch);
  }
  override visitFunction(expr: Func): void {
    for (const param of expr.params) this.visitVarDef(param);
    this.part(expr.body);
  }
  override visitMatch(expr: Match): void {
    this.part(expr.data);
    for (const { lhs, rhs } of expr.clauses) {
      this.visitPattern(lhs);
      this.part(rhs);
    }
  }
  override visitRefCreate(expr: RefCreate): void {
    this.part(expr.value);
  }
  override visitRefRead(expr: RefRead): void {
    this.part(expr.ref);
  }
  override visitRefWrite(expr: RefWrite): void {
    this.part(expr.ref);
    this.part(expr.value);
  }
  override visitSeqExpr(expr: SeqExpr): void {
    for (const block of expr.blocks) this.visitBindingBlock(block);
    this.part(expr.body);
  }
  /** Dispatches by the kind of the block. */
  visitBindingBlock(block: BindingBlock): void {
    if (block.isDataflow) this.visitDataflowBlock(block);
    else this.visitBindingBlock_(block);
  }
  /** Visits a block that is no dataflow block. */
  visitBindingBlock_(block: BindingBlock): void {
    for (const binding of block.bindings) this.visitBinding(binding);
  }
  visitDataflowBlock(block: DataflowBlock): void {
    for (const binding of block.bindings) this.visitBinding(binding);
  }
  /** Dispatches by the kind of the binding. */
  visitBinding(binding: Binding): void {
    if (binding instanceof MatchCast) this.visitMatchCast(binding);
    else this.visitVarBinding(binding);
  }
  visitVarBinding(binding: VarBinding): void {
    this.part(binding.value);
    this.visitVarDef(binding.var);
  }
  visitMatchCast(binding: MatchCast): void {
    this.visitType(binding.type);
    this.part(binding.value);
    this.visitVarDef(binding.var);
  }
  /** Visits an extent or scalar of Relax: a number, a symbol, or an expression over them. */
  visitPrimExpr(_value: Dim): void {}
  override visitShapeExpr(expr: ShapeExpr): void {
    for (const value of expr.values) this.visitPrimExpr(value);
  }
  override visitPrimValue(expr: PrimValue): void {
    this.visitPrimExpr(expr.value);
  }
  override visitStringImm(_expr: StringImm): void {}
  override visitDataTypeImm(_expr: DataTypeImm): void {}
  override visitExternFunc(_expr: ExternFunc): void {}
  override visitPrimFunc(_expr: PrimFunc): void {}
  override visitOther(_expr: OtherExpr): void {}
}
