import { expect, test } from "vitest";
import type { Nest, NestNode } from "../engine/protocol";
import { offersFor } from "./offers";

const node = (more: Partial<NestNode>): NestNode => ({
  parent: null,
  kind: "serial",
  name: "",
  extent: 16,
  note: "",
  annotations: "",
  iters: [],
  reads: "",
  writes: "",
  lines: [1, 1],
  key: "",
  handle: "",
  reach: null,
  ...more,
});

/** Two loops around a sum that writes C, and one around a block that reads it. */
const nest: Nest = {
  functions: ["main"],
  func: "main",
  text: "",
  cut: false,
  instructions: [],
  done: 0,
  problem: "",
  refused: [],
  fresh: 3,
  nodes: [
    node({ name: "i", handle: "l0", annotations: '{"k": 1}' }),
    node({ name: "k", handle: "l1", parent: 0 }),
    node({
      kind: "block",
      name: "C",
      handle: "b1",
      parent: 1,
      iters: [
        ["vi", "S"],
        ["vk", "R"],
      ],
      reads: "C[vi], A[vi, vk]",
      writes: "C[vi]",
    }),
    node({ name: "j", handle: "l2" }),
    node({
      kind: "block",
      name: "D",
      handle: "b2",
      parent: 3,
      iters: [["vi", "S"]],
      reads: "C[vi]",
      writes: "D[vi]",
    }),
  ],
};

test("every primitive about a loop or a block is offered at one", () => {
  const offered = new Set([0, 2, 4].flatMap((at) => offersFor(nest, at).map((one) => one.name)));
  const wanted =
    `split fuse reorder merge loop_partition reorder_block_iter_var add_unit_loop bind parallel vectorize
    unroll compute_at reverse_compute_at compute_inline reverse_compute_inline fuse_reduction_epilogue cache_read cache_write
    reindex_cache_read reindex_cache_write cache_inplace cache_index reindex read_at write_at decompose_reduction rfactor
    storage_align set_scope unsafe_set_dtype blockize tensorize annotate unannotate annotate_buffer_access
    unsafe_hide_buffer_access transform_layout transform_block_layout set_axis_separator decompose_padding pad_einsum
    rolling_buffer sample_perfect_tile sample_partitioned_tile sample_compute_location`.split(
      /\s+/,
    );
  expect(wanted.filter((name) => !offered.has(name))).toEqual([]);
});

test("offers write what TVM reads", () => {
  const write = (at: number, name: string) => {
    const offer = offersFor(nest, at).find((one) => one.name === name);
    return offer?.write(offer.fields.map((field) => field.value));
  };
  expect(write(2, "blockize")).toBe("b3 = sch.blockize(target=[b1, b2])\n");
  expect(write(2, "transform_layout")).toBe(
    'sch.transform_layout(block=b1, buffer=("write", 0), index_map=lambda i: (i,), pad_value=None)\n',
  );
  expect(write(4, "unsafe_hide_buffer_access")).toBe(
    'sch.unsafe_hide_buffer_access(block=b2, buf_type="write", buf_index_array=[0])\n',
  );
  expect(write(0, "sample_perfect_tile")).toBe(
    "v3, v4 = sch.sample_perfect_tile(loop=l0, n=2, max_innermost_factor=64, decision=[4, 4])\n",
  );
  expect(write(0, "unannotate")).toBe('sch.unannotate(block_or_loop=l0, ann_key="k")\n');
});
