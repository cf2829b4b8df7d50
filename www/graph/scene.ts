/** From the engine's graph to shapes: sizes in pixels, boxes around functions, folded boxes as one shape. Pure. */
import type { Graph, GraphNode } from "../engine/protocol";

export const NODE = { width: 156, height: 40 };
export const CELL = { width: 180, height: 66 };
const MARGIN = 32;
/** Room around the nodes of a box, for each level of boxes inside of it. */
const PADDING = 10;
const TITLE = 16;
/** The same around single nodes: two boxes with their titles fit between two rows. */
const SNUG = 6;

export type Fate = GraphNode["fate"];

/** The sign before a label: colour alone carries no information. */
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

export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Box extends Rectangle {
  group: number;
  title: string;
  /** The rectangles to draw: the box, or snug parts of it if other shapes stand inside its bounds. */
  parts: Rectangle[];
  /** Lines that join parts which stand apart. */
  joints: string[];
  /** The depth of its nesting. */
  depth: number;
  made: boolean;
}

export interface Scene {
  shapes: Shape[];
  boxes: Box[];
  /** Pairs of places in `shapes`. */
  edges: [number, number][];
  /** From each shape to the one that post-dominates it; empty unless they are wanted. */
  dominators: [number, number][];
  /** For each row, from the top, where its shapes begin and end. */
  rows: Map<number, [left: number, right: number][]>;
  width: number;
  height: number;
}

const cut = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** Returns the nesting depth of a group. */
export function depthOf(graph: Graph, group: number): number {
  let depth = 0;
  for (let at = graph.groups[group]?.parent ?? null; at !== null; depth++) {
    at = graph.groups[at]?.parent ?? null;
  }
  return depth;
}

/** Returns the outermost folded box around a group, or null. */
function foldedAround(graph: Graph, isFolded: readonly boolean[], group: number): number | null {
  let found: number | null = null;
  for (let at: number | null = group; at !== null; at = graph.groups[at]?.parent ?? null) {
    if (isFolded[at]) found = at;
  }
  return found;
}

/** Returns the key of a group that stays the same from step to step. */
export function groupKey(graph: Graph, group: number): string {
  const here = graph.groups[group];
  if (!here) return "";
  const title = here.title;
  if (here.parent === null) return title;
  // The place of the first node distinguishes fused groups of one title.
  const first = graph.nodes.find((node) => node.group === group);
  return `${title} ${first?.x} ${first?.y}`;
}

export function sceneOf(
  graph: Graph,
  folded: ReadonlySet<string>,
  parents: readonly number[] = [],
): Scene {
  const place = (x: number, y: number) => ({
    x: MARGIN + x * CELL.width,
    y: MARGIN + TITLE + y * CELL.height,
  });
  const isFolded = graph.groups.map(
    (_, group) => folded.size > 0 && folded.has(groupKey(graph, group)),
  );
  const around = graph.groups.map((_, group) => foldedAround(graph, isFolded, group));
  const shapes: Shape[] = [];
  /** The shape of each node: its own or that of a folded box. */
  const at: number[] = [];
  const proxies = new Map<number, number>();
  graph.nodes.forEach((node, index) => {
    const inside = around[node.group] ?? null;
    if (inside === null) {
      at[index] = shapes.length;
      shapes.push({
        id: index,
        ...place(node.x, node.y),
        label: cut(fateSign[node.fate] + node.label, 19),
        detail: cut(node.leaves || node.ty, 21),
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
      label: cut(`▸ ${title}`, 19),
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
  const dominators = new Map<number, number>();
  parents.forEach((parent, node) => {
    const [from, to] = [at[node] as number, at[parent]];
    if (to !== undefined && from !== to) dominators.set(from, to);
  });
  const boxes = boxesOf(graph, shapes, edges);
  const right = Math.max(...shapes.map((shape) => shape.x + NODE.width), 0);
  const bottom = Math.max(...shapes.map((shape) => shape.y + NODE.height), 0);
  return {
    shapes,
    boxes,
    edges,
    dominators: [...dominators],
    rows: rowsOf(shapes),
    width: right + MARGIN,
    height: bottom + MARGIN,
  };
}

/** Collects the occupied intervals of each row. */
function rowsOf(shapes: readonly Shape[]): Scene["rows"] {
  const rows: Scene["rows"] = new Map();
  for (const { x, y } of shapes) {
    const row = rows.get(y) ?? [];
    row.push([x, x + NODE.width]);
    rows.set(y, row);
  }
  return rows;
}

const meet = (a: Rectangle, b: Rectangle) =>
  a.left < b.left + b.width &&
  b.left < a.left + a.width &&
  a.top < b.top + b.height &&
  b.top < a.top + a.height;

/** True if a group is another or stands inside it. */
export function isInside(graph: Graph, group: number, outer: number): boolean {
  let at: number | null = group;
  while (at !== null && at !== outer) at = graph.groups[at]?.parent ?? null;
  return at === outer;
}

/**
 * Draws a box around each node of a group, and joints between dependent neighbours. Nodes stand at least a cell apart
 * in their row, so no part meets a part or a node of another group.
 */
function snugly(
  members: ReadonlySet<number>,
  shapes: readonly Shape[],
  edges: readonly (readonly [number, number])[],
): Rectangle[] {
  const parts: Rectangle[] = [];
  let first: Shape | undefined;
  for (const index of members) {
    const shape = shapes[index] as Shape;
    if (!first || shape.y < first.y || (shape.y === first.y && shape.x < first.x)) first = shape;
    parts.push({
      left: shape.x - SNUG,
      top: shape.y - SNUG,
      width: NODE.width + 2 * SNUG,
      height: NODE.height + 2 * SNUG,
    });
  }
  for (const [from, to] of edges) {
    if (!members.has(from) || !members.has(to)) continue;
    const [a, b] = [shapes[from] as Shape, shapes[to] as Shape];
    const left = Math.max(a.x, b.x);
    const width = Math.min(a.x, b.x) + NODE.width - left;
    if (b.y - a.y !== CELL.height || width <= 0) continue;
    parts.push({ left, top: a.y + NODE.height, width, height: CELL.height - NODE.height });
  }
  if (first) {
    // The title stands above the first node.
    const { x, y } = first;
    const head = { left: x - SNUG, top: y - SNUG - TITLE + 4, width: NODE.width + 2 * SNUG };
    parts.unshift({ ...head, height: TITLE });
  }
  return parts;
}

/** Draws joints from each node of a group to the nearest above or beside it that no part of the box joins it with. */
function jointsOf(
  members: ReadonlySet<number>,
  shapes: readonly Shape[],
  edges: readonly (readonly [number, number])[],
): string[] {
  const sorted = [...members].sort((a, b) => {
    const [one, other] = [shapes[a] as Shape, shapes[b] as Shape];
    return one.y - other.y || one.x - other.x;
  });
  const joined = new Set<number>(sorted.slice(0, 1));
  for (const [from, to] of edges) {
    const [a, b] = [shapes[from], shapes[to]];
    if (!members.has(from) || !members.has(to) || !a || !b) continue;
    if (b.y - a.y === CELL.height && Math.abs(a.x - b.x) < NODE.width) joined.add(to);
  }
  const middle = (shape: Shape) => `${shape.x + NODE.width / 2} ${shape.y + NODE.height / 2}`;
  return sorted.flatMap((index, place) => {
    const above = shapes[sorted[place - 1] ?? -1];
    const here = shapes[index];
    return joined.has(index) || !above || !here ? [] : [`M${middle(above)}L${middle(here)}`];
  });
}

function boxesOf(
  graph: Graph,
  shapes: readonly Shape[],
  edges: readonly (readonly [number, number])[],
): Box[] {
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
    const whole = {
      left: bound.left - around,
      top: bound.top - around - TITLE + 4,
      width: bound.right - bound.left + 2 * around,
      height: bound.bottom - bound.top + 2 * around + TITLE - 4,
    };
    boxes.push({
      ...whole,
      group,
      made: graph.groups[group]?.made ?? false,
      title: graph.groups[group]?.title ?? "",
      parts: [whole],
      joints: [],
      depth,
    });
  });
  const isApart = (a: number, b: number) => !isInside(graph, a, b) && !isInside(graph, b, a);
  for (const box of boxes) {
    const stranger = shapes.some(
      ({ x, y, group }) =>
        meet(box, { left: x, top: y, ...NODE }) && !isInside(graph, group, box.group),
    );
    const crossed = () =>
      boxes.some((other) => isApart(box.group, other.group) && meet(box, other));
    if (!stranger && !crossed()) continue;
    const members = new Set(
      shapes.flatMap(({ group }, index) => (isInside(graph, group, box.group) ? [index] : [])),
    );
    box.parts = snugly(members, shapes, edges);
    box.joints = jointsOf(members, shapes, edges);
  }
  for (const box of boxes) {
    const [first] = box.parts as [Rectangle];
    Object.assign(box, { title: cut(box.title, Math.floor(first.width / 7.5) - 4) });
  }
  return boxes.sort((a, b) => a.depth - b.depth);
}

/** The most rows for which an edge is kept clear of the shapes between its ends. */
const LONGEST = 60;

/** Returns the line of an edge: straight down to the next row, else the nearest way past shapes in between. */
export function edgePath(from: Shape, to: Shape, rows: Scene["rows"]): string {
  const half = NODE.width / 2;
  const [x1, y1] = [from.x + half, from.y + NODE.height];
  const [x2, y2] = [to.x + half, to.y];
  const between = Math.round((to.y - from.y) / CELL.height);
  if (between <= 1) {
    const middle = (y1 + y2) / 2;
    return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
  }
  const side = sideOf(from, to, between, rows);
  const lean = 28;
  return `M${x1} ${y1}C${x1} ${y1 + lean} ${side} ${y1 + 8} ${side} ${y1 + lean}L${side} ${y2 - lean}C${side} ${y2 - 8} ${x2} ${y2 - lean} ${x2} ${y2}`;
}

/** Finds the column where an edge crosses no shape between its ends: as near to both ends as possible. */
function sideOf(from: Shape, to: Shape, between: number, rows: Scene["rows"]): number {
  const half = NODE.width / 2;
  const [x1, x2] = [from.x + half, to.x + half];
  const taken: [number, number][] = [];
  for (let row = 1; row < Math.min(between, LONGEST); row++) {
    for (const [left, right] of rows.get(from.y + row * CELL.height) ?? []) {
      taken.push([left - 6, right + 6]);
    }
  }
  const free = (x: number) => taken.every(([left, right]) => x <= left || x >= right);
  const far = (x: number) => Math.abs(x - x1) + Math.abs(x - x2);
  const places = [x2, x1, (x1 + x2) / 2, ...taken.flat()].filter(free);
  return places.reduce((best, x) => (far(x) < far(best) ? x : best), places[0] ?? x1);
}

/** Returns the line from a node to the one that post-dominates it, on their left. */
export function dominatorPath(from: Shape, to: Shape): string {
  const [y1, y2] = [from.y + NODE.height - 8, to.y + 8];
  const side = Math.min(from.x, to.x) - 16;
  return `M${from.x} ${y1}C${side} ${y1} ${side} ${y1} ${side} ${(y1 + y2) / 2}S${side} ${y2} ${to.x} ${y2}`;
}

/** Returns the shape that an arrow key leads to: an input above, a use below, a neighbour in the row. -1 for none. */
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
