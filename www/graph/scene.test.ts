import { expect, test } from "vitest";
import type { Graph, GraphNode } from "../engine/protocol";
import { edgePath, groupKey, sceneOf, towards } from "./scene";

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
  // What is not folded stays where it was.
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
  const right = (from?.x ?? 0) + 156;
  const xs = [...(from && to ? edgePath(from, to) : "").matchAll(/L([\d.]+)/g)].map((hit) =>
    Number(hit[1]),
  );
  expect(xs.every((x) => Number.isNaN(x) || x > right)).toBe(true);
});
