/** The mutator of expressions: that of Relay, and TVM's `ExprMutatorBase` of Relax. */

import { cross } from "./engine";
import { ExprFunctor, HOOKS, HookError, hookOf } from "./functor";
import {
  Clause,
  type Match,
  type Pattern,
  PatternConstructor,
  PatternTuple,
  PatternVar,
} from "./match";
import {
  type Call,
  type Constant,
  type Constructor,
  DataflowVar,
  Expr,
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
  rebuilt,
  type Tuple,
  type TupleGetItem,
  Var,
} from "./nodes";
import {
  type Binding,
  BindingBlock,
  DataflowBlock,
  type DataTypeImm,
  type ExternFunc,
  MatchCast,
  needBlock,
  type PrimFunc,
  PrimValue,
  type SeqExpr,
  ShapeExpr,
  type StringImm,
  VarBinding,
} from "./relax";
import { type Dim, needType, shown, type Type } from "./types";

/**
 * Rewrites a program: the hooks visit all parts, and return the same node if no part has changed, else a copy of it
 * over the new parts. Any other result of a hook is a rewrite, and recorded as one.
 */
export class ExprMutator extends ExprFunctor<Expr> {
  /** TVM's C++ name for `visit`. */
  mutate(expr: Expr): Expr {
    return this.visit(expr);
  }

  protected override dispatch(expr: Expr): Expr {
    const result = super.dispatch(expr);
    if (this.noted(expr, result)) return result;
    // The fuel is used up, so this rewrite is undone.
    return plainHook(expr).call(this, expr);
  }

  /** Records a rewrite, if it is one. False without fuel. */
  protected noted(pre: Expr, post: Expr): boolean {
    if (post === pre) return true;
    if (!(post instanceof Expr)) {
      const what = post === undefined || post === null ? "nothing" : shown(post);
      throw new HookError(this.constructor.name, hookOf(pre), what);
    }
    return needExpr(post).from === pre || cross().user_record(pre.id, post.id);
  }

  private all(list: readonly Expr[]): readonly Expr[] {
    let changed: Expr[] | null = null;
    for (let at = 0; at < list.length; at++) {
      const before = list[at] as Expr;
      const after = this.part(before);
      if (after !== before) {
        changed ??= [...list];
        changed[at] = after;
      }
    }
    return changed ?? list;
  }

  /** Visits a variable at its definition. The result is bound in its place. */
  visitVarDef(variable: Var): Var {
    if (variable.space.relax)
      return variable instanceof DataflowVar
        ? this.visitDataflowVarDef(variable)
        : this.visitVarDef_(variable);
    const after = this.part(variable);
    if (!(after instanceof Var))
      throw new TypeError(`%${variable.nameHint} is bound here and cannot become ${shown(after)}`);
    return after;
  }
  /** Visits in Relax the definition of a variable that is no dataflow variable. */
  visitVarDef_(variable: Var): Var {
    return variable;
  }
  /** Visits in Relax the definition of a dataflow variable. */
  visitDataflowVarDef(variable: DataflowVar): Var {
    return variable;
  }
  /** Returns types unchanged; see `TypeMutator`. */
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
    const tuple = this.part(expr.tuple);
    return tuple === expr.tuple ? expr : rebuilt(expr, [tuple.id, expr.index]);
  }
  override visitCall(expr: Call): Expr {
    const op = this.part(expr.op);
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
      chain.push({ pre: at, variable: this.visitVarDef(at.var), value: this.part(at.value) });
      if (!this.isDeep || own || !(at.body instanceof Let) || this.memo.has(at.body)) break;
      at = at.body;
    }
    let body = this.part(at.body);
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
  /** Rewrites a visited let: unlike `visitLet` it is also called along chains of any length. */
  rewriteLet(_pre: Let, post: Expr): Expr {
    return post;
  }
  override visitIf(expr: If): Expr {
    const cond = this.part(expr.cond);
    const trueBranch = this.part(expr.trueBranch);
    const falseBranch = this.part(expr.falseBranch);
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
    const body = this.part(expr.body);
    if (body === expr.body && retType === ret && same(params, expr.params)) return expr;
    const words = [...expr.words.subarray(2)];
    words.splice(0, 2, body.id, retType ? retType.id + 1 : 0);
    words.splice(5, params.length, ...params.map(id));
    return rebuilt(expr, words);
  }
  override visitMatch(expr: Match): Expr {
    const before = expr.clauses;
    const clauses = before.map(
      ({ lhs, rhs }) => new Clause(this.visitPattern(lhs), this.part(rhs)),
    );
    const data = this.part(expr.data);
    const unchanged = clauses.every(
      ({ lhs, rhs }, at) => lhs === before[at]?.lhs && rhs === before[at]?.rhs,
    );
    if (unchanged && data === expr.data) return expr;
    const arms = clauses.flatMap(({ lhs, rhs }) => [lhs.id, rhs.id]);
    return rebuilt(expr, [data.id, expr.complete ? 1 : 0, ...arms]);
  }
  override visitRefCreate(expr: RefCreate): Expr {
    const value = this.part(expr.value);
    return value === expr.value ? expr : rebuilt(expr, [value.id]);
  }
  override visitRefRead(expr: RefRead): Expr {
    const ref = this.part(expr.ref);
    return ref === expr.ref ? expr : rebuilt(expr, [ref.id]);
  }
  override visitRefWrite(expr: RefWrite): Expr {
    const ref = this.part(expr.ref);
    const value = this.part(expr.value);
    return ref === expr.ref && value === expr.value ? expr : rebuilt(expr, [ref.id, value.id]);
  }
  override visitSeqExpr(expr: SeqExpr): Expr {
    const blocks = expr.blocks.map((block) => this.visitBindingBlock(block));
    const body = this.part(expr.body);
    return body === expr.body && same(blocks, expr.blocks)
      ? expr
      : rebuilt(expr, [body.id, ...blocks.map((block) => needBlock(block).id)]);
  }
  /** Dispatches by the kind of the block. */
  visitBindingBlock(block: BindingBlock): BindingBlock {
    return block.isDataflow ? this.visitDataflowBlock(block) : this.visitBindingBlock_(block);
  }
  /** Visits a block that is no dataflow block. */
  visitBindingBlock_(block: BindingBlock): BindingBlock {
    return this.block(block);
  }
  visitDataflowBlock(block: DataflowBlock): BindingBlock {
    return this.block(block);
  }
  private block(block: BindingBlock): BindingBlock {
    const bindings = block.bindings.map((binding) => this.visitBinding(binding) ?? binding);
    if (same(bindings, block.bindings)) return block;
    return block.isDataflow ? new DataflowBlock(bindings) : new BindingBlock(bindings);
  }
  /** Dispatches by the kind of the binding. */
  // biome-ignore lint/suspicious/noConfusingVoidType: the mutator of normal form emits, and gives nothing
  visitBinding(binding: Binding): Binding | void {
    return binding instanceof MatchCast
      ? this.visitMatchCast(binding)
      : this.visitVarBinding(binding);
  }
  // biome-ignore lint/suspicious/noConfusingVoidType: see visitBinding
  visitVarBinding(binding: VarBinding): Binding | void {
    const value = this.part(binding.value);
    const variable = this.visitVarDef(binding.var);
    if (value === binding.value && variable === binding.var) return binding;
    return new VarBinding(variable, value);
  }
  // biome-ignore lint/suspicious/noConfusingVoidType: see visitBinding
  visitMatchCast(binding: MatchCast): Binding | void {
    const value = this.part(binding.value);
    const type = this.visitType(binding.type);
    const variable = this.visitVarDef(binding.var);
    if (value === binding.value && type === binding.type && variable === binding.var)
      return binding;
    return new MatchCast(variable, value, type);
  }
  /** Visits an extent or scalar of Relax. The default returns it unchanged. */
  visitPrimExpr(value: Dim): Dim {
    return value;
  }
  override visitShapeExpr(expr: ShapeExpr): Expr {
    const before = expr.values;
    const after = before.map((value) => this.visitPrimExpr(value));
    return same(after, before) ? expr : new ShapeExpr(after);
  }
  override visitPrimValue(expr: PrimValue): Expr {
    const after = this.visitPrimExpr(expr.value);
    return after === expr.value ? expr : new PrimValue(after, expr.dtype);
  }
  override visitStringImm(expr: StringImm): Expr {
    return expr;
  }
  override visitDataTypeImm(expr: DataTypeImm): Expr {
    return expr;
  }
  override visitExternFunc(expr: ExternFunc): Expr {
    return expr;
  }
  override visitPrimFunc(expr: PrimFunc): Expr {
    return expr;
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

/** Returns the default hook of a node's kind: it rebuilds the node over its new parts. */
export function plainHook(expr: Expr): (this: ExprMutator, expr: Expr) => Expr {
  return ExprMutator.prototype[HOOKS[expr.kind] ?? "visitOther"] as never;
}
