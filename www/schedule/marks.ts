/** The fate of loops and blocks from one nest to the next. */
import type { Nest, NestNode } from "../engine/protocol";

export type Mark = "" | "made" | "changed" | "moved" | "gone";

/** A row of the picture. Of what is gone it is where it stood, and `at` is -1. */
export interface Row {
  node: NestNode;
  at: number;
  depth: number;
  mark: Mark;
  /** Its former state, in a word or two. */
  was: string;
  /** Kinds of what it stands in, the outermost first. */
  rails: string[];
}

export const kindWord: Record<string, string> = {
  serial: "serial",
  parallel: "parallel",
  vectorized: "vectorized",
  unroll: "unrolled",
  thread_binding: "thread",
};

const depths = ({ nodes }: Nest): number[] => {
  const found: number[] = [];
  nodes.forEach((node, at) => {
    found[at] = node.parent === null ? 0 : (found[node.parent] ?? 0) + 1;
  });
  return found;
};

const railsOf = ({ nodes }: Nest, at: number): string[] => {
  const found: string[] = [];
  for (let up = nodes[at]?.parent ?? null; up !== null; up = nodes[up]?.parent ?? null)
    found.unshift(nodes[up]?.kind ?? "");
  return found;
};

/** The nearest loop or block around that both nests have. */
function around({ nodes }: Nest, at: number, other: ReadonlyMap<string, unknown>): string {
  for (let up = nodes[at]?.parent ?? null; up !== null; up = nodes[up]?.parent ?? null) {
    const key = nodes[up]?.key ?? "";
    if (other.has(key)) return key;
  }
  return "";
}

const said = (node: NestNode) =>
  `${kindWord[node.kind] ?? node.kind}${node.kind === "thread_binding" ? ` ${node.note}` : ""}`;

/** The rows of a nest, beside the one before it if there is one; what is gone stands behind what it stood behind. */
export function rowsOf(nest: Nest, before: Nest | null): Row[] {
  const old = new Map((before ?? nest).nodes.map((node, at) => [node.key, at] as const));
  const now = new Map(nest.nodes.map((node, at) => [node.key, at] as const));
  const deep = depths(nest);
  const rows: Row[] = nest.nodes.map((node, at) => {
    const row: Row = {
      node,
      at,
      depth: deep[at] ?? 0,
      mark: "",
      was: "",
      rails: railsOf(nest, at),
    };
    if (!before) return row;
    const there = old.get(node.key);
    const was = there === undefined ? undefined : before.nodes[there];
    if (there === undefined || !was) return { ...row, mark: "made" };
    const alike = said(was) === said(node) && was.annotations === node.annotations;
    if (!alike || (node.extent !== was.extent && node.kind !== "store")) {
      const extent = was.extent === node.extent ? "" : ` ${was.extent}`;
      return { ...row, mark: "changed", was: said(was) + extent };
    }
    if (
      node.kind === "store"
        ? was.note !== node.note
        : was.reads + was.writes !== node.reads + node.writes
    )
      return { ...row, mark: "changed" };
    return around(before, there, now) === around(nest, at, old) ? row : { ...row, mark: "moved" };
  });
  if (!before) return rows;
  const oldDeep = depths(before);
  before.nodes.forEach((node, at) => {
    if (now.has(node.key)) return;
    const behind = before.nodes[at - 1];
    const place = behind ? rows.findIndex((row) => row.node.key === behind.key) + 1 : 0;
    const depth = oldDeep[at] ?? 0;
    rows.splice(place, 0, {
      node,
      at: -1,
      depth,
      mark: "gone",
      was: "",
      rails: railsOf(before, at),
    });
  });
  return rows;
}

/** A row in words. */
export function wordsOf({ node, mark, was }: Row): string {
  const { kind, name, extent } = node;
  const parts: string[] = [];
  if (kindWord[kind]) {
    parts.push(
      `loop ${name}`,
      extent === null ? "extent unknown" : `${extent} iterations`,
      said(node),
    );
  } else if (kind === "block") {
    parts.push(`block ${name}`);
    if (node.reads) parts.push(`reads ${node.reads}`);
    if (node.writes) parts.push(`writes ${node.writes}`);
  } else parts.push(kind, name || node.note);
  if (mark) parts.push(mark + (was ? `, was ${was}` : ""));
  return parts.join(", ");
}
