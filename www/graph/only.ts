/** The part of a graph that is about one function. Pure. */
import type { Graph } from "../engine/protocol";

/** Returns the nodes and edges inside of a function of the module, and the groups as they are. */
export function graphOf(graph: Graph, func: string): Graph {
  const outermost = graph.groups.map((_, index) => {
    let at = index;
    for (let up = graph.groups[at]?.parent ?? null; up !== null; ) {
      at = up;
      up = graph.groups[at]?.parent ?? null;
    }
    return graph.groups[at]?.title ?? "";
  });
  const at = new Map<number, number>();
  const nodes = graph.nodes.filter((node, index) => {
    const inside = outermost[node.group] === `@${func}`;
    if (inside) at.set(index, at.size);
    return inside;
  });
  const edges: number[] = [];
  for (let index = 0; index + 1 < graph.edges.length; index += 2) {
    const [from, to] = [
      at.get(graph.edges[index] as number),
      at.get(graph.edges[index + 1] as number),
    ];
    if (from !== undefined && to !== undefined) edges.push(from, to);
  }
  // The origin is the corner of its nodes.
  const left = Math.min(...nodes.map(({ x }) => x));
  const top = Math.min(...nodes.map(({ y }) => y));
  return {
    nodes: nodes.map((node) => ({ ...node, x: node.x - left, y: node.y - top })),
    edges,
    groups: graph.groups,
  };
}
