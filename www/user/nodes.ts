/** Nodes of a program. The same node is the same object, so `===` is TVM's identity; nodes never change. */
import { type Attrs, attrsAt, attrsIdOf } from "./attrs";
import { KIND } from "./calls";
import { cross, here, nameOf, type Space, space, wordsOf } from "./engine";
import { print } from "./output";
import { Span, spanOf } from "./span";
import { ARRAYS } from "./tensor";
import {
  asType,
  type Dim,
  needType,
  Raw,
  shown,
  TensorType,
  Type,
  type TypeVar,
  typeAt,
} from "./types";

/** Makes a node of the engine; with `pre` one that means the same over other parts. */
export function build(kind: number, words: readonly number[], pre?: Expr): Raw {
  const given = Uint32Array.from(words);
  const id = cross().user_build(kind, pre ? pre.id + 1 : 0, given);
  if (kind >= KIND.SeqExpr) return new Raw(id, cross().user_expr(id));
  const whole = new Uint32Array(given.length + 2);
  whole[0] = kind;
  // A copy has the type of its original, until types are inferred again; in Relax it has none.
  whole[1] = pre && !pre.space.relax ? (pre.words[1] as number) : 0;
  whole.set(given, 2);
  return new Raw(id, whole);
}

export abstract class Expr {
  readonly space: Space = space();
  readonly id: number;
  /** The kind, the type, and the fields; for the modules of the API. */
  readonly words: Uint32Array;
  /** The node that this one is a copy of, when a mutator made it by visiting the parts. */
  from: Expr | null = null;
  private list: readonly Expr[] | null = null;

  constructor(raw: Raw) {
    if (!(raw instanceof Raw))
      throw new TypeError(
        `new ${new.target.name}(${shown(raw)}) makes no node: see its documentation`,
      );
    this.id = raw.id;
    this.words = raw.words;
    const known = this.space.nodes.get(raw.id);
    // biome-ignore lint/correctness/noConstructorReturn: the same node is the same object
    if (known) return known as this;
    this.space.nodes.set(raw.id, this);
  }

  get kind(): number {
    return this.words[0] as number;
  }

  /** Returns the type that InferType found; null before it has run. Stale on a node that a mutator copied. */
  get checkedType(): Type | null {
    return this.typeOrNull(1);
  }

  /** Returns the same by the name that it had in Relax. */
  get structInfo(): Type | null {
    return this.checkedType;
  }

  /** Returns the types that it had under the names of the first Relax. */
  get checkedType_(): Type | null {
    return this.checkedType;
  }
  get _checked_type_(): Type | null {
    return this.checkedType;
  }

  /** Returns the place in the program that the expression stands for; null if it has none. */
  get span(): Span | null {
    here(this.space);
    return spanOf(this.id);
  }

  /** Prints it to the console. */
  show(): void {
    print(String(this));
  }

  /** Returns the program that the node is, as TVM prints it. */
  toString(): string {
    here(this.space);
    return cross().user_text(this.id);
  }

  protected typeOrNull(index: number): Type | null {
    here(this.space);
    const id = this.words[index] as number;
    return id === 0 ? null : typeAt(id - 1);
  }

  protected node(index: number): Expr {
    return nodeAt(this.words[index] as number, this.space);
  }

  /** Returns the one list of nodes that the node has. */
  protected nodes(from: number, to = this.words.length): readonly Expr[] {
    if (this.list) return this.list;
    const list: Expr[] = [];
    for (let at = from; at < to; at++) list.push(nodeAt(this.words[at] as number, this.space));
    this.list = Object.freeze(list);
    return list;
  }

  protected named(index: number): string {
    here(this.space);
    return nameOf(this.words[index] as number);
  }
}

export { Span };

export function needExpr(value: unknown, what = "an expression"): Expr {
  if (!(value instanceof Expr))
    throw new TypeError(`${what} is needed here, not ${shown(value)}${hint(value)}`);
  here(value.space);
  return value;
}

function hint(value: unknown): string {
  return typeof value === "number" ? `: write constant(${value})` : "";
}

/** Returns the ids of nodes, after checking each. */
export function idsOf(list: readonly Expr[]): number[] {
  if (!Array.isArray(list)) throw new TypeError(`a list is needed here, not ${shown(list)}`);
  return list.map((item) => needExpr(item).id);
}

export function needVar(value: unknown): Var {
  const node = needExpr(value, "a variable");
  if (!(node instanceof Var)) throw new TypeError(`a variable is needed here, not ${shown(value)}`);
  return node;
}

/** A variable: its binding and its uses are the same object. */
export class Var extends Expr {
  /** The last argument is the type of tensor, if the second one is a shape, as in the first Relax. */
  constructor(name: string | Raw, type?: Annotation, dtype: TensorType | string | null = null) {
    if (name instanceof Raw) super(name);
    else {
      const own = new.target === DataflowVar;
      const annotation = annotationOf(type, dtype);
      const id = annotation ? annotation.id + 1 : 0;
      super(rawOf(cross().user_var(String(name), id, 0, own)));
    }
  }
  /** True if in Relax it is visible in its dataflow block only. */
  get isDataflow(): boolean {
    return this.words[5] === 1;
  }
  get nameHint(): string {
    return this.named(2);
  }
  get typeAnnotation(): Type | null {
    return this.typeOrNull(3);
  }
  /** Returns the identity that a variable keeps across different annotations. */
  get vid(): number {
    return this.words[4] as number;
  }
  /** Returns the same variable with another annotation. */
  withType(type: Type): Var {
    here(this.space);
    const id = cross().user_var(this.nameHint, needType(type).id + 1, this.id + 1, false);
    return nodeAt(id) as Var;
  }
}

/** Relax: a variable that is visible in its dataflow block only. */
export class DataflowVar extends Var {}

/** A type, or of a tensor its shape alone. */
type Annotation = Type | string | readonly Dim[] | Expr | null;

/** Converts an annotation: a type, or a shape and an element type or tensor type. */
export function annotationOf(
  type: Annotation | undefined,
  dtype: TensorType | string | null,
): Type | null {
  if (type === undefined || type === null) return dtype instanceof Type ? dtype : null;
  const dims = Array.isArray(type) ? type : type instanceof Expr ? shapeValues(type) : null;
  if (dims) return new TensorType(dims, dtype instanceof Type ? dtype.dtype : (dtype ?? "float32"));
  return asType(type as Type | string);
}

/** Returns the extents of a shape that is a value. */
function shapeValues(expr: Expr): readonly Dim[] {
  if (expr.kind !== KIND.ShapeExpr)
    throw new TypeError(`a type or a shape is needed here, not ${shown(expr)}`);
  return (expr as Expr & { values: readonly Dim[] }).values;
}

export class GlobalVar extends Expr {
  constructor(name: string | Raw) {
    super(name instanceof Raw ? name : rawOf(cross().user_leaf(String(name), false)));
  }
  get nameHint(): string {
    return this.named(2);
  }
}

/** The attributes that TVM registers for an operator, by their names. */
const OP_ATTRS: Record<string, number> = {
  TOpIsStateful: 2,
  TOpPattern: 3,
  TNonComputational: 5,
};

/** An operator. It can be called: `op("add")` makes `add`, and `add.call(x, y)` a call of it. */
export class Op extends Expr {
  private facts: unknown[] | null = null;
  constructor(name: string | Raw) {
    super(name instanceof Raw ? name : rawOf(cross().user_leaf(String(name), true)));
  }
  get name(): string {
    return nameOf(this.words[2] as number);
  }
  private fact(index: number): unknown {
    this.facts ??= cross().user_op(nameOf(this.words[2] as number));
    return this.facts[index];
  }
  get description(): string {
    return this.fact(0) as string;
  }
  /** Returns the names of the inputs. */
  get inputs(): readonly string[] {
    return this.fact(1) as string[];
  }
  get isStateful(): boolean {
    return this.fact(2) as boolean;
  }
  /** True if a call has no side effects: in Relax TVM's `FPurity`. */
  get isPure(): boolean {
    return this.fact(6) as boolean;
  }
  /** True if its calls have attributes. */
  get hasAttrs(): boolean {
    return this.fact(7) as boolean;
  }
  /** True if it can be evaluated here. */
  get hasKernel(): boolean {
    return this.fact(4) as boolean;
  }
  /** Returns `TOpIsStateful`, `TOpPattern` or `TNonComputational`; null if it is not registered. */
  getAttr(name: string): unknown {
    const index = OP_ATTRS[name];
    const value = index === undefined ? null : this.fact(index);
    return value === -1 ? null : value;
  }
}

export class Constructor extends Expr {
  get nameHint(): string {
    return this.named(2);
  }
  /** Returns the name of the type that it belongs to. */
  get belongTo(): string {
    return this.named(3);
  }
  get tag(): number {
    return this.words[4] as number;
  }
  get inputs(): readonly Type[] {
    here(this.space);
    return Object.freeze(Array.from(this.words.subarray(5), typeAt));
  }
}

export class Tuple extends Expr {
  constructor(fields: readonly Expr[] | Raw) {
    super(fields instanceof Raw ? fields : build(KIND.Tuple, idsOf(fields)));
  }
  get fields(): readonly Expr[] {
    return this.nodes(2);
  }
}

export class TupleGetItem extends Expr {
  constructor(tuple: Expr | Raw, index = 0) {
    super(
      tuple instanceof Raw ? tuple : build(KIND.TupleGetItem, [needExpr(tuple).id, index >>> 0]),
    );
  }
  /** The tuple; TVM's C++ says `tuple`, its Python `tuple_value`. */
  get tuple(): Expr {
    return this.node(2);
  }
  get tupleValue(): Expr {
    return this.node(2);
  }
  get index(): number {
    return this.words[3] as number;
  }
}

export type AttrsLike = Attrs | Record<string, unknown> | null;

export class Call extends Expr {
  constructor(
    op: Expr | Raw,
    args: readonly Expr[] = [],
    attrs: AttrsLike = null,
    typeArgs: readonly Type[] | null = null,
  ) {
    if (op instanceof Raw) super(op);
    else {
      const callee = needExpr(op);
      const attrsId = attrsIdOf(attrs, callee instanceof Op ? callee : null);
      const types = (typeArgs ?? []).map((type) => needType(type).id);
      super(build(KIND.Call, [callee.id, attrsId, types.length, ...types, ...idsOf(args)]));
    }
  }
  get op(): Expr {
    return this.node(2);
  }
  get args(): readonly Expr[] {
    return this.nodes(5 + (this.words[4] as number));
  }
  get attrs(): Attrs | null {
    here(this.space);
    const id = this.words[3] as number;
    return id === 0 ? null : attrsAt(id - 1);
  }
  get typeArgs(): readonly Type[] {
    here(this.space);
    return Object.freeze(Array.from(this.words.subarray(5, 5 + (this.words[4] as number)), typeAt));
  }
}

export class Let extends Expr {
  constructor(variable: Var | Raw, value?: Expr, body?: Expr) {
    if (variable instanceof Raw) super(variable);
    else super(build(KIND.Let, [needVar(variable).id, needExpr(value).id, needExpr(body).id]));
  }
  get var(): Var {
    return this.node(2) as Var;
  }
  get value(): Expr {
    return this.node(3);
  }
  get body(): Expr {
    return this.node(4);
  }
}

export class If extends Expr {
  constructor(cond: Expr | Raw, trueBranch?: Expr, falseBranch?: Expr) {
    if (cond instanceof Raw) super(cond);
    else
      super(
        build(
          KIND.If,
          [cond, trueBranch, falseBranch].map((part, at) =>
            at === 0 ? needExpr(part).id : blockBody(needExpr(part)),
          ),
        ),
      );
  }
  get cond(): Expr {
    return this.node(2);
  }
  get trueBranch(): Expr {
    return this.node(3);
  }
  get falseBranch(): Expr {
    return this.node(4);
  }
}

function needTypeVar(value: unknown): TypeVar {
  return needType(value) as TypeVar;
}

/** Bodies and branches of Relax are sequences of blocks: the id of one. */
function blockBody(body: Expr): number {
  if (!body.space.relax || body.kind === KIND.SeqExpr) return body.id;
  return build(KIND.SeqExpr, [body.id]).id;
}

/** A function. In a script it is called `Function`, as in TVM, and also `Func`. In Relax the fourth one is its purity. */
export class Func extends Expr {
  constructor(
    params: readonly Var[] | Raw,
    body?: Expr,
    retType: Type | string | null = null,
    typeParams: readonly TypeVar[] | boolean = [],
    attrs: AttrsLike = null,
  ) {
    if (params instanceof Raw) super(params);
    else {
      const ret = retType === null ? 0 : asType(retType).id + 1;
      const pure = typeParams === false ? 0 : 1;
      const own = Array.isArray(typeParams) ? (typeParams as readonly TypeVar[]) : [];
      const vars = params.map((param) => needVar(param).id);
      const head = [blockBody(needExpr(body)), ret, attrsIdOf(attrs, null), pure, vars.length];
      super(build(KIND.Function, [...head, ...vars, ...own.map((one) => needTypeVar(one).param)]));
    }
  }
  /** True if in Relax it has no side effects. */
  get isPure(): boolean {
    return this.words[5] === 1;
  }
  get body(): Expr {
    return this.node(2);
  }
  get retType(): Type | null {
    return this.typeOrNull(3);
  }
  get attrs(): Attrs | null {
    here(this.space);
    const id = this.words[4] as number;
    return id === 0 ? null : attrsAt(id - 1);
  }
  get params(): readonly Var[] {
    return this.nodes(7, 7 + (this.words[6] as number)) as readonly Var[];
  }
  /** Returns the ids of the type parameters. */
  get typeParamIds(): readonly number[] {
    return Array.from(this.words.subarray(7 + (this.words[6] as number)));
  }
  /** Returns the same function with another attribute (TVM's `with_attr`). */
  withAttr(name: string, value: unknown): Func {
    const attrs = { ...this.attrs, [name]: value };
    const words = [...this.words.subarray(2)];
    words[2] = attrsIdOf(attrs, null);
    return new Func(build(KIND.Function, words, this));
  }
}

export class RefCreate extends Expr {
  constructor(value: Expr | Raw) {
    super(value instanceof Raw ? value : build(KIND.RefCreate, [needExpr(value).id]));
  }
  get value(): Expr {
    return this.node(2);
  }
}

export class RefRead extends Expr {
  constructor(ref: Expr | Raw) {
    super(ref instanceof Raw ? ref : build(KIND.RefRead, [needExpr(ref).id]));
  }
  get ref(): Expr {
    return this.node(2);
  }
}

export class RefWrite extends Expr {
  constructor(ref: Expr | Raw, value?: Expr) {
    super(ref instanceof Raw ? ref : build(KIND.RefWrite, [needExpr(ref).id, needExpr(value).id]));
  }
  get ref(): Expr {
    return this.node(2);
  }
  get value(): Expr {
    return this.node(3);
  }
}

/** A node of a kind that this API does not know. */
export class OtherExpr extends Expr {}

/** A tensor that is known. Made by `constant(...)`. */
export class Constant extends Expr {
  private read: unknown[] | null = null;
  private tensor(): [string, number[], Uint8Array | null] {
    here(this.space);
    this.read ??= cross().user_constant(this.id);
    return this.read as [string, number[], Uint8Array | null];
  }
  get dtype(): string {
    return this.tensor()[0];
  }
  get shape(): readonly number[] {
    return this.tensor()[1];
  }
  /** Returns the elements in row-major order, as a typed array; null where the program does not hold them. */
  get data(): ArrayLike<number | bigint> | null {
    const [dtype, , bytes] = this.tensor();
    if (!bytes) return null;
    const array = ARRAYS[dtype];
    return array ? array(bytes.slice().buffer as ArrayBuffer) : bytes.slice();
  }
  /** Returns the one element of a scalar. */
  get value(): number | bigint | null {
    return this.shape.length === 0 ? (this.data?.[0] ?? null) : null;
  }
}

/** Classes of nodes by kind; those of Relax come from where they are. */
export const CLASSES: (new (raw: never) => Expr)[] = [
  Var,
  GlobalVar,
  Op,
  Constructor,
  Constant,
  Tuple,
  TupleGetItem,
  Call,
  Let,
  If,
  Func,
  OtherExpr,
  RefCreate,
  RefRead,
  RefWrite,
];

function rawOf(id: number): Raw {
  return new Raw(id, wordsOf(id));
}

/** Returns the node with that id. */
export function nodeAt(id: number, owner: Space = space()): Expr {
  if (owner !== space()) here(owner);
  const known = owner.nodes.get(id);
  if (known) return known as Expr;
  const raw = rawOf(id);
  if (raw.words[0] === KIND.Var && raw.words[5] === 1) return new DataflowVar(raw);
  return new (CLASSES[raw.words[0] as number] ?? OtherExpr)(raw as never);
}

/** Returns a copy of `pre` over other parts, as a mutator makes for a node whose parts have changed. */
export function rebuilt(pre: Expr, words: readonly number[]): Expr {
  here(pre.space);
  const raw = build(pre.kind, words, pre);
  const node = new (CLASSES[pre.kind] ?? OtherExpr)(raw as never);
  node.from = pre;
  return node;
}
