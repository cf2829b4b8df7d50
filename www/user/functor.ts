/**
 * Visitors and mutators, as TVM has them (`expr_functor.py`, `expr_functor.cc`): a hook for each kind of node, a memo by
 * identity, and functional update.
 *
 * They visit as deep as the stack allows and no deeper: past a hundred nodes inside of each other, what lies further down
 * is visited first, without recursion. Then the order is another one (parts before wholes), and nothing else.
 */
import { cross } from "./engine";
import {
  type Call,
  Clause,
  type Constant,
  type Constructor,
  type Expr,
  type Func,
  type GlobalVar,
  type If,
  KIND,
  Let,
  type Match,
  needExpr,
  nodeAt,
  type Op,
  type OtherExpr,
  type Pattern,
  PatternConstructor,
  PatternTuple,
  PatternVar,
  type RefCreate,
  type RefRead,
  type RefWrite,
  rebuilt,
  type Tuple,
  type TupleGetItem,
  Var,
} from "./nodes";
import { needType, shown, type Type } from "./types";

/** How many nodes may be visited inside of each other. Each takes some ten calls of JavaScript. */
const DEEP = 100;

/** Parts that are computed before the node and bind nothing: these can be visited ahead. */
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

/** Something that goes over expressions: `visit` finds the hook of a node's kind, and remembers what it gave. */
export abstract class ExprFunctor<R = unknown> {
  /** What each node gave that was visited. May be written to, to say beforehand what a node gives. */
  memo: Map<Expr, R> = new Map();
  private depth = 0;

  visit(expr: Expr): R {
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

  /** Whether so much is under way that a chain should be followed in a loop. */
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

  /** Calls the hook of the node's kind. */
  protected dispatch(expr: Expr): R {
    switch (expr.kind) {
      case KIND.Var:
        return this.visitVar(expr as Var);
      case KIND.GlobalVar:
        return this.visitGlobalVar(expr as GlobalVar);
      case KIND.Op:
        return this.visitOp(expr as Op);
      case KIND.Constructor:
        return this.visitConstructor(expr as Constructor);
      case KIND.Constant:
        return this.visitConstant(expr as Constant);
      case KIND.Tuple:
        return this.visitTuple(expr as Tuple);
      case KIND.TupleGetItem:
        return this.visitTupleGetItem(expr as TupleGetItem);
      case KIND.Call:
        return this.visitCall(expr as Call);
      case KIND.Let:
        return this.visitLet(expr as Let);
      case KIND.If:
        return this.visitIf(expr as If);
      case KIND.Function:
        return this.visitFunction(expr as Func);
      case KIND.Match:
        return this.visitMatch(expr as Match);
      case KIND.RefCreate:
        return this.visitRefCreate(expr as RefCreate);
      case KIND.RefRead:
        return this.visitRefRead(expr as RefRead);
      case KIND.RefWrite:
        return this.visitRefWrite(expr as RefWrite);
      default:
        return this.visitOther(expr as OtherExpr);
    }
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
  visitOther(expr: OtherExpr): R {
    return this.none(expr);
  }
}

/** Goes over a program and changes nothing: the hooks visit all parts, each node once. */
export class ExprVisitor extends ExprFunctor<void> {
  /** A variable where it is bound: a parameter, a let's variable, a pattern's. */
  visitVarDef(variable: Var): void {
    this.visit(variable);
  }
  /** Types are not gone into; see `TypeVisitor`. */
  visitType(_type: Type): void {}
  visitPattern(pattern: Pattern): void {
    if (pattern.var) this.visitVarDef(pattern.var);
    for (const field of pattern.fields) this.visitPattern(field);
  }
  override visitVar(expr: Var): void {
    if (this.visitType !== ExprVisitor.prototype.visitType && expr.typeAnnotation)
      this.visitType(expr.typeAnnotation);
  }
  override visitGlobalVar(_expr: GlobalVar): void {}
  override visitOp(_expr: Op): void {}
  override visitConstructor(_expr: Constructor): void {}
  override visitConstant(_expr: Constant): void {}
  override visitTuple(expr: Tuple): void {
    for (const field of expr.fields) this.visit(field);
  }
  override visitTupleGetItem(expr: TupleGetItem): void {
    this.visit(expr.tuple);
  }
  override visitCall(expr: Call): void {
    this.visit(expr.op);
    if (this.visitType !== ExprVisitor.prototype.visitType)
      for (const type of expr.typeArgs) this.visitType(type);
    for (const arg of expr.args) this.visit(arg);
  }
  override visitLet(expr: Let): void {
    let at = expr;
    for (;;) {
      this.visit(at.value);
      this.visitVarDef(at.var);
      const { body } = at;
      const own = this.visitLet !== ExprVisitor.prototype.visitLet;
      if (!this.isDeep || own || !(body instanceof Let) || this.memo.has(body)) {
        this.visit(body);
        return;
      }
      this.memo.set(body, undefined);
      at = body;
    }
  }
  override visitIf(expr: If): void {
    this.visit(expr.cond);
    this.visit(expr.trueBranch);
    this.visit(expr.falseBranch);
  }
  override visitFunction(expr: Func): void {
    for (const param of expr.params) this.visitVarDef(param);
    this.visit(expr.body);
  }
  override visitMatch(expr: Match): void {
    this.visit(expr.data);
    for (const { lhs, rhs } of expr.clauses) {
      this.visitPattern(lhs);
      this.visit(rhs);
    }
  }
  override visitRefCreate(expr: RefCreate): void {
    this.visit(expr.value);
  }
  override visitRefRead(expr: RefRead): void {
    this.visit(expr.ref);
  }
  override visitRefWrite(expr: RefWrite): void {
    this.visit(expr.ref);
    this.visit(expr.value);
  }
  override visitOther(_expr: OtherExpr): void {}
}

/**
 * Makes another program of a program: the hooks visit all parts, and give the same node when no part has changed, else a
 * copy of it over the new parts. What a hook gives instead is a rewrite, and recorded as one.
 */
export class ExprMutator extends ExprFunctor<Expr> {
  /** TVM's C++ name for `visit`. */
  mutate(expr: Expr): Expr {
    return this.visit(expr);
  }

  protected override dispatch(expr: Expr): Expr {
    const result = super.dispatch(expr);
    if (this.noted(expr, result)) return result;
    // No more rewrites are allowed, so this one is taken back.
    return plainHook(expr).call(this, expr);
  }

  /** Records a rewrite, if it is one. False when no more are allowed. */
  private noted(pre: Expr, post: Expr): boolean {
    if (post === pre) return true;
    if (post === undefined || post === null) {
      const kind = pre.constructor.name;
      throw new TypeError(`${this.constructor.name}: the hook of a ${kind} gave nothing`);
    }
    return needExpr(post).from === pre || cross().user_record(pre.id, post.id);
  }

  private all(list: readonly Expr[]): readonly Expr[] {
    let changed: Expr[] | null = null;
    for (let at = 0; at < list.length; at++) {
      const before = list[at] as Expr;
      const after = this.visit(before);
      if (after !== before) {
        changed ??= [...list];
        changed[at] = after;
      }
    }
    return changed ?? list;
  }

  /** A variable where it is bound. What it gives is bound in its place. */
  visitVarDef(variable: Var): Var {
    const after = this.visit(variable);
    if (!(after instanceof Var))
      throw new TypeError(`%${variable.nameHint} is bound here and cannot become ${shown(after)}`);
    return after;
  }
  /** Types stay; see `TypeMutator`. */
  visitType(type: Type): Type {
    return type;
  }
  visitPattern(pattern: Pattern): Pattern {
    if (pattern.var) {
      const variable = this.visitVarDef(pattern.var);
      return variable === pattern.var ? pattern : PatternVar(variable);
    }
    const fields = pattern.fields.map((field) => this.visitPattern(field));
    if (fields.every((field, at) => field === pattern.fields[at])) return pattern;
    return pattern.constructorNode
      ? PatternConstructor(pattern.constructorNode, fields)
      : PatternTuple(fields);
  }
  override visitVar(expr: Var): Expr {
    const type = this.visitType === ExprMutator.prototype.visitType ? null : expr.typeAnnotation;
    const after = type && needType(this.visitType(type));
    return after === type || !after ? expr : expr.withType(after);
  }
  override visitGlobalVar(expr: GlobalVar): Expr {
    return expr;
  }
  override visitOp(expr: Op): Expr {
    return expr;
  }
  override visitConstructor(expr: Constructor): Expr {
    return expr;
  }
  override visitConstant(expr: Constant): Expr {
    return expr;
  }
  override visitTuple(expr: Tuple): Expr {
    const before = expr.fields;
    const fields = this.all(before);
    return fields === before ? expr : rebuilt(expr, fields.map(id));
  }
  override visitTupleGetItem(expr: TupleGetItem): Expr {
    const tuple = this.visit(expr.tuple);
    return tuple === expr.tuple ? expr : rebuilt(expr, [tuple.id, expr.index]);
  }
  override visitCall(expr: Call): Expr {
    const op = this.visit(expr.op);
    let typeArgs: readonly Type[] = [];
    let sameTypes = true;
    if (this.visitType !== ExprMutator.prototype.visitType) {
      typeArgs = expr.typeArgs.map((type) => needType(this.visitType(type)));
      sameTypes = typeArgs.every((type, at) => type === expr.typeArgs[at]);
    }
    const before = expr.args;
    const args = this.all(before);
    if (op === expr.op && args === before && sameTypes) return expr;
    const types = sameTypes ? expr.typeArgs : typeArgs;
    const words = [op.id, expr.words[3] as number, types.length, ...types.map((type) => type.id)];
    return rebuilt(expr, words.concat(args.map(id)));
  }
  override visitLet(expr: Let): Expr {
    const chain: { pre: Let; variable: Var; value: Expr }[] = [];
    const own = this.visitLet !== ExprMutator.prototype.visitLet;
    let at = expr;
    for (;;) {
      chain.push({ pre: at, variable: this.visitVarDef(at.var), value: this.visit(at.value) });
      if (!this.isDeep || own || !(at.body instanceof Let) || this.memo.has(at.body)) break;
      at = at.body;
    }
    let body = this.visit(at.body);
    for (let last = chain.pop(); last; last = chain.pop()) {
      const { pre, variable, value } = last;
      const unchanged = variable === pre.var && value === pre.value && body === pre.body;
      const post: Expr = unchanged ? pre : rebuilt(pre, [variable.id, value.id, body.id]);
      body = this.rewriteLet(pre, post);
      if (chain.length === 0) break;
      if (!this.noted(pre, body)) body = post;
      this.memo.set(pre, body);
    }
    return body;
  }
  /** What a let becomes that has been visited: unlike `visitLet` it is also called along chains of any length. */
  rewriteLet(_pre: Let, post: Expr): Expr {
    return post;
  }
  override visitIf(expr: If): Expr {
    const cond = this.visit(expr.cond);
    const trueBranch = this.visit(expr.trueBranch);
    const falseBranch = this.visit(expr.falseBranch);
    const before = [expr.cond, expr.trueBranch, expr.falseBranch];
    const after = [cond, trueBranch, falseBranch];
    return same(after, before) ? expr : rebuilt(expr, after.map(id));
  }
  override visitFunction(expr: Func): Expr {
    const params = expr.params.map((param) => this.visitVarDef(param));
    const ret = expr.retType;
    const retType =
      ret && this.visitType !== ExprMutator.prototype.visitType
        ? needType(this.visitType(ret))
        : ret;
    const body = this.visit(expr.body);
    if (body === expr.body && retType === ret && same(params, expr.params)) return expr;
    const words = [...expr.words.subarray(2)];
    words.splice(0, 2, body.id, retType ? retType.id + 1 : 0);
    words.splice(4, params.length, ...params.map(id));
    return rebuilt(expr, words);
  }
  override visitMatch(expr: Match): Expr {
    const before = expr.clauses;
    const clauses = before.map(
      ({ lhs, rhs }) => new Clause(this.visitPattern(lhs), this.visit(rhs)),
    );
    const data = this.visit(expr.data);
    const unchanged = clauses.every(
      ({ lhs, rhs }, at) => lhs === before[at]?.lhs && rhs === before[at]?.rhs,
    );
    if (unchanged && data === expr.data) return expr;
    const arms = clauses.flatMap(({ lhs, rhs }) => [lhs.id, rhs.id]);
    return rebuilt(expr, [data.id, expr.complete ? 1 : 0, ...arms]);
  }
  override visitRefCreate(expr: RefCreate): Expr {
    const value = this.visit(expr.value);
    return value === expr.value ? expr : rebuilt(expr, [value.id]);
  }
  override visitRefRead(expr: RefRead): Expr {
    const ref = this.visit(expr.ref);
    return ref === expr.ref ? expr : rebuilt(expr, [ref.id]);
  }
  override visitRefWrite(expr: RefWrite): Expr {
    const ref = this.visit(expr.ref);
    const value = this.visit(expr.value);
    return ref === expr.ref && value === expr.value ? expr : rebuilt(expr, [ref.id, value.id]);
  }
  override visitOther(expr: OtherExpr): Expr {
    return expr;
  }
}

function id(expr: Expr): number {
  return expr.id;
}

function same(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}

const HOOKS = [
  "visitVar",
  "visitGlobalVar",
  "visitOp",
  "visitConstructor",
  "visitConstant",
  "visitTuple",
  "visitTupleGetItem",
  "visitCall",
  "visitLet",
  "visitIf",
  "visitFunction",
  "visitMatch",
  "visitRefCreate",
  "visitRefRead",
  "visitRefWrite",
] as const;

/** What a mutator without hooks of its own makes of a node: the parts as they have become, the node as it was. */
function plainHook(expr: Expr): (this: ExprMutator, expr: Expr) => Expr {
  return ExprMutator.prototype[HOOKS[expr.kind] ?? "visitOther"] as never;
}

/** A visitor that sees every call, tuple and projection after what it is computed from, however deep. */
export class MixedModeVisitor extends ExprVisitor {
  override visit(expr: Expr): void {
    if (!this.memo.has(expr)) this.visitAhead(expr);
    super.visit(expr);
  }
}

/**
 * A mutator that never recurses over calls, tuples and projections. Instead of their hooks it has
 * `rewriteCall(pre, post)` and so on: `pre` is the node as it was, with its types, `post` the one over new parts.
 */
export class MixedModeMutator extends ExprMutator {
  override visit(expr: Expr): Expr {
    if (!this.memo.has(expr)) this.visitAhead(needExpr(expr));
    return super.visit(expr);
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

/** Calls `f(pre, post)` for every node, parts before wholes; what it gives stands for `pre`. */
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
  for (const found of cross().user_walk(0, needExpr(expr).id)) f(nodeAt(found));
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
