/** The graph as a tree of rows: functions, and in them their operations, in order. All of the picture in words. */
import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import type { Graph, GraphNode } from "../engine/protocol";
import { useApp } from "../panels/context";
import { fateSign, groupKey } from "./scene";

interface Row {
  level: number;
  group: number;
  /** Index of the node; null for the row of a box. */
  node: number | null;
}

const words = {
  same: "kept",
  rewritten: "rewritten",
  made: "made here",
  removed: "removed",
} as const;

/** Returns the rows of a graph, without those inside of folded boxes. */
function rowsOf(graph: Graph, folded: ReadonlySet<string>): Row[] {
  const result: Row[] = [];
  const inside = (group: number, level: number) => {
    result.push({ level, group, node: null });
    if (folded.has(groupKey(graph, group))) return;
    // Orders the nodes by height, so inputs precede uses; a box stands just before its first node.
    const items: { y: number; put(): void }[] = [];
    graph.nodes.forEach((node, index) => {
      if (node.group === group) {
        items.push({
          y: node.y,
          put: () => result.push({ level: level + 1, group, node: index }),
        });
      }
    });
    graph.groups.forEach((other, index) => {
      if (other.parent !== group) return;
      const first = graph.nodes.filter((node) => node.group === index).map((node) => node.y);
      items.push({ y: Math.min(...first, 1e9) - 0.5, put: () => inside(index, level + 1) });
    });
    items
      .sort((a, b) => a.y - b.y)
      .forEach((item) => {
        item.put();
      });
  };
  graph.groups.forEach((group, index) => {
    if (group.parent === null) inside(index, 1);
  });
  return result;
}

/** Returns the labels of the inputs of each node. */
function inputsOf({ nodes, edges }: Graph): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (let index = 0; index + 1 < edges.length; index += 2) {
    const to = edges[index + 1] as number;
    const list = found.get(to) ?? [];
    list.push(nodes[edges[index] as number]?.label ?? "");
    found.set(to, list);
  }
  return found;
}

interface Tabled {
  graph: Graph;
  folded: ReadonlySet<string>;
  /** The post-dominator of each node; empty when they are not wanted. */
  parents: readonly number[];
  onFold(key: string): void;
}

/** Shows the cells of a row. */
function Cells(props: {
  row: Row;
  node: GraphNode | undefined;
  open: boolean;
  inputs: string;
  table: Tabled;
}) {
  const group = () => props.table.graph.groups[props.row.group];
  return (
    <>
      <div role="gridcell" style={{ "--level": props.row.level }}>
        <Show
          when={props.node}
          fallback={
            <>
              <span aria-hidden="true">{props.open ? "▾ " : "▸ "}</span>
              {group()?.title}
            </>
          }
        >
          {(item) => (
            <>
              <span aria-hidden="true">{fateSign[item().fate]}</span>
              {item().label}
              {item().result ? " (result)" : ""}
            </>
          )}
        </Show>
      </div>
      <div role="gridcell">{props.node?.ty}</div>
      <div role="gridcell">{props.inputs}</div>
      <Show when={props.table.parents.length > 0}>
        <div role="gridcell">
          {props.table.graph.nodes[props.table.parents[props.row.node ?? -1] ?? -1]?.label}
        </div>
      </Show>
      <div role="gridcell">
        {props.node ? words[props.node.fate] : group()?.made ? "function, made here" : "function"}
      </div>
    </>
  );
}

export function GraphTable(props: Tabled) {
  const app = useApp();
  let body!: HTMLDivElement;
  const [active, setActive] = createSignal(0);

  const rows = createMemo(() => rowsOf(props.graph, props.folded));
  const inputs = createMemo(() => inputsOf(props.graph));
  const inputsAt = (index: number) =>
    [...(inputs().get(index) ?? []), props.graph.nodes[index]?.leaves ?? ""]
      .filter(Boolean)
      .join(", ");

  createEffect(on(rows, (list) => setActive((at) => Math.max(0, Math.min(at, list.length - 1)))));
  const focus = (at: number) => {
    const to = Math.max(0, Math.min(rows().length - 1, at));
    setActive(to);
    (body.children[to] as HTMLElement | undefined)?.focus();
  };
  const openRow = (row: Row) => {
    if (row.node === null) props.onFold(groupKey(props.graph, row.group));
    else {
      const node = props.graph.nodes[row.node];
      if (node) app.follow(node.version, { node: node.node });
    }
  };
  const keys = (event: KeyboardEvent, row: Row, at: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const open = !props.folded.has(groupKey(props.graph, row.group));
    if (event.key === "ArrowDown") focus(at + 1);
    else if (event.key === "ArrowUp") focus(at - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(rows().length - 1);
    else if (event.key === "ArrowRight") {
      if (row.node === null && !open) openRow(row);
      else focus(at + 1);
    } else if (event.key === "ArrowLeft") {
      if (row.node === null && open) openRow(row);
      else {
        let up = at - 1;
        while (up > 0 && (rows()[up]?.level ?? 0) >= row.level) up--;
        focus(up);
      }
    } else if (event.key === "Enter" || event.key === " ") openRow(row);
    else return;
    event.preventDefault();
  };

  return (
    <div class="graph-table">
      <div role="treegrid" aria-label="Graph of the program">
        <div role="rowgroup">
          <div role="row">
            <div role="columnheader">Expression</div>
            <div role="columnheader">Type</div>
            <div role="columnheader">Inputs</div>
            <Show when={props.parents.length > 0}>
              <div role="columnheader">Post-dominator</div>
            </Show>
            <div role="columnheader">State</div>
          </div>
        </div>
        <div role="rowgroup" ref={body}>
          <For each={rows()}>
            {(row, at) => {
              const node = row.node === null ? undefined : props.graph.nodes[row.node];
              const open = () => !props.folded.has(groupKey(props.graph, row.group));
              return (
                <div
                  role="row"
                  class={node ? `node ${node.fate}` : "box"}
                  aria-level={row.level}
                  aria-expanded={node ? undefined : open()}
                  tabIndex={at() === active() ? 0 : -1}
                  onFocus={() => setActive(at())}
                  onKeyDown={(event) => keys(event, row, at())}
                  onClick={() => openRow(row)}
                >
                  <Cells
                    row={row}
                    node={node}
                    open={open()}
                    inputs={row.node === null ? "" : inputsAt(row.node)}
                    table={props}
                  />
                </div>
              );
            }}
          </For>
        </div>
      </div>
    </div>
  );
}
