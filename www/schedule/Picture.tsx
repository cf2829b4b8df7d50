/** The loops of a tensor program as a picture: a row for each, nested by rails in the colour of what they belong to. */
import { createEffect, createMemo, For, on, Show } from "solid-js";
import type { NestNode } from "../engine/protocol";
import { kindWord, type Row, wordsOf } from "./marks";

const signs: Record<Row["mark"], string> = {
  "": "",
  made: "+",
  changed: "●",
  moved: "↕",
  gone: "−",
};

/** Loops of a thousand iterations are longer than those of ten, and not a hundred times. */
const lengthOf = (extent: number) => 8 + 12 * Math.log2(Math.max(1, extent));

/** All that is seen of a row. */
const looks = ({ node, ...row }: Row) =>
  JSON.stringify([row.at < 0, row.depth, row.mark, row.was, row.rails, node], (key, value) =>
    ["lines", "reach", "handle", "parent"].includes(key) ? undefined : value,
  );

/** Moves rows that both nests have from their old places to the new ones. */
function createMoves(rows: () => readonly Row[], tree: () => HTMLElement) {
  let places = new Map<string, number>();
  createEffect(
    on(rows, () => {
      const before = places;
      const seen = [...tree().querySelectorAll<HTMLElement>("[data-key]")];
      // All places are read before anything moves: each read after a change would be a layout of its own.
      const tops = seen.map((row) => [row, row.dataset.key ?? "", row.offsetTop] as const);
      places = new Map(tops.map(([, key, top]) => [key, top]));
      if (before.size === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      for (const [row, key, top] of tops) {
        const old = before.get(key);
        if (old === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 180 });
        else if (old !== top)
          row.animate([{ transform: `translateY(${old - top}px)` }, { transform: "none" }], {
            duration: 220,
            easing: "ease-out",
          });
      }
    }),
  );
}

export function Picture(props: {
  rows: readonly Row[];
  chosen: string;
  onChoose(key: string): void;
  onOpen(): void;
}) {
  let tree!: HTMLDivElement;
  // Rows that look as before keep their elements, which need no new layout and no new paint.
  const rows = createMemo<readonly Row[]>((before) => {
    const known = new Map(before.map((row) => [looks(row), row]));
    return props.rows.map((row) => known.get(looks(row)) ?? row);
  }, []);
  const there = createMemo(() => props.rows.filter((row) => row.at >= 0));
  const focused = () => there().find((row) => row.node.key === props.chosen) ?? there()[0];
  const element = (key: string) =>
    tree.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);

  const go = (row: Row | undefined) => {
    if (!row) return;
    props.onChoose(row.node.key);
    element(row.node.key)?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    const rows = there();
    const at = rows.findIndex((row) => row.node.key === focused()?.node.key);
    const depth = rows[at]?.depth ?? 0;
    const to: Record<string, () => Row | undefined> = {
      ArrowDown: () => rows[at + 1],
      ArrowUp: () => rows[at - 1],
      ArrowRight: () =>
        rows[at + 1] && (rows[at + 1] as Row).depth > depth ? rows[at + 1] : undefined,
      ArrowLeft: () => rows.slice(0, at).findLast((row) => row.depth < depth),
      Home: () => rows[0],
      End: () => rows.at(-1),
    };
    const find = to[event.key];
    if (find) go(find());
    else if (event.key === "Enter" || event.key === " ") props.onOpen();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  createMoves(rows, () => tree);

  return (
    <div class="nest" role="tree" aria-label="Loop nest" tabIndex={-1} ref={tree} onKeyDown={keys}>
      <For each={rows()}>
        {(row) => {
          const { node } = row;
          const isLoop = node.kind in kindWord;
          const gone = row.at < 0;
          return (
            <div
              role="treeitem"
              aria-level={row.depth + 1}
              aria-label={wordsOf(row)}
              aria-selected={!gone && props.chosen === node.key}
              aria-disabled={gone}
              tabIndex={!gone && focused()?.node.key === node.key ? 0 : -1}
              data-key={gone ? undefined : node.key}
              class={`nest-row ${row.mark}`}
              onClick={() => {
                if (!gone) props.onChoose(node.key);
              }}
            >
              <span class="sign" aria-hidden="true">
                {signs[row.mark]}
              </span>
              <For each={row.rails}>{(kind) => <span class={`rail k-${kind}`} />}</For>
              <Show
                when={isLoop}
                fallback={
                  <Show when={node.kind === "block"} fallback={<Other row={row} />}>
                    <Block node={node} />
                  </Show>
                }
              >
                <Loop row={row} />
              </Show>
            </div>
          );
        }}
      </For>
    </div>
  );
}

/** Shows a loop: its variable, extent and kind. */
function Loop(props: { row: Row }) {
  const node = () => props.row.node;
  return (
    <span class={`nest-loop k-${node().kind}`}>
      <code>{node().name}</code>
      <span class="extent number">
        <span class="bar" style={{ width: `${lengthOf(node().extent ?? 1)}px` }} />
        {node().extent ?? "?"}
      </span>
      <span class="kind">
        {node().kind === "thread_binding" ? node().note : kindWord[node().kind]}
      </span>
      <Show when={props.row.was}>
        <span class="quiet was">was {props.row.was}</span>
      </Show>
      <Show when={node().annotations}>
        <code class="quiet">{node().annotations}</code>
      </Show>
    </span>
  );
}

/** Shows a block: its iterations, and the buffers that it reads and writes. */
function Block(props: { node: NestNode }) {
  return (
    <span class="nest-block">
      <span class="head">
        <strong>{props.node.name}</strong>
        <For each={props.node.iters}>
          {([name, kind]) => (
            <span class={`iter i-${kind}`}>
              {name}
              <small>{kind}</small>
            </span>
          )}
        </For>
      </span>
      <Show when={props.node.reads}>
        <span class="access">
          <span aria-hidden="true">←</span> {props.node.reads}
        </span>
      </Show>
      <Show when={props.node.writes}>
        <span class="access">
          <span aria-hidden="true">→</span> {props.node.writes}
        </span>
      </Show>
    </span>
  );
}

/** A statement, memory or a branch. */
function Other(props: { row: Row }) {
  const node = () => props.row.node;
  const says = () => {
    const { kind, name, note } = node();
    if (kind === "alloc") return `${name} in ${note}`;
    return note || name;
  };
  return (
    <span class={`nest-other o-${node().kind}`}>
      <Show when={!["store", "call"].includes(node().kind)}>
        <span class="kind">{node().kind === "alloc" ? "memory" : node().kind}</span>
      </Show>
      <code>{says()}</code>
    </span>
  );
}
