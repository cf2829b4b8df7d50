/** Rows of the engine's tables (`src/wasm/user/table`): read, kept, and written. */
import { cross, nameOf, type Space, space } from "./engine";
import { spelt } from "./names";

/** Numbers of the engine's tables. */
export const [EXPR, PRIM, STMT, SYMBOL, BUFFER] = [0, 2, 3, 4, 5];
/** No reference. */
export const NONE = 0xffffffff;

export type Fields = Record<string, unknown>;

/** The rows and objects of one memory, by table and id. */
interface Tables {
  rows: Map<string, Uint32Array>;
  objects: Map<string, unknown>;
}
const all = new WeakMap<Space, Tables>();

export function tables(): Tables {
  let known = all.get(space());
  if (!known) {
    cross().table_forget();
    known = { rows: new Map(), objects: new Map() };
    all.set(space(), known);
  }
  return known;
}

export function rowOf(table: number, id: number): Uint32Array {
  const { rows } = tables();
  const key = `${table}:${id}`;
  if (!rows.has(key)) {
    const [words, ids, texts] = cross().table_read(Uint32Array.of(table, id));
    texts.split("\0").forEach((text, at) => {
      space().names.set(ids[at] as number, text);
    });
    for (let at = 0; at < words.length; ) {
      const [of, one, length] = words.subarray(at, at + 3) as unknown as [number, number, number];
      rows.set(`${of}:${one}`, words.subarray(at + 3, at + 3 + length));
      at += 3 + length;
    }
  }
  return rows.get(key) as Uint32Array;
}

/** Reads the words of a row one after the other. */
export class Row {
  constructor(
    private readonly words: Uint32Array,
    private at = 0,
  ) {}
  get more(): boolean {
    return this.at < this.words.length;
  }
  word(): number {
    return this.words[this.at++] as number;
  }
  name(): string {
    return nameOf(this.word());
  }
  maybe<T>(read: (id: number) => T): T | null {
    const id = this.word();
    return id === NONE ? null : read(id);
  }
  list<T>(count: number, read: () => T): readonly T[] {
    return Object.freeze(Array.from({ length: count }, read));
  }
  rest<T>(read: () => T): readonly T[] {
    const list: T[] = [];
    while (this.more) list.push(read());
    return Object.freeze(list);
  }
  long(): bigint {
    const low = BigInt(this.word());
    return BigInt.asIntN(64, low | (BigInt(this.word()) << 32n));
  }
}

/** The words of a row under way. */
export class Out {
  readonly words: number[] = [];
  readonly texts: string[] = [];
  text(text: string): void {
    this.words.push(this.texts.push(text) - 1);
  }
  refer(id: number | null | undefined): void {
    this.words.push(id === null || id === undefined ? NONE : id * 2);
  }
  long(value: bigint): void {
    this.words.push(Number(value & 0xffffffffn), Number((value >> 32n) & 0xffffffffn));
  }
  make(table: number): number {
    const words = Uint32Array.of(table, this.words.length, ...this.words);
    return cross().table_write(words, this.texts.join("\0"))[0] as number;
  }
}

/** Names of the fields of all nodes, for the nearest one. */
export const known = new Set<string>();

/** The end of the chain of prototypes: a field that no node has and that is nearly one is an error. */
export const strict = new Proxy(Object.create(null), {
  get(_, name, node) {
    if (typeof name !== "string" || !/^[a-z]\w+$/.test(name) || name === "then") return undefined;
    const own = Object.keys(node.constructor?.FIELDS ?? {});
    const meant = spelt(name, own) ?? (known.has(name) ? undefined : spelt(name, [...known]));
    if (!meant) return undefined;
    throw new TypeError(`${node.constructor.name} has no ${name}: did you mean ${meant}?`);
  },
});
