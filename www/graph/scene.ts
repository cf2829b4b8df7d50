/** From the engine's graph to shapes: sizes in pixels, boxes around functions, folded boxes as one shape. Pure. */
import type { Graph, GraphNode } from "../engine/protocol";

export const NODE = { width: 156, height: 40 };
const CELL = { width: 180, height: 66 };
const MARGIN = 32;
/** Room around the nodes of a box, for each level of boxes inside of it. */
const PADDING = 10;
const TITLE = 16;

export type Fate = GraphNode["fate"];

/** The sign before a label: nothing is told by colour alone. */
export const fateSign: Record<Fate, string> = {
  same: "",
  rewritten: "~ ",
  made: "+ ",
  removed: "− ",
};

export interface Shape {
  /** Index of the node, or for a folded box of the group as `-1 - group`. */
  id: number;
  x: number;
  y: number;
  label: string;
  detail: string;
  fate: Fate;
  result: boolean;
  group: number;
}

export interface Box {
  group: number;
  title: string;
  left: number;
  top: number;
  width: number;
  height: number;
  /** How deep it is nested. */
  depth: number;
  made: boolean;
}

export interface Scene {
  shapes: Shape[];
  boxes: Box[];
  /** Pairs of places in `shapes`. */
  edges: [number, number][];
  width: number;
  height: number;
}

const cut = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** How deep a group is nested. */
export function depthOf(graph: Graph, group: number): number {
  let depth = 0;
  for (let at = graph.groups[group]?.parent ?? null; at !== null; depth++) {
    at = graph.groups[at]?.parent ?? null;
  }
  return depth;
}

/** The outermost folded box around a group, or null. */
function foldedAround(graph: Graph, isFolded: readonly boolean[], group: number): number | null {
  let found: number | null = null;
  for (let at: number | null = group; at !== null; at = graph.groups[at]?.parent ?? null) {
    if (isFolded[at]) found = at;
  }
  return found;
}

/** What a group is known by from step to step. */
export function groupKey(graph: Graph, group: number): string {
  const here = graph.groups[group];
  if (!here) return "";
  const title = here.title;
  if (here.parent === null) return title;
  // Fused groups of one title are told apart by the place of their first node.
  const first = graph.nodes.find((node) => node.group === group);
  return `${title} ${first?.x} ${first?.y}`;
}

export function sceneOf(graph: Graph, folded: ReadonlySet<string>): Scene {
  const place = (x: number, y: number) => ({
    x: MARGIN + x * CELL.width,
    y: MARGIN + TITLE + y * CELL.height,
  });
  const isFolded = graph.groups.map(
    (_, group) => folded.size > 0 && folded.has(groupKey(graph, group)),
  );
  const around = graph.groups.map((_, group) => foldedAround(graph, isFolded, group));
  const shapes: Shape[] = [];
  /** Where each node went: to a shape of its own or into that of a folded box. */
  const at: number[] = [];
  const proxies = new Map<number, number>();
  graph.nodes.forEach((node, index) => {
    const inside = around[node.group] ?? null;
    if (inside === null) {
      at[index] = shapes.length;
      shapes.push({
        id: index,
        ...place(node.x, node.y),
        label: cut(fateSign[node.fate] + node.label, 21),
        detail: cut(node.leaves || node.ty, 23),
        fate: node.fate,
        result: node.result,
        group: node.group,
      });
      return;
    }
    const known = proxies.get(inside);
    if (known !== undefined) {
      at[index] = known;
      const shape = shapes[known];
      if (shape && shape.fate !== node.fate) shape.fate = "rewritten";
      return;
    }
    const title = graph.groups[inside]?.title ?? "";
    const count = graph.nodes.filter((other) => around[other.group] === inside).length;
    proxies.set(inside, shapes.length);
    at[index] = shapes.length;
    shapes.push({
      id: -1 - inside,
      ...place(node.x, node.y),
      label: cut(`▸ ${title}`, 21),
      detail: `${count} ${count === 1 ? "node" : "nodes"}`,
      fate: node.fate,
      result: false,
      group: inside,
    });
  });
  const edges: [number, number][] = [];
  const seen = new Set<number>();
  for (let index = 0; index + 1 < graph.edges.length; index += 2) {
    const from = at[graph.edges[index] as number] as number;
    const to = at[graph.edges[index + 1] as number] as number;
    const key = from * shapes.length + to;
    if (from === to || seen.has(key)) continue;
    seen.add(key);
    edges.push([from, to]);
  }
  const boxes = boxesOf(graph, shapes);
  const right = Math.max(...shapes.map((shape) => shape.x + NODE.width), 0);
  const bottom = Math.max(...shapes.map((shape) => shape.y + NODE.height), 0);
  return { shapes, boxes, edges, width: right + MARGIN, height: bottom + MARGIN };
}

function boxesOf(graph: Graph, shapes: readonly Shape[]): Box[] {
  const depths = graph.groups.map((_, group) => depthOf(graph, group));
  const deepest = Math.max(0, ...depths);
  const outer = graph.groups.filter((group) => group.parent === null).length;
  const bounds = graph.groups.map(() => ({
    left: Number.POSITIVE_INFINITY,
    top: Number.POSITIVE_INFINITY,
    right: 0,
    bottom: 0,
  }));
  for (const shape of shapes) {
    if (shape.id < 0) continue;
    for (let at: number | null = shape.group; at !== null; ) {
      const bound = bounds[at];
      if (!bound) break;
      bound.left = Math.min(bound.left, shape.x);
      bound.top = Math.min(bound.top, shape.y);
      bound.right = Math.max(bound.right, shape.x + NODE.width);
      bound.bottom = Math.max(bound.bottom, shape.y + NODE.height);
      at = graph.groups[at]?.parent ?? null;
    }
  }
  const boxes: Box[] = [];
  bounds.forEach((bound, group) => {
    const depth = depths[group] ?? 0;
    // One function alone needs no box around everything.
    if (bound.right === 0 || (depth === 0 && outer === 1)) return;
    const around = PADDING * Math.max(0.6, deepest - depth);
    boxes.push({
      group,
      made: graph.groups[group]?.made ?? false,
      title: cut(graph.groups[group]?.title ?? "", Math.floor((bound.right - bound.left) / 7)),
      left: bound.left - around,
      top: bound.top - around - TITLE + 4,
      width: bound.right - bound.left + 2 * around,
      height: bound.bottom - bound.top + 2 * around + TITLE - 4,
      depth,
    });
  });
  return boxes.sort((a, b) => a.depth - b.depth);
}

/** The line of an edge: straight down to the next row, around what may stand in between otherwise. */
export function edgePath(from: Shape, to: Shape): string {
  const half = NODE.width / 2;
  const [x1, y1] = [from.x + half, from.y + NODE.height];
  const [x2, y2] = [to.x + half, to.y];
  const rows = Math.round((to.y - from.y) / CELL.height);
  if (rows === 1) {
    const middle = (y1 + y2) / 2;
    return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
  }
  const straight = Math.abs(x2 - x1) < CELL.width / 4;
  const side = straight ? Math.max(x1, x2) + half + 14 : (x1 + x2) / 2;
  const lean = 28;
  return `M${x1} ${y1}C${x1} ${y1 + lean} ${side} ${y1 + 8} ${side} ${y1 + lean}L${side} ${y2 - lean}C${side} ${y2 - 8} ${x2} ${y2 - lean} ${x2} ${y2}`;
}

/** Where an arrow key leads from a shape: to an input above, a use below, a neighbour in the row. -1 for nowhere. */
export function towards(scene: Scene, from: number, key: string): number {
  const here = scene.shapes[from];
  if (!here) return scene.shapes.length > 0 ? 0 : -1;
  const nearest = (found: number[]) =>
    found.sort((a, b) => distance(scene, from, a) - distance(scene, from, b))[0] ?? -1;
  if (key === "ArrowDown")
    return nearest(scene.edges.filter(([a]) => a === from).map(([, b]) => b));
  if (key === "ArrowUp") return nearest(scene.edges.filter(([, b]) => b === from).map(([a]) => a));
  const right = key === "ArrowRight";
  const beside = scene.shapes.flatMap((shape, index) =>
    index !== from && shape.y === here.y && shape.x > here.x === right ? [index] : [],
  );
  return nearest(beside);
}

function distance(scene: Scene, a: number, b: number): number {
  const [from, to] = [scene.shapes[a], scene.shapes[b]];
  return from && to ? Math.hypot(from.x - to.x, from.y - to.y) : Number.POSITIVE_INFINITY;
}
