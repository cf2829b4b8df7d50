/** Types of Relay. Equal types are the same object. */
import { cross, here, nameId, nameOf, type Space, space } from "./engine";

/** An extent that may be anything: `?`. */
export const Any = Object.freeze({ toString: () => "?" });

/** An extent that is not known before the program runs, or is computed. */
export class SymbolicDim {
  constructor(
    readonly kind: number,
    readonly id: number,
  ) {}
}

export type Dim = number | typeof Any | SymbolicDim;

/** What is handed to a constructor to make the object for something that is there already. */
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

function dimWords(dim: Dim): number[] {
  if (typeof dim === "number") {
    if (!Number.isSafeInteger(dim) || dim < 0) throw new TypeError(`${dim} is not an extent`);
    return [32 << 8, dim >>> 0, Math.floor(dim / 2 ** 32)];
  }
  if (dim instanceof SymbolicDim) return [dim.kind, dim.id, 0];
  return [1, 0, 0];
}

export class TensorType extends Type {
  constructor(shape: readonly Dim[] | Raw, dtype = "float32") {
    super(
      shape instanceof Raw
        ? shape
        : made([0, nameId(dtype), ...shape.flatMap((dim) => dimWords(dim))]),
    );
  }
  get dtype(): string {
    return nameOf(this.words[1] as number);
  }
  get shape(): readonly Dim[] {
    const dims: Dim[] = [];
    for (let at = 2; at < this.words.length; at += 3) {
      const [kind = 0, low = 0, high = 0] = this.words.subarray(at, at + 3);
      if (kind === 1) dims.push(Any);
      else if (kind === 2 || kind === 3) dims.push(new SymbolicDim(kind, low));
      else dims.push((high | 0) * 2 ** 32 + low);
    }
    return Object.freeze(dims);
  }
}

export class TupleType extends Type {
  constructor(fields: readonly Type[] | Raw) {
    super(fields instanceof Raw ? fields : made([1, ...ids(fields)]));
  }
  get fields(): readonly Type[] {
    return this.list(1);
  }
}

export class FuncType extends Type {
  constructor(
    argTypes: readonly Type[] | Raw,
    retType?: Type,
    typeParams: readonly TypeVar[] = [],
  ) {
    if (argTypes instanceof Raw) super(argTypes);
    else {
      const ret = ids([needType(retType)]);
      const params = typeParams.map((param) => param.param);
      super(made([2, ...ret, argTypes.length, ...ids(argTypes), ...params]));
    }
  }
  get retType(): Type {
    return this.type(1);
  }
  get argTypes(): readonly Type[] {
    return this.list(3, 3 + (this.words[2] as number));
  }
  get hasTypeParams(): boolean {
    return this.words.length > 3 + (this.words[2] as number);
  }
}

export class RelayRefType extends Type {
  constructor(value: Type | Raw) {
    super(value instanceof Raw ? value : made([3, ...ids([value])]));
  }
  get value(): Type {
    return this.type(1);
  }
}

export class TypeVar extends Type {
  get name(): string {
    return nameOf(this.words[2] as number);
  }
  /** The parameter itself, which functions list. */
  get param(): number {
    return this.words[1] as number;
  }
}

export class GlobalTypeVar extends Type {
  constructor(name: string | Raw) {
    super(name instanceof Raw ? name : made([5, nameId(name)]));
  }
  get name(): string {
    return nameOf(this.words[1] as number);
  }
}

export class TypeCall extends Type {
  constructor(func: Type | Raw, args: readonly Type[] = []) {
    super(func instanceof Raw ? func : made([6, ...ids([func]), ...ids(args)]));
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

/** A type that only Relax has. */
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

/** A type from a `Type`, or from how the text of a program writes one: `"Tensor[(1, 3), float32]"`. */
export function asType(value: Type | string): Type {
  if (typeof value !== "string") return needType(value);
  return typeAt(cross().user_parse_type(value));
}

/** A value in an error message. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `the function ${value.name || "without a name"}`;
  if (typeof value === "object")
    return `${Array.isArray(value) ? "a list" : (value.constructor?.name ?? "an object")}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
