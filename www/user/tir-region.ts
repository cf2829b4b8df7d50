/** Parts of buffers, axes of blocks, and how they cross. */

import { type Attrs, attrsAt, attrsIdOf } from "./attrs";
import {
  asPrim,
  buffer,
  type Codec,
  ITERS,
  type Mapper,
  mapped,
  maybe,
  oneOf,
  prim,
  primAt,
  type Scalar,
  symbol,
  TirExpr,
  type Var,
} from "./tir";
import { type Buffer, bufferAt } from "./tir-buffer";
import { NONE } from "./tir-table";
import { shown } from "./types";

/** A part of a buffer: `region` are ranges. */
export class BufferRegion {
  constructor(
    readonly buffer: Buffer,
    readonly region: readonly Range[],
  ) {
    Object.freeze(this);
  }
  toString(): string {
    const one = ({ min, extent }: Range) =>
      String(extent.toString() === "1" ? min : `${min}:${min.add(extent)}`);
    return `${this.buffer.name}[${this.region.map(one).join(", ")}]`;
  }
}
/** From `min` on so many values. */
export class Range {
  readonly min: TirExpr;
  readonly extent: TirExpr;
  constructor(min: Scalar, extent: Scalar) {
    this.min = asPrim(min);
    this.extent = asPrim(extent, this.min.dtype);
    Object.freeze(this);
  }
}
/** A variable of a block, its range and the kind of its axis. */
export class IterVar {
  constructor(
    readonly dom: Range,
    readonly var_: Var,
    readonly iterType = "spatial",
  ) {
    Object.freeze(this);
  }
  get var(): Var {
    return this.var_;
  }
}
/** A buffer that stands for a part of another one. */
export class MatchBufferRegion {
  constructor(
    readonly buffer: Buffer,
    readonly source: BufferRegion,
  ) {
    Object.freeze(this);
  }
}

/** A scalar or nothing. */
export const maybePrim: Codec = {
  read: (row) => maybe(prim).read(row),
  write: (out, value) => maybe(prim).write(out, value),
  map: (value, by) => (value === null ? null : by(value)),
};
const mapRange = (range: Range, by: Mapper): Range => {
  const [min, extent] = [by(range.min), by(range.extent)] as [TirExpr, TirExpr];
  return min === range.min && extent === range.extent ? range : new Range(min, extent);
};
export const region: Codec = {
  read(row) {
    const of = bufferAt(row.word());
    const ranges = row.list(row.word(), () => {
      const min = prim.read(row) as TirExpr;
      return new Range(min, (maybePrim.read(row) as TirExpr | null) ?? asPrim(1, min.dtype));
    });
    return new BufferRegion(of, ranges);
  },
  write(out, value: BufferRegion) {
    if (!(value instanceof BufferRegion))
      throw new TypeError(`a region is needed here, not ${shown(value)}`);
    buffer.write(out, value.buffer as never);
    out.words.push(value.region.length);
    for (const { min, extent } of value.region) {
      prim.write(out, min as never);
      if ((extent as TirExpr & { value?: unknown }).value === 1) out.refer(null);
      else prim.write(out, extent as never);
    }
  },
  map(value: BufferRegion, by) {
    const [of, ranges] = [
      by(value.buffer) as Buffer,
      mapped(value.region, (range) => mapRange(range, by)),
    ];
    return of === value.buffer && ranges === value.region ? value : new BufferRegion(of, ranges);
  },
};
export const match: Codec = {
  read: (row) => new MatchBufferRegion(bufferAt(row.word()), region.read(row) as BufferRegion),
  write(out, value: MatchBufferRegion) {
    buffer.write(out, value.buffer as never);
    region.write(out, value.source as never);
  },
  map(value: MatchBufferRegion, by) {
    const [own, source] = [
      by(value.buffer) as Buffer,
      (region.map as never as (v: unknown, f: Mapper) => BufferRegion)(value.source, by),
    ];
    return own === value.buffer && source === value.source
      ? value
      : new MatchBufferRegion(own, source);
  },
};
/** An axis, with no value: values stand in the SBlockRealize. */
export const axis: Codec = {
  read(row) {
    const own = symbol.read(row) as Var;
    const kind = ITERS[row.word()];
    const dom = new Range(prim.read(row) as TirExpr, prim.read(row) as TirExpr);
    row.word();
    return new IterVar(dom, own, kind);
  },
  write(out, value: IterVar) {
    symbol.write(out, value.var as never);
    oneOf(ITERS).write(out, value.iterType as never);
    prim.write(out, value.dom.min as never);
    prim.write(out, value.dom.extent as never);
    out.refer(null);
  },
  map(value: IterVar, by) {
    const dom = mapRange(value.dom, by);
    return dom === value.dom ? value : new IterVar(dom, value.var, value.iterType);
  },
};

const HALVES = new DataView(new ArrayBuffer(8));

/** Fields that are neither scalars, statements nor buffers, by their letters. */
export const PLAIN: Record<string, Codec> = {
  w: { read: (row) => row.word(), write: (out, value: number) => void out.words.push(value >>> 0) },
  i: {
    read(row) {
      const value = row.long();
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    },
    write(out, value: number | bigint) {
      if (typeof value === "number" && !Number.isSafeInteger(value))
        throw new TypeError(`${shown(value)} is no whole number`);
      out.long(BigInt(value));
    },
  },
  f: {
    read(row) {
      HALVES.setBigInt64(0, row.long());
      return HALVES.getFloat64(0);
    },
    write(out, value: number) {
      HALVES.setFloat64(0, Number(value));
      out.long(HALVES.getBigInt64(0));
    },
  },
  a: {
    read: (row) => row.maybe(attrsAt) ?? Object.freeze({}),
    write(out, value: Attrs | null) {
      const id = value && Object.keys(value).length > 0 ? attrsIdOf(value, null) : 0;
      out.refer(id === 0 ? null : id - 1);
    },
  },
  /** The subject of an attribute: a scalar, nothing, or the iterator over threads. */
  t: {
    read(row) {
      const kind = row.word();
      if (kind === 0) {
        const value = primAt(row.word());
        row.word();
        return value;
      }
      if (kind === 2) return Object.freeze({ var: symbol.read(row), threadTag: row.name() });
      row.word();
      row.word();
      return null;
    },
    write(out, value: TirExpr | { var: Var; threadTag: string } | null) {
      if (value === null || value === undefined) out.words.push(1, NONE, NONE);
      else if (value instanceof TirExpr) {
        out.words.push(0);
        prim.write(out, value as never);
        out.words.push(NONE);
      } else {
        out.words.push(2);
        symbol.write(out, value.var as never);
        out.text(value.threadTag);
      }
    },
    map: (value: unknown, by) => (value instanceof TirExpr ? by(value) : value),
  },
};
