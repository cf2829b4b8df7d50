/** Visitors and mutators as Relax has them (`relax/ir/expr_functor.cc`): without a memo, and the mutator with a builder. */
import { BlockBuilder } from "./builder";
import { KIND } from "./calls";
import { ExprVisitor, HookError, hookOf } from "./functor";
import type { IRModule } from "./module";
import { ExprMutator, plainHook } from "./mutator";
import { DataflowVar, Expr, type Func, type If, needExpr, rebuilt, Var } from "./nodes";
import {
  type Binding,
  type BindingBlock,
  type DataflowBlock,
  MatchCast,
  needBlock,
  type SeqExpr,
  VarBinding,
} from "./relax";
import { type Dim, ShapeType, shown, TensorType } from "./types";

/** A visitor without a memo: a node with two uses is visited twice. */
export class RelaxExprVisitor extends ExprVisitor {
  override visit(expr: Expr, ...args: unknown[]): void {
    if (args.length > 0 || this.hasArgs) this.visitWith(expr, args);
    else this.dispatch(needExpr(expr));
  }
}

/**
 * A mutator of programs in normal form. Bindings are emitted into its `builder` one after the other, so a hook may emit
 * more; results of hooks are put into normal form and typed.
 */
export class RelaxExprMutator extends ExprMutator {
  readonly builder: BlockBuilder;
  /** The replacements of variables, by `vid`. */
  readonly varRemap = new Map<number, Var>();

  constructor(module?: IRModule) {
    super();
    this.builder = new BlockBuilder(module);
  }

  override visit(expr: Expr, ...args: unknown[]): Expr {
    return args.length > 0 || this.hasArgs
      ? this.visitWith(expr, args)
      : this.dispatch(needExpr(expr));
  }

  protected override dispatch(expr: Expr): Expr {
    const given = this.hook(expr);
    if (given === expr) return expr;
    if (expr instanceof Var && given === this.varRemap.get(expr.vid)) return given;
    if (!(given instanceof Expr))
      throw new HookError(this.constructor.name, hookOf(expr), given ? shown(given) : "nothing");
    const result = needExpr(given);
    const post = this.builder.normalize(result);
    if (result.from === expr) {
      post.from ??= expr;
      return post;
    }
    if (this.noted(expr, post)) return post;
    // The fuel is used up, so this rewrite is undone.
    const plain = this.plain(expr);
    return plain === expr ? expr : this.builder.normalize(plain);
  }

  /** Rebuilds the node without the user's hooks. */
  protected plain(expr: Expr): Expr {
    const own = PLAIN.get(expr.kind);
    return own ? own.call(this, expr as never) : plainHook(expr).call(this, expr);
  }

  /** Returns the value that a variable is bound to now; null for parameters. */
  lookupBinding(variable: Expr): Expr | null {
    if (!(variable instanceof Var)) return null;
    return this.builder.lookupBinding(this.varRemap.get(variable.vid) ?? variable);
  }

  override visitVar(expr: Var): Expr {
    return this.varRemap.get(expr.vid) ?? expr;
  }

  override visitFunction(expr: Func): Expr {
    const params = expr.params.map((param) => this.define(param));
    const body = this.visitWithNewScope(expr.body, params);
    if (body === expr.body && params.every((param, at) => param === expr.params[at])) return expr;
    const words = [...expr.words.subarray(2)];
    words[0] = body.id;
    words.splice(5, params.length, ...params.map((param) => param.id));
    return rebuilt(expr, words);
  }

  private define(variable: Var): Var {
    const after = this.visitVarDef(variable);
    if (after !== variable) this.varRemap.set(variable.vid, after);
    return after;
  }

  /** Visits the body of a function: only the symbols of its parameters are known in it. */
  visitWithNewScope(expr: Expr, params: readonly Var[] = []): Expr {
    this.builder.beginScope(params);
    this.builder.beginInnerScope();
    try {
      return this.part(expr);
    } finally {
      this.builder.endScope();
      this.builder.endScope();
    }
  }

  /** Visits a branch, in which the outer bindings are known. */
  visitWithInnerScope(expr: Expr): Expr {
    this.builder.beginInnerScope();
    try {
      return this.part(expr);
    } finally {
      this.builder.endScope();
    }
  }

  override visitIf(expr: If): Expr {
    const cond = this.part(expr.cond);
    const then = this.visitWithInnerScope(expr.trueBranch);
    const other = this.visitWithInnerScope(expr.falseBranch);
    if (cond === expr.cond && then === expr.trueBranch && other === expr.falseBranch) return expr;
    return rebuilt(expr, [cond.id, then.id, other.id]);
  }

  override visitSeqExpr(expr: SeqExpr): Expr {
    const dataflow = this.builder.currentBlockIsDataflow;
    const blocks: BindingBlock[] = [];
    for (const block of expr.blocks) {
      const after = needBlock(this.visitBindingBlock(block));
      if (after.bindings.length > 0) blocks.push(after);
    }
    // The bindings for the result stand in a block of their own.
    const body = this.inBlock(dataflow, undefined, (done) => {
      const result = this.part(expr.body);
      const more = done();
      if (more.bindings.length > 0) blocks.push(more);
      return result;
    });
    const unchanged = blocks.every((block, at) => block === expr.blocks[at]);
    if (unchanged && blocks.length === expr.blocks.length && body === expr.body) return expr;
    return rebuilt(expr, [body.id, ...blocks.map((block) => block.id)]);
  }

  /** Opens a block around `f`, which closes it; also when `f` throws. */
  private inBlock<T>(
    dataflow: boolean,
    pre: BindingBlock | undefined,
    f: (done: () => BindingBlock) => T,
  ): T {
    if (dataflow) this.builder.beginDataflowBlock();
    else this.builder.beginBindingBlock();
    let closed = false;
    const done = () => {
      closed = true;
      return this.builder.endBlock(pre);
    };
    try {
      return f(done);
    } finally {
      if (!closed) done();
    }
  }

  override visitBindingBlock_(block: BindingBlock): BindingBlock {
    return this.inBlock(false, block, (done) => {
      for (const binding of block.bindings) this.visitBinding(binding);
      return done();
    });
  }

  override visitDataflowBlock(block: DataflowBlock): BindingBlock {
    return this.inBlock(true, block, (done) => {
      for (const binding of block.bindings) this.visitBinding(binding);
      return done();
    });
  }

  override visitVarBinding(binding: VarBinding): void {
    this.reEmitBinding(binding, this.part(binding.value));
  }

  override visitMatchCast(binding: MatchCast): void {
    const value = this.part(binding.value);
    const type = this.visitType(binding.type);
    const variable = this.define(binding.var);
    if (value === binding.value && type === binding.type && variable === binding.var) {
      this.builder.emitNormalized(binding);
      return;
    }
    const operand = this.builder.normalizeArgument(value);
    const after = variable.typeAnnotation === type ? variable : variable.withType(type);
    this.varRemap.set(binding.var.vid, after);
    this.builder.emitNormalized(new MatchCast(after, operand, type));
  }

  /** Binds the new value of a binding: the binding itself if unchanged, else to the variable with the new type. */
  reEmitBinding(binding: VarBinding, value: Expr): void {
    const variable = this.define(binding.var);
    if (value === binding.value && variable === binding.var) {
      this.builder.emitNormalized(binding);
      return;
    }
    const type = value.checkedType ?? (value instanceof Var ? value.typeAnnotation : null);
    const after = type && variable.typeAnnotation !== type ? variable.withType(type) : variable;
    if (after !== binding.var) this.varRemap.set(binding.var.vid, after);
    this.builder.emitNormalized(new VarBinding(after, value));
  }
}

/** Default hooks of the mutator of normal form, for restoring. */
const PLAIN = new Map<number, (this: RelaxExprMutator, expr: never) => Expr>();
for (const kind of ["Var", "If", "Function", "SeqExpr"] as const)
  PLAIN.set(KIND[kind], RelaxExprMutator.prototype[`visit${kind}`] as never);

/** A mutator whose hooks are called in dataflow blocks only: bindings outside of them are left as they are. */
export class DataflowMutator extends RelaxExprMutator {
  private inside = false;

  protected override hook(expr: Expr): Expr {
    return this.inside ? super.hook(expr) : this.plain(expr);
  }

  override visitDataflowBlock(block: DataflowBlock): BindingBlock {
    const outer = this.inside;
    this.inside = true;
    try {
      return super.visitDataflowBlock(block);
    } finally {
      this.inside = outer;
    }
  }

  override visitBinding(binding: Binding): void {
    if (this.inside) super.visitBinding(binding);
    else if (binding instanceof MatchCast) super.visitMatchCast(binding);
    else super.visitVarBinding(binding);
  }
}

/** Returns the names visible after a block: variables, and the symbols that its casts define. */
function visible(block: BindingBlock): { vars: Set<Var>; symbols: Set<Dim> } {
  const [vars, symbols] = [new Set<Var>(), new Set<Dim>()];
  for (const binding of block.bindings) {
    if (!(binding.var instanceof DataflowVar)) vars.add(binding.var);
    const type = binding instanceof MatchCast ? binding.type : null;
    const dims =
      type instanceof TensorType ? type.shape : type instanceof ShapeType ? type.values : null;
    for (const dim of dims ?? []) if (typeof dim !== "number") symbols.add(dim);
  }
  return { vars, symbols };
}

/** Refuses changes that a dataflow block pass must not make, in TVM's words. */
export function keepsOutputs(before: BindingBlock, after: BindingBlock): void {
  const [old, now] = [visible(before), visible(after)];
  for (const variable of old.vars)
    if (!now.vars.has(variable))
      throw new Error(
        `DataflowBlock Pass should not rewrite or delete any global-scope Var: ${variable.nameHint}`,
      );
  for (const symbol of old.symbols)
    if (!now.symbols.has(symbol))
      throw new Error(
        `DataflowBlock Pass should not rewrite or delete any symbolic Var declared by a MatchCast: ${symbol}`,
      );
}
