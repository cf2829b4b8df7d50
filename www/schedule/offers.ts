/** Offers for a loop or block: TVM's primitives with their arguments, and the instructions that they are written as. */
import type { Nest, NestNode } from "../engine/nest";

/** An argument; one with `options` is chosen. */
export interface Field {
  name: string;
  value: string;
  /** Each with what it says. */
  options?: readonly (readonly [value: string, says: string])[];
}

export interface Offer {
  /** TVM's name of the primitive. */
  name: string;
  fields: Field[];
  /** The instructions, for these values of its fields. */
  write(values: readonly string[]): string;
}

const LOOPS = new Set(["serial", "parallel", "vectorized", "unroll", "thread_binding"]);
export const isLoop = (node: NestNode): boolean => LOOPS.has(node.kind);

export const THREADS = ["blockIdx", "threadIdx"].flatMap((tag) =>
  ["x", "y", "z"].map((axis) => `${tag}.${axis}`),
);
const SCOPES = ["global", "shared", "local"];
const same = (values: readonly string[]) => values.map((value) => [value, value] as const);

/** Instructions under way: they give nodes names where those have none, and make new names. */
class Writer {
  #next: number;
  #code = "";
  readonly #known = new Map<string, number>();
  constructor(readonly nest: Nest) {
    this.#next = nest.fresh;
  }

  /** The name of a node. */
  name(at: number): string {
    const node = this.nest.nodes[at];
    if (!node) return "None";
    if (node.handle || !node.reach) return node.handle || "None";
    const [code, handle] = node.reach;
    let shift = this.#known.get(code);
    if (shift === undefined) {
      shift = this.#next - this.nest.fresh;
      this.#known.set(code, shift);
      const numbers = [...code.matchAll(/\b[bl](\d+)\b(?= =|,)/g)].map((found) => Number(found[1]));
      this.#next = Math.max(...numbers, this.nest.fresh - 1) + shift + 1;
      this.#code += this.#shifted(code, shift);
    }
    return this.#shifted(handle, shift);
  }

  #shifted = (text: string, by: number) =>
    text.replace(/(?<!")\b([bl])(\d+)\b(?!")/g, (whole, kind: string, digits: string) =>
      Number(digits) >= this.nest.fresh ? `${kind}${Number(digits) + by}` : whole,
    );

  fresh = (kind: "b" | "l") => `${kind}${this.#next++}`;
  done = (line: string) => `${this.#code}${line}\n`;
}

/** The loops right inside of each other from a node on, the node left out. */
function innerLoops({ nodes }: Nest, at: number): number[] {
  const found: number[] = [];
  for (let now = at; ; ) {
    const inside = nodes.flatMap((node, index) => (node.parent === now ? [index] : []));
    const next = inside.length === 1 ? (inside[0] as number) : -1;
    if (next < 0 || !isLoop(nodes[next] as NestNode)) return found;
    found.push(next);
    now = next;
  }
}

export function above({ nodes }: Nest, at: number): number[] {
  const found: number[] = [];
  for (let up = nodes[at]?.parent ?? null; up !== null; up = nodes[up]?.parent ?? null)
    found.push(up);
  return found;
}

const parts = (text: string) => {
  // Buffers in `A[i, j], B[j]`.
  let depth = 0;
  const names: string[] = [""];
  for (const char of text) {
    if (char === "[") depth++;
    if (char === "]") depth--;
    if (char === "," && depth === 0) names.push("");
    else names[names.length - 1] += char;
  }
  return names.map((one) => one.trim().replace(/\[.*$/s, "")).filter(Boolean);
};

/** All that could be done to a node, even where the engine does not let it. */
export function offersFor(nest: Nest, at: number): Offer[] {
  const node = nest.nodes[at];
  if (!node || !(node.handle || node.reach)) return [];
  const says = (index: number) => nest.nodes[index]?.name ?? "";
  const choice = (name: string, all: readonly number[]): Field => ({
    name,
    value: String(all[0] ?? ""),
    options: all.map((index) => [String(index), says(index)] as const),
  });
  const offers: Offer[] = [];
  const offer = (
    name: string,
    fields: Field[],
    write: (writer: Writer, self: string, values: readonly string[]) => string,
  ) =>
    offers.push({
      name,
      fields,
      write(values) {
        const writer = new Writer(nest);
        return writer.done(write(writer, writer.name(at), values));
      },
    });
  const annotate = () =>
    offer(
      "annotate",
      [
        {
          name: "ann_key",
          value: isLoop(node) ? "pragma_unroll_explicit" : "meta_schedule.tiling",
        },
        { name: "ann_val", value: "1" },
      ],
      (_, self, [key, value]) =>
        `sch.annotate(block_or_loop=${self}, ann_key=${JSON.stringify(key)}, ann_val=${value})`,
    );
  const tensorize = () =>
    offer("tensorize", [{ name: "tensor_intrin", value: "dot_16x4_vnni" }], (_, self, [intrin]) => {
      return `sch.tensorize(block_or_loop=${self}, tensor_intrin=${JSON.stringify(intrin)})`;
    });
  const listed = (text = "") => text.split(",").map((one) => one.trim());
  if (isLoop(node)) {
    const inner = innerLoops(nest, at);
    const reduces = nest.nodes.flatMap((one, index) =>
      one.kind === "block" &&
      one.iters.some(([, kind]) => kind === "R") &&
      above(nest, index).includes(at)
        ? [index]
        : [],
    );
    const split = (name: string) =>
      offer(name, [{ name: "factors", value: "None, 4" }], (writer, self, [factors]) => {
        const names = listed(factors).map(() => writer.fresh("l"));
        return `${names.join(", ")}${names.length === 1 ? "," : ""} = sch.${name}(loop=${self}, factors=[${listed(factors).join(", ")}])`;
      });
    split("split");
    if (inner.length > 0) {
      offer("fuse", [choice("up to", inner)], (writer, self, [last]) => {
        const chain = inner
          .slice(0, inner.indexOf(Number(last)) + 1)
          .map((one) => writer.name(one));
        return `${writer.fresh("l")} = sch.fuse(${[self, ...chain].join(", ")})`;
      });
      offer("reorder", [choice("into", inner)], (writer, self, [last]) => {
        const chain = inner
          .slice(0, inner.indexOf(Number(last)) + 1)
          .map((one) => writer.name(one));
        return `sch.reorder(${[...chain, self].join(", ")})`;
      });
    }
    for (const kind of ["parallel", "vectorize", "unroll"])
      offer(kind, [], (_, self) => `sch.${kind}(loop=${self})`);
    offer(
      "bind",
      [{ name: "thread_axis", value: "blockIdx.x", options: same(THREADS) }],
      (_, self, [axis]) => `sch.bind(loop=${self}, thread_axis="${axis}")`,
    );
    if (reduces.length > 0) {
      offer("decompose_reduction", [choice("block", reduces)], (writer, self, [block]) => {
        const name = writer.name(Number(block));
        return `${writer.fresh("b")} = sch.decompose_reduction(block=${name}, loop=${self})`;
      });
      offer("rfactor", [{ name: "factor_axis", value: "0" }], (writer, self, [axis]) => {
        return `${writer.fresh("b")} = sch.rfactor(loop=${self}, factor_axis=${axis})`;
      });
    }
    split("loop_partition");
    offer("blockize", [], (writer, self) => `${writer.fresh("b")} = sch.blockize(target=${self})`);
    tensorize();
    offer("add_unit_loop", [], (writer, self) => {
      return `${writer.fresh("l")} = sch.add_unit_loop(block_or_loop=${self})`;
    });
    annotate();
    return offers;
  }
  if (node.kind !== "block") return [];
  const around = above(nest, at).filter((one) => isLoop(nest.nodes[one] as NestNode));
  const others = nest.nodes.flatMap((one, index) =>
    isLoop(one) && !around.includes(index) ? [index] : [],
  );
  // The innermost loops first: that is where things are mostly wanted.
  const places = others.reverse();
  for (const name of ["compute_at", "reverse_compute_at"]) {
    if (places.length === 0) continue;
    offer(name, [choice("loop", places)], (writer, self, [loop]) => {
      return `sch.${name}(block=${self}, loop=${writer.name(Number(loop))}, preserve_unit_loops=True)`;
    });
  }
  for (const name of ["compute_inline", "reverse_compute_inline"])
    offer(name, [], (_, self) => `sch.${name}(block=${self})`);
  const cache = (name: string, which: string, buffers: string[]) => {
    if (buffers.length === 0) return;
    const options = buffers.map((buffer, index) => [String(index), buffer] as const);
    offer(
      name,
      [
        { name: "buffer", value: "0", options },
        { name: "storage_scope", value: "global", options: same(SCOPES) },
      ],
      (writer, self, [index, scope]) =>
        `${writer.fresh("b")} = sch.${name}(block=${self}, ${which}=${index}, storage_scope="${scope}")`,
    );
  };
  cache("cache_read", "read_buffer_index", parts(node.reads));
  cache("cache_write", "write_buffer_index", parts(node.writes));
  const inplace = parts(node.reads).filter((buffer) => parts(node.writes).includes(buffer));
  if (inplace.length > 0) cache("cache_inplace", "read_buffer_index", parts(node.reads));
  const outwards = [...around].reverse();
  const under = (name: string) =>
    offer(name, [choice("loop", outwards)], (writer, self, [loop]) => {
      return `${writer.fresh("b")} = sch.${name}(block=${self}, loop=${writer.name(Number(loop))})`;
    });
  if (node.iters.some(([, kind]) => kind === "R")) under("decompose_reduction");
  else if (outwards.length > 0) under("decompose_padding");
  for (const [name, buffers] of [
    ["read_at", parts(node.reads)],
    ["write_at", parts(node.writes)],
  ] as const) {
    if (buffers.length === 0 || outwards.length === 0) continue;
    const options = buffers.map((buffer, index) => [String(index), buffer] as const);
    offer(
      name,
      [
        choice("loop", outwards),
        { name: "buffer", value: "0", options },
        { name: "storage_scope", value: "shared", options: same(SCOPES) },
      ],
      (writer, self, [loop, index, scope]) =>
        `${writer.fresh("b")} = sch.${name}(loop=${writer.name(Number(loop))}, block=${self}, ${name.slice(0, -3)}_buffer_index=${index}, storage_scope="${scope}")`,
    );
  }
  offer(
    "cache_index",
    [
      { name: "storage_scope", value: "global", options: same(SCOPES) },
      { name: "cse_thresh", value: "0" },
    ],
    (writer, self, [scope, least]) =>
      `${writer.fresh("b")} = sch.cache_index(block=${self}, storage_scope="${scope}", cse_thresh=${least})`,
  );
  tensorize();
  const written = parts(node.writes).map((buffer, index) => [String(index), buffer] as const);
  if (written.length > 0) {
    offer(
      "set_scope",
      [
        { name: "buffer", value: "0", options: written },
        { name: "storage_scope", value: "shared", options: same(SCOPES) },
      ],
      (_, self, [index, scope]) =>
        `sch.set_scope(block=${self}, buffer_index=${index}, storage_scope="${scope}")`,
    );
    const names = "ijklmnopq".slice(
      0,
      Math.max(1, node.iters.filter(([, kind]) => kind === "S").length),
    );
    const axes = [...names].join(", ");
    offer(
      "transform_layout",
      [
        { name: "buffer", value: "0", options: written },
        { name: "index_map", value: `lambda ${axes}: (${[...names].reverse().join(", ")},)` },
      ],
      (_, self, [index, map]) =>
        `sch.transform_layout(block=${self}, buffer=("write", ${index}), index_map=${map})`,
    );
  }
  offer("add_unit_loop", [], (writer, self) => {
    return `${writer.fresh("l")} = sch.add_unit_loop(block_or_loop=${self})`;
  });
  annotate();
  return offers;
}

/** Values of an offer's fields to begin with, and others that may do where the first are refused. */
export function attempts({ fields }: Offer): string[][] {
  const first = fields.map((field) => field.value);
  const at = fields.findIndex((field) => field.options && field.options.length > 1);
  const options = fields[at]?.options;
  // Of threads each is free or not; the first refusal says enough.
  if (!options || fields.length > 1 || fields[0]?.name === "thread_axis") return [first];
  return options
    .slice(0, 12)
    .map(([value]) => first.map((old, index) => (index === at ? value : old)));
}
