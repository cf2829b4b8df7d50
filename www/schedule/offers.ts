/** Offers for a loop or block: TVM's primitives with their arguments, and the instructions that they are written as. */
import type { Nest, NestNode } from "../engine/protocol";

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

  fresh = (kind: "b" | "l" | "v") => `${kind}${this.#next++}`;
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
  const keys = [...node.annotations.matchAll(/"([^"]+)": /g)].map((found) => found[1] ?? "");
  if (keys.length > 0)
    offer(
      "unannotate",
      [{ name: "ann_key", value: keys[0] ?? "", options: same(keys) }],
      (_, self, [key]) => {
        return `sch.unannotate(block_or_loop=${self}, ann_key=${JSON.stringify(key)})`;
      },
    );
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
    const beside = nest.nodes.flatMap((one, index) =>
      isLoop(one) &&
      index !== at &&
      !above(nest, index).includes(at) &&
      !above(nest, at).includes(index)
        ? [index]
        : [],
    );
    if (beside.length > 0)
      offer("merge", [choice("with", beside)], (writer, self, [other]) => {
        const name = writer.name(Number(other));
        return `${writer.fresh("l")} = sch.merge(${self}, ${name})`;
      });
    // A loop of 16 is divided into 4 and 4, one of 7 into 7 and 1.
    const extent = node.extent ?? 1;
    const inside = [4, 2].find((factor) => extent % factor === 0) ?? 1;
    for (const [name, more] of [
      ["sample_perfect_tile", "max_innermost_factor=64"],
      ["sample_partitioned_tile", "partition_pos=1, innerpart_factor=1"],
    ] as const)
      offer(
        name,
        [{ name: "decision", value: `${extent / inside}, ${inside}` }],
        (writer, self, [sizes]) => {
          const names = listed(sizes).map(() => writer.fresh("v"));
          return `${names.join(", ")} = sch.${name}(loop=${self}, n=${names.length}, ${more}, decision=[${sizes}])`;
        },
      );
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
  const numbered = (text: string) =>
    parts(text).map((buffer, index) => [String(index), buffer] as const);
  const [read, written] = [numbered(node.reads), numbered(node.writes)];
  const either = (["write", "read"] as const).flatMap((which) =>
    (which === "read" ? read : written).map(
      ([index, buffer]) => [`("${which}", ${index})`, `${buffer}, ${which}`] as const,
    ),
  );
  const of = (options: readonly (readonly [string, string])[]): Field => ({
    name: "buffer",
    value: options[0]?.[0] ?? "",
    options,
  });
  const scope: Field = { name: "storage_scope", value: "shared", options: same(SCOPES) };
  /** An offer that is written as a call with these arguments, of which the first is the block. */
  const call = (
    name: string,
    fields: Field[],
    args: (values: readonly string[], writer: Writer) => string,
    gives = "",
  ) =>
    offer(name, fields, (writer, self, values) => {
      const written = args(values, writer);
      const result = gives && `${writer.fresh("b")} = `;
      return `${result}sch.${name}(block=${self}${written && ", "}${written})`;
    });
  const axes = (count: number) => [..."ijklmnopq".slice(0, Math.max(1, count))];
  const map = (count: number): Field => ({
    name: "index_map",
    value: `lambda ${axes(count).join(", ")}: (${axes(count).reverse().join(", ")},)`,
  });
  const spatial = node.iters.filter(([, kind]) => kind === "S").length;
  const blocks = nest.nodes.flatMap((one, index) =>
    one.kind === "block" && index !== at && !above(nest, at).includes(index) ? [index] : [],
  );
  if (either.length > 0) {
    call(
      "transform_layout",
      [of(either), map(spatial), { name: "pad_value", value: "None" }],
      ([buffer, given, pad]) => `buffer=${buffer}, index_map=${given}, pad_value=${pad}`,
    );
    call("reindex", [of(either)], ([buffer]) => `buffer=${buffer}`, "b");
    const ranges = axes(spatial).map((axis) => `(${axis}, ${axis} + 1)`);
    call(
      "annotate_buffer_access",
      [
        of(either.map(([value, says]) => [value.slice(1, -1), says] as const)),
        {
          name: "gen_new_ranges",
          value: `lambda ${axes(spatial).join(", ")}: (${ranges.join(", ")},)`,
        },
      ],
      ([buffer, given]) => {
        const [which, index] = listed(buffer);
        return `buffer_index=${index}, buf_type=${which}, gen_new_ranges=${given}`;
      },
    );
    call(
      "unsafe_hide_buffer_access",
      [of(either.map(([value, says]) => [value.slice(1, -1), says] as const))],
      ([buffer]) => {
        const [which, index] = listed(buffer);
        return `buf_type=${which}, buf_index_array=[${index}]`;
      },
    );
    call("set_axis_separator", [], () => `buffer=${either[0]?.[0]}, axis_separators=[1]`);
  }
  for (const [name, which, buffers] of [
    ["reindex_cache_read", "read_buffer_index", read],
    ["reindex_cache_write", "write_buffer_index", written],
  ] as const)
    if (buffers.length > 0)
      call(
        name,
        [of(buffers), scope, map(node.iters.length)],
        ([index, where, given]) =>
          `${which}=${index}, storage_scope="${where}", index_map=${given}`,
        "b",
      );
  if (written.length > 0) {
    call("set_scope", [of(written), scope], ([index, where]) => {
      return `buffer_index=${index}, storage_scope="${where}"`;
    });
    call(
      "storage_align",
      [
        of(written),
        ...["axis 0", "factor 32", "offset 8"].map((text) => {
          const [name = "", value = ""] = text.split(" ");
          return { name, value };
        }),
      ],
      ([index, axis, factor, offset]) =>
        `buffer_index=${index}, axis=${axis}, factor=${factor}, offset=${offset}`,
    );
    call(
      "unsafe_set_dtype",
      [of(written), { name: "dtype", value: "float16" }],
      ([index, dtype]) => {
        return `buffer_index=${index}, dtype=${JSON.stringify(dtype)}`;
      },
    );
    call("rolling_buffer", [of(written)], ([index]) => `write_buffer_index=${index}`);
  }
  const reversed = node.iters.map((_, index) => index).reverse();
  call("reorder_block_iter_var", [{ name: "new_order", value: reversed.join(", ") }], ([order]) => {
    return `new_order=[${order}]`;
  });
  call("transform_block_layout", [map(node.iters.length)], ([given]) => `index_map=${given}`);
  call(
    "pad_einsum",
    [{ name: "padding", value: node.iters.map(() => "16").join(", ") }],
    ([sizes]) => {
      return `padding=[${sizes}]`;
    },
  );
  if (blocks.length > 0) {
    offer("blockize", [choice("with", blocks)], (writer, self, [other]) => {
      const name = writer.name(Number(other));
      return `${writer.fresh("b")} = sch.blockize(target=[${self}, ${name}])`;
    });
    if (node.iters.some(([, kind]) => kind === "R"))
      offer("fuse_reduction_epilogue", [choice("epilogue", blocks)], (writer, self, [other]) => {
        return `sch.fuse_reduction_epilogue(reduction_block=${self}, epilogue_block=${writer.name(Number(other))})`;
      });
  }
  offer(
    "sample_compute_location",
    [{ name: "decision", value: "0" }],
    (writer, self, [decision]) => {
      return `${writer.fresh("l")} = sch.sample_compute_location(block=${self}, decision=${decision})`;
    },
  );
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
