/** Types of Relay and Relax. Equal types are the same object. */
import { TYPE } from "./calls";
import { cross, here, nameId, nameOf, type Space, space } from "./engine";

/** An unknown extent: `?`. */
export const Any = Object.freeze({ toString: () => "?" });

export type Dim = number | typeof Any | SymbolicDim;

/** An extent that is not known before the program runs (`tir.Var`), or is computed of such. The same one is the same object. */
export class SymbolicDim {
  readonly space: Space = space();
  constructor(
    readonly kind: number,
    readonly id: number,
  ) {
    const key = `${kind}:${id}`;
    const known = this.space.dims.get(key);
    // biome-ignore lint/correctness/noConstructorReturn: the same extent is the same object
    if (known) return known as this;
    this.space.dims.set(key, this);
  }
  private with(op: string, other: Dim): Dim {
    const words = [...dimWords(this), ...dimWords(other)];
    return dimAt(cross().user_dim(op, Uint32Array.from(words)), 0);
  }
  add(other: Dim): Dim {
    return this.with("Add", other);
  }
  sub(other: Dim): Dim {
    return this.with("Sub", other);
  }
  mul(other: Dim): Dim {
    return this.with("Mul", other);
  }
  floordiv(other: Dim): Dim {
    return this.with("FloorDiv", other);
  }
  floormod(other: Dim): Dim {
    return this.with("FloorMod", other);
  }
  toString(): string {
    here(this.space);
    return cross().user_dim_text(Uint32Array.from(dimWords(this)));
  }
}

/** Makes a new symbolic extent. In a script it is called `tir.Var`. */
export function symbol(name: string, dtype = "int64"): SymbolicDim {
  return dimAt(cross().user_symbol(String(name), dtype), 0) as SymbolicDim;
}

/** Makes the object for an extent that is no number; `tir.ts` gives it. */
let dimOf = (kind: number, id: number): SymbolicDim => new SymbolicDim(kind, id);

export function setDims(make: typeof dimOf): void {
  dimOf = make;
}

/** Makes an extent from its three numbers. */
export function dimAt(words: Uint32Array, at: number): Dim {
  const [kind = 0, low = 0, high = 0] = words.subarray(at, at + 3);
  if (kind === 1) return Any;
  if (kind === 2 || kind === 3) return dimOf(kind, low);
  return (high | 0) * 2 ** 32 + low;
}

/** The argument of a constructor that makes the object for an existing node. */
export class Raw {
  constructor(
    readonly id: number,
    readonly words: Uint32Array,
  ) {}
}

function made(words: number[]): Raw {
  const array = Uint32Array.from(words);
  return new Raw(cross().user_make_type(array), array);
}

export abstract class Type {
  readonly space: Space = space();
  readonly id: number;
  protected readonly words: Uint32Array;

  constructor(raw: Raw) {
    this.id = raw.id;
    this.words = raw.words;
    const known = this.space.types.get(raw.id);
    // biome-ignore lint/correctness/noConstructorReturn: equal types are the same object
    if (known) return known as this;
    this.space.types.set(raw.id, this);
  }

  protected type(index: number): Type {
    here(this.space);
    return typeAt(this.words[index] as number);
  }

  protected list(from: number, to = this.words.length): readonly Type[] {
    here(this.space);
    return Object.freeze(Array.from(this.words.subarray(from, to), typeAt));
  }

  toString(): string {
    here(this.space);
    return cross().user_type_text(this.id);
  }
}

export function dimWords(dim: Dim): number[] {
  if (typeof dim === "number") {
    if (!Number.isSafeInteger(dim) || dim < 0) throw new TypeError(`${dim} is not an extent`);
    return [4, dim >>> 0, Math.floor(dim / 2 ** 32)];
  }
  if (dim instanceof SymbolicDim) {
    here(dim.space);
    return [dim.kind, dim.id, 0];
  }
  if (dim === Any) return [1, 0, 0];
  throw new TypeError(`an extent is needed here, not ${shown(dim)}`);
}

/** Encodes the known extents: each of them, their number, or nothing. */
function extentWords(shape: readonly Dim[] | null, ndim: number): number[] {
  if (shape) return [3, ...shape.flatMap((dim) => dimWords(dim))];
  return ndim < 0 ? [0] : [1, ndim];
}

function extentsAt(words: Uint32Array, at: number): { shape: readonly Dim[] | null; ndim: number } {
  if (words[at] === 1) return { shape: null, ndim: words[at + 1] as number };
  if (words[at] !== 3) return { shape: null, ndim: -1 };
  const shape: Dim[] = [];
  for (let dim = at + 1; dim < words.length; dim += 3) shape.push(dimAt(words, dim));
  return { shape: Object.freeze(shape), ndim: shape.length };
}

/** Makes a type whose words differ from the engine's: reads it again. */
function madeAnew(words: number[]): Raw {
  const id = cross().user_make_type(Uint32Array.from(words));
  return new Raw(id, cross().user_type(id));
}

/** A tensor. In Relax shape, element type or both may be unknown: `new TensorType(null, "float32", 2)`. */
export class TensorType extends Type {
  constructor(shape: readonly Dim[] | null | Raw, dtype: string | null = "float32", ndim = -1) {
    if (shape instanceof Raw) super(shape);
    else if (space().relax)
      super(madeAnew([11, dtype ? nameId(dtype) + 1 : 0, ...extentWords(shape, ndim)]));
    else if (!shape || !dtype) throw new TypeError("a tensor of Relay has a shape and a dtype");
    else super(made([TYPE.tensor, nameId(dtype), ...shape.flatMap((dim) => dimWords(dim))]));
  }
  /** The element type; empty if unknown. */
  get dtype(): string {
    const id = this.words[1] as number;
    if (this.words[0] === TYPE.tensor) return nameOf(id);
    return id === 0 ? "" : nameOf(id - 1);
  }
  /** The extents; null if unknown, as may be in Relax. */
  get shape(): readonly Dim[] {
    if (this.words[0] !== TYPE.tensor) return extentsAt(this.words, 2).shape as readonly Dim[];
    const dims: Dim[] = [];
    for (let at = 2; at < this.words.length; at += 3) dims.push(dimAt(this.words, at));
    return Object.freeze(dims);
  }
  /** Returns the number of axes, -1 where it is not known. */
  get ndim(): number {
    return this.words[0] === TYPE.tensor
      ? (this.words.length - 2) / 3
      : extentsAt(this.words, 2).ndim;
  }
}

/** Makes a tensor of so many axes, as the first Relax said: `DynTensorType(4, "float32")`. */
export function DynTensorType(ndim = -1, dtype: string | null = "float32"): TensorType {
  return new TensorType(null, dtype, ndim);
}

/** Relax: any value. */
export class AnyType extends Type {
  constructor(raw?: Raw) {
    super(raw ?? made([TYPE.any]));
  }
}

/** Relax: a scalar that is no tensor. */
export class PrimType extends Type {
  constructor(dtype: string | Raw) {
    super(dtype instanceof Raw ? dtype : made([TYPE.prim, nameId(dtype)]));
  }
  get dtype(): string {
    return nameOf(this.words[1] as number);
  }
}

/** Relax: a shape as a value. */
export class ShapeType extends Type {
  constructor(values: readonly Dim[] | null | Raw = null, ndim = -1) {
    super(values instanceof Raw ? values : madeAnew([10, ...extentWords(values, ndim)]));
  }
  get values(): readonly Dim[] | null {
    return extentsAt(this.words, 1).shape;
  }
  get ndim(): number {
    return extentsAt(this.words, 1).ndim;
  }
}

/** Relax: a packed function. */
export class PackedFuncType extends Type {
  constructor(raw?: Raw) {
    super(raw ?? made([TYPE.packedFunc]));
  }
}

/** Relax: a string as a value. */
export class StringType extends Type {
  constructor(raw?: Raw) {
    super(raw ?? made([TYPE.str]));
  }
}

export class TupleType extends Type {
  constructor(fields: readonly Type[] | Raw) {
    super(fields instanceof Raw ? fields : made([TYPE.tuple, ...ids(fields)]));
  }
  get fields(): readonly Type[] {
    return this.list(1);
  }
}

export class FuncType extends Type {
  /** In Relax the last one is whether a call has no side effects, and no arguments at all mean any. */
  constructor(
    argTypes: readonly Type[] | null | Raw,
    retType?: Type,
    typeParams: readonly TypeVar[] | boolean = [],
  ) {
    if (argTypes instanceof Raw) super(argTypes);
    else if (space().relax) {
      const head = [...ids([needType(retType)]), typeParams === false ? 0 : 1, argTypes ? 0 : 1];
      super(made([TYPE.callable, ...head, ...ids(argTypes ?? [])]));
    } else if (!argTypes || typeof typeParams === "boolean")
      throw new TypeError("a function type of Relay has argument types and type parameters");
    else {
      const ret = ids([needType(retType)]);
      const params = typeParams.map((param) => param.param);
      super(made([TYPE.func, ...ret, argTypes.length, ...ids(argTypes), ...params]));
    }
  }
  get retType(): Type {
    return this.type(1);
  }
  get argTypes(): readonly Type[] {
    return this.words[0] === TYPE.callable
      ? this.list(4)
      : this.list(3, 3 + (this.words[2] as number));
  }
  /** True if in Relax a call has no side effects. */
  get purity(): boolean {
    return this.words[0] === TYPE.callable ? this.words[2] === 1 : true;
  }
  /** True if in Relax the arguments are unknown. */
  get isOpaque(): boolean {
    return this.words[0] === TYPE.callable && this.words[3] === 1;
  }
  get hasTypeParams(): boolean {
    return this.words[0] === TYPE.func && this.words.length > 3 + (this.words[2] as number);
  }
}

export class RelayRefType extends Type {
  constructor(value: Type | Raw) {
    super(value instanceof Raw ? value : made([TYPE.ref, ...ids([value])]));
  }
  get value(): Type {
    return this.type(1);
  }
}

export class TypeVar extends Type {
  get name(): string {
    return nameOf(this.words[2] as number);
  }
  /** Returns the parameter itself, which functions list. */
  get param(): number {
    return this.words[1] as number;
  }
}

export class GlobalTypeVar extends Type {
  constructor(name: string | Raw) {
    super(name instanceof Raw ? name : made([TYPE.global, nameId(name)]));
  }
  get name(): string {
    return nameOf(this.words[1] as number);
  }
}

export class TypeCall extends Type {
  constructor(func: Type | Raw, args: readonly Type[] = []) {
    super(func instanceof Raw ? func : made([TYPE.apply, ...ids([func]), ...ids(args)]));
  }
  get func(): Type {
    return this.type(1);
  }
  get args(): readonly Type[] {
    return this.list(2);
  }
}

/** Not known yet. */
export class IncompleteType extends Type {}

/** A tensor that is spread over devices: it goes by as a whole. */
export class OtherType extends Type {}

const CLASSES = [
  TensorType,
  TupleType,
  FuncType,
  RelayRefType,
  TypeVar,
  GlobalTypeVar,
  TypeCall,
  IncompleteType,
  AnyType,
  PrimType,
  ShapeType,
  TensorType,
  FuncType,
  PackedFuncType,
  StringType,
] as const;

export function typeAt(id: number): Type {
  const known = space().types.get(id);
  if (known) return known as Type;
  const words = cross().user_type(id);
  const raw = new Raw(id, words);
  return new (CLASSES[words[0] as number] ?? OtherType)(raw as never);
}

export function needType(value: unknown): Type {
  if (!(value instanceof Type)) throw new TypeError(`a type is needed here, not ${shown(value)}`);
  here(value.space);
  return value;
}

function ids(types: readonly Type[]): number[] {
  return types.map((type) => needType(type).id);
}

/** Makes a type from a `Type`, or from how the text of a program writes one: `"Tensor[(1, 3), float32]"`. */
export function asType(value: Type | string): Type {
  if (typeof value !== "string") return needType(value);
  if (!space().relax) return typeAt(cross().user_parse_type(value));
  // As the annotation of a parameter.
  const text = `@R.function\ndef main(x: ${value.replace(/[\r\n]/g, " ")}):\n    return x\n`;
  const param = cross().user_expr(cross().user_parse(text))[7] as number;
  return typeAt((cross().user_expr(param)[3] as number) - 1);
}

/** Returns a value in an error message. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `the function ${value.name || "without a name"}`;
  if (typeof value === "object")
    return `${Array.isArray(value) ? "a list" : (value.constructor?.name ?? "an object")}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
