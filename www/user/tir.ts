/**
 * The inside of tensor programs: scalars, statements and buffers under TVM's names. A class is a line of
 * `tir-lines.ts`: its name, its constructor's arguments, and its fields in the engine's order (`src/wasm/user/table`), each with
 * a letter for how it crosses. Every node is made in the engine at once, so equal scalars are the same object.
 */
import { cross, here, nameOf, type Space, space } from "./engine";
import { didYouMean } from "./names";
import { Buffer, bufferAt } from "./tir-buffer";
import { BINARY, BUFFER_FIELDS, DEFAULTS, type Line, PRIMS, STMTS } from "./tir-lines";
import { axis, IterVar, match, maybePrim, PLAIN, Range, region } from "./tir-region";
import {
  type Fields,
  known,
  Out,
  PRIM,
  Row,
  rowOf,
  STMT,
  SYMBOL,
  strict,
  tables,
} from "./tir-table";
import { SymbolicDim, setDims, shown } from "./types";

type Part = TirExpr | Stmt | Buffer;
/** Gives the part in the place of a part. */
export type Mapper = (part: Part) => unknown;

/** A number, a truth value, a text or a scalar. */
export type Scalar = TirExpr | SymbolicDim | number | bigint | boolean | string;

/** A scalar. In Relax an extent that is no number is one, too. */
export class TirExpr extends SymbolicDim {
  declare FIELDS: Fields;
  get dtype(): string {
    return nameOf(rowOf(PRIM, this.prim)[1] as number);
  }
  /** The number of the scalar among scalars. */
  get prim(): number {
    return this.id;
  }
  private apply(op: number, other: Scalar, turned = false): TirExpr {
    const own = asPrim(other, this.dtype);
    const [a, b] = turned ? [own, this] : [this, own];
    return binary(op, a, b);
  }
  override add(other: Scalar): TirExpr {
    return this.apply(0, other);
  }
  override sub(other: Scalar): TirExpr {
    return this.apply(1, other);
  }
  override mul(other: Scalar): TirExpr {
    return this.apply(2, other);
  }
  override floordiv(other: Scalar): TirExpr {
    return this.apply(5, other);
  }
  override floormod(other: Scalar): TirExpr {
    return this.apply(6, other);
  }
  equal(other: Scalar): TirExpr {
    return this.apply(9, other);
  }
  notEqual(other: Scalar): TirExpr {
    return this.apply(10, other);
  }
  lt(other: Scalar): TirExpr {
    return this.apply(11, other);
  }
  le(other: Scalar): TirExpr {
    return this.apply(12, other);
  }
  gt(other: Scalar): TirExpr {
    return this.apply(13, other);
  }
  ge(other: Scalar): TirExpr {
    return this.apply(14, other);
  }
  astype(dtype: string): TirExpr {
    return this.dtype === dtype ? this : new (classes.Cast as never as Maker)(dtype, this);
  }
  override toString(): string {
    here(this.space);
    return cross().table_text(PRIM, this.prim);
  }
}

/** A statement. */
export class Stmt {
  readonly space: Space = space();
  constructor(readonly id: number) {}
  toString(): string {
    here(this.space);
    return cross().table_text(STMT, this.id);
  }
}
export type Maker = new (...args: unknown[]) => never;

/** The argument that makes a node of one that exists in the engine already. */
export class Known {
  constructor(readonly id: number) {}
}

/** Makes what TVM's operator gives for two scalars. */
export function binary(op: number, a: TirExpr, b: TirExpr): TirExpr {
  return primAt(cross().table_tir("binary", Uint32Array.of(op, a.prim, b.prim)));
}

export function asPrim(value: unknown, dtype?: string): TirExpr {
  if (value instanceof TirExpr) {
    here(value.space);
    return value;
  }
  const make = (name: string, ...args: unknown[]) => new (classes[name] as Maker)(...args);
  if (typeof value === "boolean") return make("IntImm", "bool", Number(value));
  if (typeof value === "string") return make("StringImm", value);
  if (typeof value === "bigint") return make("IntImm", dtype ?? "int64", value);
  if (typeof value === "number") {
    const type = dtype ?? (Number.isInteger(value) ? "int32" : "float32");
    return make(/^(u?int|bool)/.test(type) ? "IntImm" : "FloatImm", type, value);
  }
  if (value instanceof Buffer) return value.data;
  throw new TypeError(`a scalar is needed here, not ${shown(value)}`);
}

export function need<T>(
  value: unknown,
  type: abstract new (...args: never[]) => T,
  what: string,
): T {
  if (!(value instanceof type)) throw new TypeError(`${what} is needed here, not ${shown(value)}`);
  here((value as unknown as { space: Space }).space);
  return value;
}

/** The functions by which a value of a field crosses, and by which its parts are changed. */
export interface Codec {
  read(row: Row): unknown;
  write(out: Out, value: never): void;
  map?(value: never, by: Mapper): unknown;
}

/** Maps a list; the same list when nothing changed. */
export function mapped<T>(list: readonly T[], by: (item: T) => unknown): readonly T[] {
  const after = list.map(by) as T[];
  return after.every((item, at) => item === list[at]) ? list : Object.freeze(after);
}

export const prim: Codec = {
  read: (row) => primAt(row.word()),
  write: (out, value) => out.refer(asPrim(value).prim),
  map: (value, by) => by(value),
};
const stmt: Codec = {
  read: (row) => stmtAt(row.word()),
  write: (out, value) => out.refer(need(value, Stmt, "a statement").id),
  map: (value, by) => by(value),
};
export const symbol: Codec = {
  read: (row) => new (classes.Var as Maker)(new Known(row.word())),
  write: (out, value) =>
    out.refer(need(value, classes.Var as never as typeof Var, "a variable").id),
};
export const buffer: Codec = {
  read: (row) => bufferAt(row.word()),
  write: (out, value) => out.refer(need(value, Buffer, "a buffer").id),
  map: (value, by) => by(value),
};
export const maybe = (one: Codec): Codec => ({
  read: (row) => row.maybe((id) => one.read(new Row(Uint32Array.of(id)))),
  write: (out, value) =>
    value === null || value === undefined ? out.refer(null) : one.write(out, value),
  map: (value, by) =>
    value === null ? null : (one.map as (v: never, f: Mapper) => unknown)(value, by),
});
const listOf = (one: Codec, counted: boolean): Codec => ({
  read: (row) =>
    counted ? row.list(row.word(), () => one.read(row)) : row.rest(() => one.read(row)),
  write(out, value: readonly never[]) {
    if (!Array.isArray(value)) throw new TypeError(`a list is needed here, not ${shown(value)}`);
    if (counted) out.words.push(value.length);
    for (const item of value) one.write(out, item);
  },
  map: (value: readonly never[], by) =>
    mapped(value, (item) => (one.map ? one.map(item, by) : item)),
});
const text: Codec = {
  read: (row) => row.name(),
  write: (out, value) => out.text(String(value)),
};
const KINDS = ["serial", "parallel", "vectorized", "unrolled", "threadBinding"];
export const ITERS = ["spatial", "reduce", "scan", "opaque"];
export const oneOf = (names: readonly string[]): Codec => ({
  read: (row) => names[row.word()],
  write(out, value: string) {
    const at = names.indexOf(String(value));
    if (at < 0)
      throw new TypeError(`there is no kind ${shown(value)}${didYouMean(String(value), names)}`);
    out.words.push(at);
  },
});

export const CODECS: Record<string, Codec> = {
  p: prim,
  "?p": maybePrim,
  P: listOf(prim, false),
  C: listOf(prim, true),
  s: stmt,
  "?s": maybe(stmt),
  S: listOf(stmt, false),
  y: symbol,
  b: buffer,
  B: listOf(buffer, true),
  n: text,
  N: listOf(text, false),
  "?n": maybe(text),
  k: oneOf(KINDS),
  R: listOf(region, true),
  M: listOf(match, true),
  I: listOf(axis, true),
  ...PLAIN,
};

/** The classes by their names. */
export const classes: Record<string, abstract new (...args: never[]) => TirExpr | Stmt> = {};
type Class = {
  FIELDS: Record<string, string>;
  TABLE: number;
  KIND: readonly number[];
  ARGS: readonly string[];
};

const read = new WeakMap<object, Fields>();

/** The fields of a node by their names. */
export function fieldsOf(node: TirExpr | Stmt): Fields {
  here(node.space);
  let fields = read.get(node);
  if (!fields) {
    const { FIELDS, TABLE, KIND } = node.constructor as unknown as Class;
    const row = new Row(rowOf(TABLE, node.id), (TABLE === PRIM ? 1 : 0) + KIND.length);
    fields = {};
    for (const [name, letter] of Object.entries(FIELDS))
      fields[name] = (CODECS[letter] as Codec).read(row);
    read.set(node, fields);
  }
  return fields;
}

/** Makes a node of this class: of fields by their names. */
export function makeNode(type: unknown, fields: Fields, dtype = "int32", pre?: Stmt): number {
  const { FIELDS, TABLE, KIND, name } = type as Class & { name: string };
  const out = new Out();
  out.words.push(KIND[0] as number);
  if (TABLE === PRIM) out.text(dtype);
  else out.refer(pre?.id);
  out.words.push(...KIND.slice(1));
  for (const [field, letter] of Object.entries(FIELDS)) {
    try {
      (CODECS[letter] as Codec).write(out, (fields[field] ?? DEFAULTS[field]) as never);
    } catch (wrong) {
      if (wrong instanceof TypeError) wrong.message = `${name}.${field}: ${wrong.message}`;
      throw wrong;
    }
  }
  return out.make(TABLE);
}

function define([name, args, spec]: Line, table: number, kind: readonly number[]): void {
  const fields = Object.fromEntries(
    spec
      .split(" ")
      .filter(Boolean)
      .map((one) => one.split(":")),
  ) as Record<string, string>;
  const order = args.split(" ").filter(Boolean);
  const Base = (table === PRIM ? TirExpr : Stmt) as unknown as new (
    ...args: unknown[]
  ) => TirExpr & Stmt;
  const made = {
    [name]: class extends Base {
      static FIELDS = fields;
      static TABLE = table;
      static KIND = kind;
      static ARGS = order;
      constructor(...given: unknown[]) {
        let id: number;
        if (given[0] instanceof Known) id = given[0].id;
        else {
          if (given.length > order.length)
            throw new TypeError(
              `${name} takes ${order.join(", ")}, and ${given.length} arguments were given`,
            );
          const values: Fields = Object.fromEntries(order.map((arg, at) => [arg, given[at]]));
          id = makeNode(new.target, typed(name, values), String(values.dtype ?? "int32"));
        }
        if (table === PRIM) {
          super(3, id);
          return;
        }
        super(id);
        const known = tables().objects.get(`${table}:${id}`);
        // biome-ignore lint/correctness/noConstructorReturn: the same node is the same object
        if (known) return known as never;
        tables().objects.set(`${table}:${id}`, this);
      }
    },
  }[name] as Class & (new (...args: never[]) => TirExpr | Stmt);
  for (const field of Object.keys(fields)) {
    known.add(field);
    if (field.endsWith("_")) continue;
    Object.defineProperty(made.prototype, field, {
      get(this: TirExpr | Stmt) {
        return fieldsOf(this)[field];
      },
    });
  }
  classes[name] = made;
}

/** Numbers among operands take the type of the other operand or of the buffer. */
function typed(name: string, values: Fields): Fields {
  const like = (other: unknown, dtype?: string) => (value: unknown) =>
    typeof value === "number"
      ? asPrim(value, dtype ?? (other instanceof TirExpr ? other.dtype : undefined))
      : value;
  if (BINARY.includes(name)) {
    const { a, b } = values;
    return { a: like(b)(a), b: like(a)(b) };
  }
  if (name === "Call") return { ...values, op: String(values.op).replace(/^tirx?\./, "") };
  if (name === "BufferStore" && values.buffer instanceof Buffer)
    return { ...values, value: like(null, values.buffer.dtype)(values.value) };
  if (name === "For" && values.loopVar instanceof TirExpr) {
    const of = like(values.loopVar);
    return { ...values, min: of(values.min), extent: of(values.extent), step: of(values.step) };
  }
  return values;
}

for (const [at, line] of PRIMS.entries()) if (line[0] !== "Var") define(line, PRIM, [at]);
for (const [at, name] of BINARY.entries()) define([name, "a b", "a:p b:p"], PRIM, [5, at]);
for (const [at, line] of STMTS.entries()) define(line, STMT, [at]);
delete classes.BinaryOp;

/** A variable: its definition and its uses are the same object. */
export class Var extends TirExpr {
  private own = -1;
  constructor(name: string | Known, dtype = "int64") {
    super(
      2,
      name instanceof Known ? name.id : (cross().user_symbol(String(name), dtype)[1] as number),
    );
  }
  get name(): string {
    return nameOf(rowOf(SYMBOL, this.id)[0] as number);
  }
  override get dtype(): string {
    return nameOf(rowOf(SYMBOL, this.id)[1] as number);
  }
  override get prim(): number {
    if (this.own < 0) {
      const out = new Out();
      out.words.push(4);
      out.text(this.dtype);
      out.refer(this.id);
      this.own = out.make(PRIM);
    }
    return this.own;
  }
}
Object.assign(Var, { FIELDS: { name: "n" } });
classes.Var = Var as never;

/** A block where it runs: the values of its variables, and the condition. */
export class SBlockRealize extends Stmt {
  static FIELDS = { iterValues: "P", predicate: "?p", block: "s" };
  constructor(
    iterValues: readonly Scalar[] | Known,
    predicate?: Scalar | null,
    block?: Stmt,
    pre?: Stmt,
  ) {
    if (iterValues instanceof Known) {
      super(iterValues.id);
      return;
    }
    need(block, classes.SBlock as never as typeof Stmt, "a block");
    const fields = {
      ...fieldsOf(block as Stmt),
      predicate_: predicate === undefined || predicate === true ? null : predicate,
      bare_: 0,
    };
    const { iterVars } = fields as unknown as { iterVars: readonly IterVar[] };
    if (iterVars.length !== iterValues.length)
      throw new TypeError(
        `the block has ${iterVars.length} variables, and ${iterValues.length} values were given`,
      );
    VALUES = iterValues.map((value, at) => asPrim(value, (iterVars[at] as IterVar).var.dtype));
    try {
      super(makeNode(REALIZED, fields, "", pre));
    } finally {
      VALUES = [];
    }
    tables().objects.set(`${STMT}:${this.id}`, this);
  }
  get iterValues(): readonly TirExpr[] {
    return (read.get(this) ?? this.parts()).iterValues as readonly TirExpr[];
  }
  get predicate(): TirExpr {
    return (read.get(this) ?? this.parts()).predicate as TirExpr;
  }
  get block(): Stmt {
    return (read.get(this) ?? this.parts()).block as Stmt;
  }
  private parts(): Fields {
    here(this.space);
    const row = new Row(rowOf(STMT, this.id), 1);
    const fields: Fields = {};
    const values: TirExpr[] = [];
    for (const [name, letter] of Object.entries((classes.SBlock as never as Class).FIELDS))
      fields[name] =
        name === "iterVars"
          ? row.list(row.word(), () => {
              const own = symbol.read(row) as Var;
              const kind = ITERS[row.word()];
              const dom = new Range(prim.read(row) as TirExpr, prim.read(row) as TirExpr);
              const value = maybePrim.read(row) as TirExpr | null;
              if (value) values.push(value);
              return new IterVar(dom, own, kind);
            })
          : (CODECS[letter] as Codec).read(row);
    const predicate = fields.predicate_ ?? asPrim(true);
    const inner = { ...fields, predicate_: null, bare_: 1 };
    const block = stmtAt(makeNode(classes.SBlock, inner));
    const parts = { iterValues: Object.freeze(values), predicate, block };
    read.set(this, parts);
    return parts;
  }
}
classes.SBlockRealize = SBlockRealize as never;

/** The values of the axes of the SBlockRealize that is being made. */
let VALUES: readonly TirExpr[] = [];
const realized: Codec = {
  ...axis,
  write(out, value: IterVar) {
    axis.write(out, value as never);
    out.words.pop();
    const [first, ...rest] = VALUES;
    VALUES = rest;
    prim.write(out, first as never);
  },
};
CODECS.J = listOf(realized, true);
const { FIELDS: BLOCK } = classes.SBlock as never as Class;
const REALIZED = {
  FIELDS: { ...BLOCK, iterVars: "J" },
  TABLE: STMT,
  KIND: [2],
  name: "SBlockRealize",
};

for (const name of [
  ...Object.keys(BUFFER_FIELDS),
  "iterValues",
  "predicate",
  "block",
  "dtype",
  "name",
])
  known.add(name);
for (const base of [Stmt, SymbolicDim]) Object.setPrototypeOf(base.prototype, strict);

/** Classes by the number of their kind. */
const OF_PRIM = PRIMS.map(([name]) => classes[name] as never as Maker);
const OF_STMT = STMTS.map(([name]) => classes[name] as never as Maker);
const OF_BINARY = BINARY.map((name) => classes[name] as never as Maker);

export function primAt(id: number): TirExpr {
  const row = rowOf(PRIM, id);
  const kind = row[0] as number;
  if (kind === 4) return new Var(new Known(row[2] as number));
  const type = kind === 5 ? OF_BINARY[row[2] as number] : OF_PRIM[kind];
  return type ? new type(new Known(id)) : new OtherScalar(3, id);
}
/** A scalar that is not looked into: a reducer, attributes. */
class OtherScalar extends TirExpr {}
Object.assign(OtherScalar, { FIELDS: {}, TABLE: PRIM, KIND: [0] });

export function stmtAt(id: number): Stmt {
  const known = tables().objects.get(`${STMT}:${id}`);
  if (known) return known as Stmt;
  const row = rowOf(STMT, id);
  if (row[0] !== 2 || row[5] === 1) return new (OF_STMT[row[0] as number] as Maker)(new Known(id));
  const made = new SBlockRealize(new Known(id));
  tables().objects.set(`${STMT}:${id}`, made);
  return made;
}

/** Parts of a node, in order. */
export function partsOf(node: TirExpr | Stmt): Part[] {
  const parts: Part[] = [];
  mapParts(node, (part) => {
    parts.push(part);
    return part;
  });
  return parts;
}

/** The same node over other parts; the node itself when no part changed. */
export function mapParts<T extends TirExpr | Stmt>(node: T, by: Mapper): T {
  if (node instanceof Var || node instanceof OtherScalar) return node;
  if (node instanceof SBlockRealize) {
    const values = mapped(node.iterValues, by);
    const predicate = by(node.predicate) as TirExpr;
    const block = by(node.block) as Stmt;
    if (values === node.iterValues && predicate === node.predicate && block === node.block)
      return node;
    const always = (predicate as TirExpr & { value?: unknown }).value === 1;
    return new SBlockRealize(values, always ? true : predicate, block, node) as never;
  }
  const fields = fieldsOf(node);
  const type = node.constructor as unknown as Class;
  let after: Fields | null = null;
  for (const [name, letter] of Object.entries(type.FIELDS)) {
    const { map } = CODECS[letter] as Codec;
    const value = map ? map(fields[name] as never, by) : fields[name];
    if (value === fields[name]) continue;
    after ??= { ...fields };
    after[name] = value;
  }
  if (!after) return node;
  const dtype = node instanceof TirExpr ? node.dtype : "";
  const id = makeNode(type, after, dtype, node instanceof Stmt ? node : undefined);
  return (type.TABLE === PRIM ? primAt(id) : stmtAt(id)) as T;
}

/** Extents of Relax are scalars of these classes. */
setDims((kind, id) => (kind === 2 ? new Var(new Known(id)) : primAt(id)));
