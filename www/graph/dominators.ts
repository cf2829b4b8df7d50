/**
 * Computes the post-dominator tree of FuseOps (`src/relay/analysis/graph_partitioner.cc`): a node's parent is the first
 * node that every use of it flows through. FuseOps merges nodes on the ways from a node to its parent.
 */
import type { Graph } from "../engine/protocol";

/** Returns the parent of each node, or -1: for a result, for uses that never meet again, for a removed node. */
export function postDominators(graph: Pick<Graph, "nodes" | "edges">): number[] {
  const { nodes, edges } = graph;
  const users: number[][] = nodes.map(() => []);
  const inputs: number[][] = nodes.map(() => []);
  for (let at = 0; at + 1 < edges.length; at += 2) {
    const [from, to] = [edges[at] as number, edges[at + 1] as number];
    if (nodes[from]?.fate === "removed" || nodes[to]?.fate === "removed") continue;
    users[from]?.push(to);
    inputs[to]?.push(from);
  }
  const parent = nodes.map(() => -1);
  const depth = nodes.map(() => 0);
  const waiting = users.map((list) => list.length);
  const ready = waiting.flatMap((count, index) => (count === 0 ? [index] : []));
  const common = (one: number, other: number): number => {
    let [a, b] = [one, other];
    while (a !== b) {
      if (a < 0 || b < 0) return -1;
      if ((depth[a] as number) >= (depth[b] as number)) a = parent[a] as number;
      else b = parent[b] as number;
    }
    return a;
  };
  // Users before their operands.
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    const list = users[node] as number[];
    // The result of a function is visible outside, whatever its other uses.
    const meet = nodes[node]?.result ? -1 : list.reduce(common, list[0] ?? -1);
    parent[node] = meet;
    depth[node] = meet < 0 ? 0 : (depth[meet] as number) + 1;
    for (const input of inputs[node] as number[]) {
      waiting[input] = (waiting[input] as number) - 1;
      if (waiting[input] === 0) ready.push(input);
    }
  }
  return parent;
}
