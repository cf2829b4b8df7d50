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
  name(at: number | string | undefined): string {
    const node = this.nest.nodes[Number(at)];
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

/** Returns the buffers in a text, each with its number. */
const numbered = (text: string) =>
  parts(text).map((buffer, index) => [String(index), buffer] as const);
/** Splits a text at its commas. */
const listed = (text = "") => text.split(",").map((one) => one.trim());
/** Returns the indices of the nodes that pass the test. */
const nodesWhere = ({ nodes }: Nest, test: (node: NestNode, index: number) => boolean) =>
  nodes.flatMap((node, index) => (test(node, index) ? [index] : []));
/** True if the block sums up, or reduces in another way. */
const reduces = (node: NestNode) => node.iters.some(([, kind]) => kind === "R");

/** Returns the field that chooses a buffer. */
const bufferOf = (options: readonly (readonly [string, string])[]): Field => ({
  name: "buffer",
  value: options[0]?.[0] ?? "",
  options,
});
/** Returns the field that chooses a memory. */
const scopeOf = (value: string): Field => ({
  name: "storage_scope",
  value,
  options: same(SCOPES),
});
/** Returns names for so many axes. */
const axes = (count: number) => [..."ijklmnopq".slice(0, Math.max(1, count))];
/** Returns the field for a map of so many indices. */
const mapOf = (count: number): Field => ({
  name: "index_map",
  value: `lambda ${axes(count).join(", ")}: (${axes(count).reverse().join(", ")},)`,
});

/** Writes an instruction with the name of its node. */
type Write = (writer: Writer, self: string, values: readonly string[]) => string;
type Menu = ReturnType<typeof menuOf>;

/** Collects the offers for a node. */
function menuOf(nest: Nest, at: number, node: NestNode) {
  const offers: Offer[] = [];
  /** Adds an offer, unless nothing can be chosen for a field of it. */
  const offer = (name: string, fields: Field[], write: Write, anyway = false) => {
    if (anyway || fields.every(({ options }) => options?.length !== 0))
      offers.push({
        name,
        fields,
        write(values) {
          const writer = new Writer(nest);
          return writer.done(write(writer, writer.name(at), values));
        },
      });
  };
  return {
    nest,
    at,
    node,
    offers,
    offer,
    /** An offer that is written as a call with these arguments, of which the first is the block. */
    call: (
      name: string,
      fields: Field[] = [],
      args = (_values: readonly string[], _writer: Writer) => "",
      gives: "" | "b" | "l" = "",
      first = isLoop(node) ? "loop" : "block",
    ) =>
      offer(name, fields, (writer, self, values) => {
        const result = gives && `${writer.fresh(gives)} = `;
        const written = args(values, writer);
        return `${result}sch.${name}(${first}=${self}${written && ", "}${written})`;
      }),
    /** Returns the field that chooses one of these nodes. */
    choice: (name: string, all: readonly number[]): Field => ({
      name,
      value: String(all[0] ?? ""),
      options: all.map((index) => [String(index), nest.nodes[index]?.name ?? ""] as const),
    }),
    /** The loops around the node, the innermost first. */
    around: above(nest, at).filter((one) => isLoop(nest.nodes[one] as NestNode)),
  };
}

const EITHER = "block_or_loop";

/** Offers to take off an annotation of the node. */
function unannotate({ node, call }: Menu): void {
  const keys = [...node.annotations.matchAll(/"([^"]+)": /g)].map((found) => found[1] ?? "");
  call(
    "unannotate",
    [{ name: "ann_key", value: keys[0] ?? "", options: same(keys) }],
    ([key]) => `ann_key=${JSON.stringify(key)}`,
    "",
    EITHER,
  );
}

/** Offers for blocks and loops alike, which stand last: `add_unit_loop` and `annotate`. */
function forEither({ node, call }: Menu): void {
  call("add_unit_loop", [], undefined, "l", EITHER);
  call(
    "annotate",
    [
      {
        name: "ann_key",
        value: isLoop(node) ? "pragma_unroll_explicit" : "meta_schedule.tiling",
      },
      { name: "ann_val", value: "1" },
    ],
    ([key, value]) => `ann_key=${JSON.stringify(key)}, ann_val=${value}`,
    "",
    EITHER,
  );
}

/** Offers to replace the node by an instruction of the machine. */
function tensorize({ call }: Menu): void {
  call(
    "tensorize",
    [{ name: "tensor_intrin", value: "dot_16x4_vnni" }],
    ([intrin]) => `tensor_intrin=${JSON.stringify(intrin)}`,
    "",
    EITHER,
  );
}

/** Offers to divide a loop by factors: `split` and `loop_partition`. */
const divide =
  (name: string) =>
  ({ offer }: Menu) =>
    offer(name, [{ name: "factors", value: "None, 4" }], (writer, self, [factors]) => {
      const names = listed(factors).map(() => writer.fresh("l"));
      return `${names.join(", ")}${names.length === 1 ? "," : ""} = sch.${name}(loop=${self}, factors=[${listed(factors).join(", ")}])`;
    });

/** Offers for a loop and those right inside of it: `fuse` and `reorder`. */
function chain({ nest, at, offer, choice }: Menu): void {
  const inner = innerLoops(nest, at);
  const upTo = (writer: Writer, last: string | undefined) =>
    inner.slice(0, inner.indexOf(Number(last)) + 1).map((one) => writer.name(one));
  offer("fuse", [choice("up to", inner)], (writer, self, [last]) => {
    const loops = upTo(writer, last);
    return `${writer.fresh("l")} = sch.fuse(${[self, ...loops].join(", ")})`;
  });
  offer("reorder", [choice("into", inner)], (writer, self, [last]) => {
    return `sch.reorder(${[...upTo(writer, last), self].join(", ")})`;
  });
}

/** Offers for the way in which a loop is run: `parallel`, `vectorize`, `unroll` and `bind`. */
function runAs({ call }: Menu): void {
  for (const kind of ["parallel", "vectorize", "unroll"]) call(kind);
  call(
    "bind",
    [{ name: "thread_axis", value: "blockIdx.x", options: same(THREADS) }],
    ([axis]) => `thread_axis="${axis}"`,
  );
}

/** Offers for a loop of a reduction: `decompose_reduction` and `rfactor`. */
function reduction({ nest, at, offer, call, choice }: Menu): void {
  const blocks = nodesWhere(
    nest,
    (one, index) => one.kind === "block" && reduces(one) && above(nest, index).includes(at),
  );
  if (blocks.length === 0) return;
  offer("decompose_reduction", [choice("block", blocks)], (writer, self, [block]) => {
    const name = writer.name(block);
    return `${writer.fresh("b")} = sch.decompose_reduction(block=${name}, loop=${self})`;
  });
  call("rfactor", [{ name: "factor_axis", value: "0" }], ([axis]) => `factor_axis=${axis}`, "b");
}

/** Offers to merge a loop with one beside it. */
function merge({ nest, at, offer, choice }: Menu): void {
  const beside = nodesWhere(
    nest,
    (one, index) =>
      isLoop(one) &&
      index !== at &&
      !above(nest, index).includes(at) &&
      !above(nest, at).includes(index),
  );
  offer("merge", [choice("with", beside)], (writer, self, [other]) => {
    const name = writer.name(other);
    return `${writer.fresh("l")} = sch.merge(${self}, ${name})`;
  });
}

/** Offers to sample the sizes of a loop's tiles, and to make a block of the loop. */
function tiles({ node, offer, call }: Menu): void {
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
  call("blockize", [], undefined, "b", "target");
}

/** Offers to move a block: to another loop, or into its readers or writers. */
function compute({ nest, around, call, choice }: Menu): void {
  const others = nodesWhere(nest, (one, index) => isLoop(one) && !around.includes(index));
  // The innermost loops first: that is where things are mostly wanted.
  const places = others.reverse();
  for (const name of ["compute_at", "reverse_compute_at"])
    call(name, [choice("loop", places)], ([loop], writer) => {
      return `loop=${writer.name(loop)}, preserve_unit_loops=True`;
    });
  for (const name of ["compute_inline", "reverse_compute_inline"]) call(name);
}

/** Offers to keep what a block reads or writes in other memory. */
function caches({ node: { reads, writes }, call }: Menu): void {
  const cache = (name: string, which: string, text: string) =>
    call(
      name,
      [bufferOf(numbered(text)), scopeOf("global")],
      ([index, scope]) => `${which}=${index}, storage_scope="${scope}"`,
      "b",
    );
  cache("cache_read", "read_buffer_index", reads);
  cache("cache_write", "write_buffer_index", writes);
  if (parts(reads).some((buffer) => parts(writes).includes(buffer)))
    cache("cache_inplace", "read_buffer_index", reads);
}

/** Offers for a block and a loop around it: `decompose_…`, `read_at` and `write_at`. */
function atLoops({ node, around, offer, choice }: Menu): void {
  const outwards = choice("loop", [...around].reverse());
  const sums = reduces(node);
  const decompose = sums ? "decompose_reduction" : "decompose_padding";
  offer(
    decompose,
    [outwards],
    (writer, self, [loop]) =>
      `${writer.fresh("b")} = sch.${decompose}(block=${self}, loop=${writer.name(loop)})`,
    sums,
  );
  for (const [which, text] of [
    ["read", node.reads],
    ["write", node.writes],
  ] as const)
    offer(
      `${which}_at`,
      [outwards, bufferOf(numbered(text)), scopeOf("shared")],
      (writer, self, [loop, index, scope]) =>
        `${writer.fresh("b")} = sch.${which}_at(loop=${writer.name(loop)}, block=${self}, ${which}_buffer_index=${index}, storage_scope="${scope}")`,
    );
}

/** Offers to keep the indices that a block computes. */
function cacheIndex({ call }: Menu): void {
  call(
    "cache_index",
    [scopeOf("global"), { name: "cse_thresh", value: "0" }],
    ([scope, least]) => `storage_scope="${scope}", cse_thresh=${least}`,
    "b",
  );
}

/** Offers for the layout of a buffer and the places at which a block touches it. */
function layouts({ node, call }: Menu): void {
  const either = (["write", "read"] as const).flatMap((which) =>
    numbered(which === "read" ? node.reads : node.writes).map(
      ([index, buffer]) => [`("${which}", ${index})`, `${buffer}, ${which}`] as const,
    ),
  );
  if (either.length === 0) return;
  const buffer = bufferOf(either);
  const bare = bufferOf(either.map(([value, says]) => [value.slice(1, -1), says] as const));
  const spatial = node.iters.filter(([, kind]) => kind === "S").length;
  call(
    "transform_layout",
    [buffer, mapOf(spatial), { name: "pad_value", value: "None" }],
    ([buffer, given, pad]) => `buffer=${buffer}, index_map=${given}, pad_value=${pad}`,
  );
  call("reindex", [buffer], ([buffer]) => `buffer=${buffer}`, "b");
  const ranges = axes(spatial).map((axis) => `(${axis}, ${axis} + 1)`);
  call(
    "annotate_buffer_access",
    [
      bare,
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
  call("unsafe_hide_buffer_access", [bare], ([buffer]) => {
    const [which, index] = listed(buffer);
    return `buf_type=${which}, buf_index_array=[${index}]`;
  });
  call("set_axis_separator", [], () => `buffer=${buffer.value}, axis_separators=[1]`);
}

/** Offers to keep a buffer in other memory with another index. */
function reindexCaches({ node: { reads, writes, iters }, call }: Menu): void {
  for (const [which, text] of [
    ["read", reads],
    ["write", writes],
  ] as const)
    call(
      `reindex_cache_${which}`,
      [bufferOf(numbered(text)), scopeOf("shared"), mapOf(iters.length)],
      ([index, where, given]) =>
        `${which}_buffer_index=${index}, storage_scope="${where}", index_map=${given}`,
      "b",
    );
}

/** Offers for a buffer that a block writes: its memory, alignment and type. */
function written({ node, call }: Menu): void {
  const buffer = bufferOf(numbered(node.writes));
  call("set_scope", [buffer, scopeOf("shared")], ([index, where]) => {
    return `buffer_index=${index}, storage_scope="${where}"`;
  });
  call(
    "storage_align",
    [
      buffer,
      ...["axis 0", "factor 32", "offset 8"].map((text) => {
        const [name = "", value = ""] = text.split(" ");
        return { name, value };
      }),
    ],
    ([index, axis, factor, offset]) =>
      `buffer_index=${index}, axis=${axis}, factor=${factor}, offset=${offset}`,
  );
  call("unsafe_set_dtype", [buffer, { name: "dtype", value: "float16" }], ([index, dtype]) => {
    return `buffer_index=${index}, dtype=${JSON.stringify(dtype)}`;
  });
  call("rolling_buffer", [buffer], ([index]) => `write_buffer_index=${index}`);
}

/** Offers for the variables over which a block iterates. */
function iterations({ node: { iters }, call }: Menu): void {
  const reversed = iters.map((_, index) => index).reverse();
  call("reorder_block_iter_var", [{ name: "new_order", value: reversed.join(", ") }], ([order]) => {
    return `new_order=[${order}]`;
  });
  call("transform_block_layout", [mapOf(iters.length)], ([given]) => `index_map=${given}`);
  call(
    "pad_einsum",
    [{ name: "padding", value: iters.map(() => "16").join(", ") }],
    ([sizes]) => `padding=[${sizes}]`,
  );
}

/** Offers for a block with another one, and to sample its place. */
function withBlocks({ nest, at, node, offer, call, choice }: Menu): void {
  const blocks = nodesWhere(
    nest,
    (one, index) => one.kind === "block" && index !== at && !above(nest, at).includes(index),
  );
  offer("blockize", [choice("with", blocks)], (writer, self, [other]) => {
    const name = writer.name(other);
    return `${writer.fresh("b")} = sch.blockize(target=[${self}, ${name}])`;
  });
  if (reduces(node))
    call(
      "fuse_reduction_epilogue",
      [choice("epilogue", blocks)],
      ([other], writer) => `epilogue_block=${writer.name(other)}`,
      "",
      "reduction_block",
    );
  call(
    "sample_compute_location",
    [{ name: "decision", value: "0" }],
    ([decision]) => `decision=${decision}`,
    "l",
  );
}

/** The kinds of offers in the order in which they are listed. */
const LOOP_KINDS: readonly ((menu: Menu) => void)[] = [
  unannotate,
  divide("split"),
  chain,
  runAs,
  reduction,
  divide("loop_partition"),
  merge,
  tiles,
  tensorize,
  forEither,
];
const BLOCK_KINDS: readonly ((menu: Menu) => void)[] = [
  unannotate,
  compute,
  caches,
  atLoops,
  cacheIndex,
  tensorize,
  layouts,
  reindexCaches,
  written,
  iterations,
  withBlocks,
  forEither,
];

/** All that could be done to a node, even where the engine does not let it. */
export function offersFor(nest: Nest, at: number): Offer[] {
  const node = nest.nodes[at];
  if (!node || !(node.handle || node.reach)) return [];
  const menu = menuOf(nest, at, node);
  const kinds = isLoop(node) ? LOOP_KINDS : node.kind === "block" ? BLOCK_KINDS : [];
  for (const kind of kinds) kind(menu);
  return menu.offers;
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
