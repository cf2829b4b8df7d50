import { expect, test } from "vitest";
import type { Graph, GraphNode } from "../engine/protocol";
import { postDominators } from "./dominators";
import { edgePath, groupKey, isInside, NODE, type Rectangle, sceneOf, towards } from "./scene";

const node = (label: string, group: number, x: number, y: number): GraphNode => ({
  node: y,
  version: 1,
  label,
  leaves: "",
  ty: "float32",
  group,
  result: false,
  fate: "same",
  x,
  y,
});
/** `@main` with a fused group of two calls between two others. */
const graph: Graph = {
  nodes: [
    node("conv", 0, 0, 0),
    node("add", 1, 0, 1),
    node("relu", 1, 0, 2),
    node("pool", 0, 0, 3),
  ],
  edges: [0, 1, 1, 2, 2, 3, 0, 3],
  groups: [
    { parent: null, title: "@main", made: false },
    { parent: 0, title: "add → relu", made: true },
  ],
};

test("a box holds the nodes of its function, and folds into one shape", () => {
  const open = sceneOf(graph, new Set());
  expect(open.shapes).toHaveLength(4);
  expect(open.boxes.map((box) => box.group)).toEqual([1]);
  const [box] = open.boxes;
  const add = open.shapes[1];
  expect(box && add && box.top < add.y && box.left < add.x).toBe(true);
  const folded = sceneOf(graph, new Set([groupKey(graph, 1)]));
  expect(folded.shapes.map((shape) => shape.label)).toEqual(["conv", "▸ add → relu", "pool"]);
  expect(folded.edges).toEqual([
    [0, 1],
    [1, 2],
    [0, 2],
  ]);
  // Shapes that are not folded keep their places.
  expect(folded.shapes[2]?.y).toBe(open.shapes[3]?.y);
});

test("arrow keys follow the edges", () => {
  const scene = sceneOf(graph, new Set());
  expect(towards(scene, 0, "ArrowDown")).toBe(1);
  expect(towards(scene, 3, "ArrowUp")).toBe(2);
  expect(towards(scene, 0, "ArrowRight")).toBe(-1);
});

test("a long edge goes around the nodes between its ends", () => {
  const scene = sceneOf(graph, new Set());
  const [from, to] = [scene.shapes[0], scene.shapes[3]];
  const [left, right] = [from?.x ?? 0, (from?.x ?? 0) + NODE.width];
  const xs = [...(from && to ? edgePath(from, to, scene.rows) : "").matchAll(/L([\d.]+)/g)].map(
    (hit) => Number(hit[1]),
  );
  expect(xs.every((x) => Number.isNaN(x) || x > right || x < left)).toBe(true);
});

test("boxes of groups that interleave do not overlap, nor hold what is not theirs", () => {
  // Two groups in columns that cross: each has nodes on both sides of the other.
  const nodes = Array.from({ length: 24 }, (_, at) =>
    node(`n${at}`, 1 + ((at + Math.floor(at / 4)) % 3), at % 4, Math.floor(at / 4)),
  );
  const edges = nodes.flatMap((_, at) => (at + 4 < nodes.length ? [at, at + 4] : []));
  const groups = [0, 1, 2, 3].map((at) => ({
    parent: at === 0 ? null : 0,
    title: `group ${at}`,
    made: true,
  }));
  const woven: Graph = { nodes, edges, groups };
  const scene = sceneOf(woven, new Set());
  const meet = (a: Rectangle, b: Rectangle) =>
    a.left < b.left + b.width &&
    b.left < a.left + a.width &&
    a.top < b.top + b.height &&
    b.top < a.top + a.height;
  let overlaps = 0;
  for (const box of scene.boxes) {
    for (const part of box.parts) {
      for (const { x, y, group } of scene.shapes) {
        if (!isInside(woven, group, box.group) && meet(part, { left: x, top: y, ...NODE })) {
          overlaps++;
        }
      }
      for (const other of scene.boxes) {
        if (other !== box && other.parts.some((one) => meet(one, part))) overlaps++;
      }
    }
  }
  expect(scene.boxes).toHaveLength(3);
  expect(overlaps).toBe(0);
});

test("a node's post-dominator is where all that is computed from it meets again", () => {
  // conv → add, relu → multiply → two results.
  const names = ["conv", "add", "relu", "multiply", "exp", "log", "spare"];
  const nodes = names.map((name, at) => node(name, 0, 0, at));
  const edges = [0, 1, 0, 2, 1, 3, 2, 3, 3, 4, 3, 5, 6, 1, 6, 5];
  const parents = postDominators({ nodes, edges });
  expect(parents).toEqual([3, 3, 3, -1, -1, -1, -1]);
  // Removed nodes do not count.
  const gone = nodes.map((one) =>
    one.label === "log" ? { ...one, fate: "removed" as const } : one,
  );
  expect(postDominators({ nodes: gone, edges })).toEqual([3, 3, 3, 4, -1, -1, 1]);
});
