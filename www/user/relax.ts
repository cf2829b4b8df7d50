/** The nodes of Relax alone: binding blocks, shapes and scalars as values, tensor programs, calls of operators. */

import { attrsAt, attrsIdOf } from "./attrs";
import { KIND } from "./calls";
import { cross, here, nameId, type Space, space } from "./engine";
import {
  type AttrsLike,
  annotationOf,
  build,
  Call,
  CLASSES,
  Expr,
  Func,
  needExpr,
  needVar,
  nodeAt,
  Op,
  Tuple,
  type Var,
} from "./nodes";
import type { Stmt, Var as TirVar } from "./tir";
import { Buffer, makePrimFunc, primFuncParts } from "./tir-buffer";
import {
  asType,
  type Dim,
  dimAt,
  dimWords,
  needType,
  Raw,
  SymbolicDim,
  shown,
  TensorType,
  Type,
  typeAt,
} from "./types";

/** One line of a block. The same binding is the same object. */
export abstract class Binding {
  readonly space: Space = space();
  readonly var: Var;
  readonly value: Expr;
  constructor(variable: Var, value: Expr, cast = 0) {
    this.var = needVar(variable);
    this.value = needExpr(value);
    const key = `${this.var.id},${this.value.id},${cast}`;
    const known = this.space.bindings.get(key);
    // biome-ignore lint/correctness/noConstructorReturn: the same binding is the same object
    if (known) return known as this;
    this.space.bindings.set(key, this);
  }
  /** For the engine. */
  abstract get words(): number[];
}

/** `var = value` */
export class VarBinding extends Binding {
  override get words(): number[] {
    return [this.var.id, this.value.id, 0];
  }
  override toString(): string {
    return `${this.var.nameHint} = ${this.value}`;
  }
}

/** `var = R.match_cast(value, type)`: the type is checked when the program runs, and its symbols are defined. */
export class MatchCast extends Binding {
  private readonly cast: number;
  constructor(variable: Var, value: Expr, type: Type | string) {
    const cast = asType(type).id + 1;
    super(variable, value, cast);
    this.cast = cast;
  }
  get type(): Type {
    return typeAt(this.cast - 1);
  }
  override get words(): number[] {
    return [this.var.id, this.value.id, this.cast];
  }
  override toString(): string {
    return `${this.var.nameHint} = match_cast(${this.value}, ${this.type})`;
  }
}

function bindingAt(words: Uint32Array, at: number): Binding {
  const [variable = 0, value = 0, cast = 0] = words.subarray(at, at + 3);
  const bound = nodeAt(variable) as Var;
  return cast === 0
    ? new VarBinding(bound, nodeAt(value))
    : new MatchCast(bound, nodeAt(value), typeAt(cast - 1));
}

/** Bindings in order. */
export class BindingBlock {
  readonly space: Space = space();
  readonly id: number;
  readonly bindings: readonly Binding[];
  constructor(bindings: readonly Binding[] | Raw, dataflow = false) {
    let words: Uint32Array;
    if (bindings instanceof Raw) words = bindings.words;
    else {
      for (const one of bindings)
        if (!(one instanceof Binding))
          throw new TypeError(`a binding is needed here, not ${shown(one)}`);
      words = cross().user_block(dataflow, Uint32Array.from(bindings.flatMap((one) => one.words)));
    }
    this.id = words[0] as number;
    const list: Binding[] = [];
    for (let at = 3; at < words.length; at += 3) list.push(bindingAt(words, at));
    this.bindings = Object.freeze(list);
    this.space.blocks.set(this.id, this);
  }
  get isDataflow(): boolean {
    return false;
  }
  toString(): string {
    return this.bindings.join("\n");
  }
}

/** Bindings without side effects and branches. */
export class DataflowBlock extends BindingBlock {
  constructor(bindings: readonly Binding[] | Raw) {
    super(bindings, true);
  }
  override get isDataflow(): boolean {
    return true;
  }
}

/** Reads a block from `id, whether it is a dataflow block, number of bindings, bindings`. */
export function blockFrom(words: Uint32Array): BindingBlock {
  const known = space().blocks.get(words[0] as number);
  if (known) return known as BindingBlock;
  const raw = new Raw(words[0] as number, words);
  return words[1] === 1 ? new DataflowBlock(raw) : new BindingBlock(raw);
}

export function needBlock(value: unknown): BindingBlock {
  if (!(value instanceof BindingBlock))
    throw new TypeError(`a block is needed here, not ${shown(value)}`);
  here(value.space);
  return value;
}

/** Blocks, then a result: the body of a function or branch. */
export class SeqExpr extends Expr {
  private parts: readonly BindingBlock[] | null = null;
  constructor(blocks: readonly BindingBlock[] | Raw, body?: Expr) {
    super(
      blocks instanceof Raw
        ? blocks
        : build(KIND.SeqExpr, [needExpr(body).id, ...blocks.map((one) => needBlock(one).id)]),
    );
  }
  get blocks(): readonly BindingBlock[] {
    here(this.space);
    if (this.parts) return this.parts;
    const blocks: BindingBlock[] = [];
    for (let at = 3; at < this.words.length; ) {
      const length = 3 + 3 * (this.words[at + 2] as number);
      blocks.push(blockFrom(this.words.subarray(at, at + length)));
      at += length;
    }
    this.parts = Object.freeze(blocks);
    return blocks;
  }
  get body(): Expr {
    return this.node(2);
  }
}

/** `R.shape([n, 4])` */
export class ShapeExpr extends Expr {
  constructor(values: readonly Dim[] | Raw) {
    super(values instanceof Raw ? values : build(KIND.ShapeExpr, values.flatMap(dimWords)));
  }
  get values(): readonly Dim[] {
    here(this.space);
    const dims: Dim[] = [];
    for (let at = 2; at < this.words.length; at += 3) dims.push(dimAt(this.words, at));
    return Object.freeze(dims);
  }
}

const HALVES = new DataView(new ArrayBuffer(8));

function primWords(value: Dim | number, dtype: string | undefined): number[] {
  if (typeof value !== "number") return dimWords(value);
  const type = dtype ?? (Number.isInteger(value) ? "int64" : "float32");
  const isInt = /^(u?int|bool)/.test(type);
  if (isInt && !Number.isSafeInteger(value)) throw new TypeError(`${value} is not of ${type}`);
  if (isInt) HALVES.setBigInt64(0, BigInt(value), true);
  else HALVES.setFloat64(0, value, true);
  const [low, high] = [HALVES.getUint32(0, true), HALVES.getUint32(4, true)];
  return [isInt ? 0 : 1, low, high, nameId(type)];
}

/** A scalar as a value: a number or symbolic arithmetic. */
export class PrimValue extends Expr {
  constructor(value: Dim | Raw, dtype?: string) {
    super(value instanceof Raw ? value : build(KIND.PrimValue, primWords(value, dtype)));
  }
  get value(): Dim {
    here(this.space);
    if (this.words[2] !== 6) return dimAt(this.words, 2);
    HALVES.setUint32(0, this.words[3] as number, true);
    HALVES.setUint32(4, this.words[4] as number, true);
    return HALVES.getFloat64(0, true);
  }
  get dtype(): string {
    return this.named(5);
  }
}

export class StringImm extends Expr {
  constructor(value: string | Raw) {
    super(value instanceof Raw ? value : build(KIND.StringImm, [nameId(String(value))]));
  }
  get value(): string {
    return this.named(2);
  }
}

export class DataTypeImm extends Expr {
  constructor(value: string | Raw) {
    super(value instanceof Raw ? value : build(KIND.DataTypeImm, [nameId(String(value))]));
  }
  get value(): string {
    return this.named(2);
  }
}

/** A function that is linked in, by its symbol. */
export class ExternFunc extends Expr {
  constructor(symbol: string | Raw) {
    super(symbol instanceof Raw ? symbol : build(KIND.ExternFunc, [nameId(String(symbol))]));
  }
  get globalSymbol(): string {
    return this.named(2);
  }
}

/** A tensor program: a statement over buffers and variables. */
export class PrimFunc extends Expr {
  private parts: ReturnType<typeof primFuncParts> | null = null;
  constructor(
    params: readonly (TirVar | Buffer)[] | Raw,
    body?: Stmt,
    retType: Type | string | null = null,
    attrs: AttrsLike = null,
    pre?: PrimFunc,
  ) {
    if (params instanceof Raw) super(params);
    else {
      const ret = retType === null ? 0 : asType(retType).id + 1;
      const id = makePrimFunc(params, body as Stmt, ret, attrsIdOf(attrs, null), pre);
      super(new Raw(id, cross().user_expr(id)));
    }
  }
  get attrs() {
    here(this.space);
    const id = this.words[2] as number;
    return id === 0 ? null : attrsAt(id - 1);
  }
  get retType(): Type | null {
    const id = this.read.ret;
    return id === null ? null : typeAt(id);
  }
  /** The statement that the program runs. */
  get body(): Stmt {
    return this.read.body;
  }
  /** Buffers and variables. */
  get params(): readonly (TirVar | Buffer)[] {
    return this.read.params;
  }
  private get read() {
    here(this.space);
    this.parts ??= primFuncParts(this.id);
    return this.parts;
  }
  /** Parameters that are buffers. */
  get buffers(): readonly Buffer[] {
    return this.params.filter((one) => one instanceof Buffer);
  }
  withAttr(name: string, value: unknown): PrimFunc {
    const attrs = attrsIdOf({ ...this.attrs, [name]: value }, null);
    return new PrimFunc(build(KIND.PrimFunc, [attrs], this));
  }
  /** Returns the same program with another body. */
  withBody(body: Stmt): PrimFunc {
    if (body === this.body) return this;
    return new PrimFunc(this.params, body, this.retType, this.attrs, this);
  }
}

/** The shape of a tensor's type as a value (`shape_` of the first Relax); null where it is not known. */
Object.defineProperty(Expr.prototype, "shape_", {
  get(this: Expr) {
    const type = this.checkedType;
    return type instanceof TensorType && type.shape ? new ShapeExpr(type.shape) : null;
  },
});

const OWN = [SeqExpr, ShapeExpr, PrimValue, StringImm, DataTypeImm, ExternFunc, PrimFunc];
for (const [at, one] of OWN.entries()) CLASSES[KIND.SeqExpr + at] = one as never;

/**
 * Makes a call of a function of tensors: `callTIR(gv, [x, w], new TensorType([4], "float32"))`. In the place of a type
 * there may be a shape, and then the element type behind it.
 */
export function callTIR(
  callee: Expr,
  args: readonly Expr[] | Expr,
  out: Type | string | Expr | readonly (Type | string)[] | readonly Dim[],
  dtype: string | { dtype: string } = "float32",
): Call {
  const [first] = Array.isArray(out) ? out : [];
  const isShape = out instanceof Expr || typeof first === "number" || first instanceof SymbolicDim;
  const element = typeof dtype === "string" ? dtype : dtype.dtype;
  const types = isShape ? annotationOf(out as Expr | Dim[], element) : out;
  return destination("relax.call_tir", callee, args, types as Type);
}

/** The same of a packed function, by its name. */
export function callDPSPacked(
  callee: Expr | string,
  args: readonly Expr[] | Expr,
  out: Type | string | readonly (Type | string)[],
): Call {
  const func = typeof callee === "string" ? new ExternFunc(callee) : callee;
  return destination("relax.call_dps_packed", func, args, out);
}

function destination(
  name: string,
  callee: Expr,
  args: readonly Expr[] | Expr,
  out: Type | string | readonly (Type | string)[],
): Call {
  const fields = Array.isArray(args) ? new Tuple(args) : needExpr(args);
  const types = (Array.isArray(out) ? out : [out]).map((one: Type | string) => asType(one));
  return new Call(new Op(name), [needExpr(callee), fields], null, types);
}

/** Makes a call of a packed function, which may have side effects: `callPacked("vm.print", [x], "R.Tensor")`. */
export function callPacked(
  callee: Expr | string,
  args: readonly Expr[],
  out: Type | string | readonly (Type | string)[] = [],
): Call {
  const func = typeof callee === "string" ? new ExternFunc(callee) : callee;
  const types = (Array.isArray(out) ? out : [out]).map((one: Type | string) => asType(one));
  return new Call(func, args, null, types);
}

/** Parses a text of one expression, over expressions that stand for names in it. */
export function fromText(text: string, named: ReadonlyMap<string, Expr>): Expr {
  const params = [...named.keys()].map((name) => `${name}: R.Any`).join(", ");
  const line = text.replace(/[\r\n]+/g, " ").trim();
  const source = `@R.function(private=True)\ndef main(${params}):\n    return ${line}\n`;
  const func = nodeAt(cross().user_parse(source)) as Func;
  const given = [...named.values()];
  const values = new Map<Expr, Expr>(func.params.map((param, at) => [param, given[at] as Expr]));
  const { blocks, body } = func.body as SeqExpr;
  const expand = (expr: Expr): Expr => {
    const known = values.get(expr);
    if (known) return known;
    if (expr instanceof Tuple) return new Tuple(expr.fields.map(expand));
    if (expr instanceof Call)
      return new Call(expand(expr.op), expr.args.map(expand), expr.attrs, expr.typeArgs);
    if (expr instanceof SeqExpr || expr instanceof Func)
      throw new TypeError("functions and blocks are read by parseModule");
    return expr;
  };
  for (const block of blocks)
    for (const { var: variable, value } of block.bindings) values.set(variable, expand(value));
  return expand(body);
}

/** Writes a value as Python does; expressions by a name. */
function python(value: unknown, named: Map<string, Expr>): string {
  const name = (expr: Expr) => {
    const text = `a${named.size}`;
    named.set(text, expr);
    return text;
  };
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Expr) return name(needExpr(value));
  if (value instanceof SymbolicDim) return name(new PrimValue(value));
  if (value instanceof Type) return String(needType(value));
  if (Array.isArray(value)) {
    const isShape = value.some((item) => item instanceof SymbolicDim);
    if (isShape) return name(new ShapeExpr(value as Dim[]));
    return `[${value.map((item) => python(item, named)).join(", ")}]`;
  }
  throw new TypeError(`an operator cannot be called with ${shown(value)}`);
}

/** Calls an operator as TVM's Python does: arguments that are no expressions become shapes, scalars or attributes. */
export function callOp(name: string, args: readonly unknown[], attrs: AttrsLike): Expr {
  const named = new Map<string, Expr>();
  const own = name.replace(/^relax\.|^op\./, "");
  const texts = args.map((arg) => python(arg, named));
  for (const [key, value] of Object.entries(attrs ?? {}))
    texts.push(`${key}=${python(value, named)}`);
  return fromText(`R.${own}(${texts.join(", ")})`, named);
}
