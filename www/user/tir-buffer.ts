/** Buffers, and tensor programs over them. */
import { here, type Space, space } from "./engine";
import { didYouMean } from "./names";
import {
  CODECS,
  type Codec,
  classes,
  Known,
  type Maker,
  need,
  type Scalar,
  Stmt,
  stmtAt,
  symbol,
  type TirExpr,
  type Var,
} from "./tir";
import { BUFFER_FIELDS } from "./tir-lines";
import { maybePrim } from "./tir-region";
import { BUFFER, EXPR, type Fields, Out, Row, rowOf, strict, tables } from "./tir-table";

/** Memory with a shape. */
export class Buffer {
  readonly space: Space = space();
  readonly id: number;
  private fields: Fields | null = null;
  constructor(
    shape: readonly Scalar[] | Known,
    dtype = "float32",
    options: Partial<
      Record<
        "name" | "scope" | "strides" | "elemOffset" | "data" | "offsetFactor" | "dataAlignment",
        never
      >
    > = {},
    layout = 1,
  ) {
    if (shape instanceof Known) this.id = shape.id;
    else {
      for (const key of Object.keys(options))
        if (!(key in BUFFER_FIELDS))
          throw new TypeError(
            `Buffer has no option ${key}${didYouMean(key, Object.keys(BUFFER_FIELDS))}`,
          );
      const {
        name = "buffer",
        scope = "global",
        strides = [],
        elemOffset,
        data,
        offsetFactor = 1,
        dataAlignment = 64,
      } = options as Fields;
      const out = new Out();
      for (const one of [name, dtype, scope]) out.text(String(one));
      maybePrim.write(out, elemOffset as never);
      out.words.push(Number(offsetFactor), Number(dataAlignment));
      maybePrim.write(out, data as never);
      out.words.push(layout);
      (CODECS.C as Codec).write(out, shape as never);
      (CODECS.P as Codec).write(out, strides as never);
      this.id = out.make(BUFFER);
    }
    const known = tables().objects.get(`${BUFFER}:${this.id}`);
    // biome-ignore lint/correctness/noConstructorReturn: the same buffer is the same object
    if (known) return known as this;
    tables().objects.set(`${BUFFER}:${this.id}`, this);
  }
  /** Reads the fields, for the getters below. */
  get own(): Fields {
    here(this.space);
    if (!this.fields) {
      const row = new Row(rowOf(BUFFER, this.id));
      this.fields = {};
      for (const [name, letter] of Object.entries(BUFFER_FIELDS))
        this.fields[name] = (CODECS[letter] as Codec).read(row);
    }
    return this.fields;
  }
  declare name: string;
  declare dtype: string;
  declare shape: readonly TirExpr[];
  /** The pointer to its first element. */
  get data(): TirExpr {
    return new (classes.BufferData as Maker)(this);
  }
  /** An element: `buffer.load(i, j)`. */
  load(...indices: Scalar[]): TirExpr {
    return new (classes.BufferLoad as Maker)(this, indices);
  }
  /** Writes an element: `buffer.store(value, i, j)`. */
  store(value: Scalar, ...indices: Scalar[]): Stmt {
    return new (classes.BufferStore as Maker)(this, value, indices);
  }
  toString(): string {
    return `T.Buffer((${this.shape.join(", ")}${this.shape.length === 1 ? "," : ""}), "${this.dtype}")`;
  }
}
for (const name of Object.keys(BUFFER_FIELDS))
  if (name !== "data")
    Object.defineProperty(Buffer.prototype, name, {
      get(this: Buffer) {
        return this.own[name];
      },
    });
Object.assign(Buffer, { FIELDS: BUFFER_FIELDS });
Object.setPrototypeOf(Buffer.prototype, strict);

/** Returns the buffer of an id. */
export function bufferAt(id: number): Buffer {
  return (
    (tables().objects.get(`${BUFFER}:${id}`) as Buffer | undefined) ?? new Buffer(new Known(id))
  );
}

/** The words of a tensor program: its body, the type of its result or nothing, its attributes, its parameters. */
export function primFuncParts(id: number) {
  const row = new Row(rowOf(EXPR, id), 2);
  const body = stmtAt(row.word());
  const ret = row.maybe((type) => type);
  row.word();
  const params = row.rest((): Var | Buffer =>
    row.word() === 1 ? bufferAt(row.word()) : (symbol.read(row) as Var),
  );
  return { body, params, ret };
}

/** Makes a tensor program. Types and attributes are one more than their ids, or 0. */
export function makePrimFunc(
  params: readonly (Var | Buffer)[],
  body: Stmt,
  ret: number,
  attrs: number,
  pre?: { id: number; words: Uint32Array },
): number {
  const out = new Out();
  const maybeId = (id: number) => out.refer(id === 0 ? null : id - 1);
  out.words.push(21);
  out.refer(pre?.id);
  maybeId(pre?.words[1] ?? 0);
  out.refer(need(body, Stmt, "a statement").id);
  maybeId(ret);
  maybeId(attrs);
  for (const param of params) {
    out.words.push(param instanceof Buffer ? 1 : 0);
    if (param instanceof Buffer) (CODECS.b as Codec).write(out, param as never);
    else symbol.write(out, param as never);
  }
  return out.make(EXPR);
}
