/** Draws lines of text of which only the visible ones exist. The lines themselves are made by `lines.ts`. */
import { createEffect, createMemo, createSignal, For, onCleanup, onMount, Show } from "solid-js";
import { type Piece, pieces } from "../editor/relay";
import { panelCommands } from "./commands";
import type { Line, Span } from "./lines";
import { nextChange } from "./lines";

const ROW = 20;
const OVERSCAN = 12;

/** Pieces of lines seen lately; a line of ten thousand characters is not scanned again for each of its parts. */
const scanned = new Map<string, Piece[]>();

function scannedPieces(text: string): Piece[] {
  const known = scanned.get(text);
  if (known) return known;
  if (scanned.size > 600) scanned.clear();
  const fresh = pieces(text);
  scanned.set(text, fresh);
  return fresh;
}

interface Bit {
  text: string;
  token: string | null;
  mark: boolean;
}

function bits(span: Span): Bit[] {
  const result: Bit[] = [];
  const put = (from: number, to: number, token: string | null, mark: boolean) => {
    if (to > from) result.push({ text: span.text.slice(from, to), token, mark });
  };
  for (const piece of scannedPieces(span.text)) {
    if (piece.to <= span.from) continue;
    if (piece.from >= span.to) break;
    let at = Math.max(piece.from, span.from);
    const end = Math.min(piece.to, span.to);
    for (let index = 0; index + 1 < span.words.length && at < end; index += 2) {
      const from = span.words[index] ?? 0;
      const to = span.words[index + 1] ?? 0;
      if (to <= at || from >= end) continue;
      put(at, Math.max(at, from), piece.token, false);
      put(Math.max(at, from), Math.min(end, to), piece.token, true);
      at = Math.min(end, to);
    }
    put(at, end, piece.token, false);
  }
  return result;
}

function Text(props: { span: Span | null; mark: "ins" | "del" }) {
  return (
    <Show when={props.span}>
      {(span) => (
        <>
          <Show when={span().indent > 0}>{" ".repeat(Math.min(span().indent, 24))}</Show>
          <For each={bits(span())}>
            {(bit) =>
              bit.mark ? (
                props.mark === "ins" ? (
                  <ins class={bit.token ? `t-${bit.token}` : undefined}>{bit.text}</ins>
                ) : (
                  <del class={bit.token ? `t-${bit.token}` : undefined}>{bit.text}</del>
                )
              ) : bit.token ? (
                <span class={`t-${bit.token}`}>{bit.text}</span>
              ) : (
                bit.text
              )
            }
          </For>
        </>
      )}
    </Show>
  );
}

const spoken: Record<string, string> = {
  added: "added",
  removed: "removed",
  changed: "changed",
  moved: "moved",
  renumbered: "renumbered",
};

export function Lines(props: {
  lines: readonly Line[];
  label: string;
  split?: boolean;
  plain?: boolean;
  /** Changes with what is shown, but not when the same thing is shown anew: then the place is kept. */
  subject: string;
  onOpen(id: string): void;
  onColumns?(columns: number): void;
}) {
  let scroller!: HTMLDivElement;
  let probe!: HTMLSpanElement;
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(600);
  const first = createMemo(() => Math.max(0, Math.floor(top() / ROW) - OVERSCAN));
  const last = createMemo(() =>
    Math.min(props.lines.length, Math.ceil((top() + height()) / ROW) + OVERSCAN),
  );
  const visible = createMemo(() => props.lines.slice(first(), last()));
  const digits = createMemo(() => {
    let most = 1;
    for (const line of props.lines) {
      if (line.kind === "row") most = Math.max(most, line.left ?? 0, line.right ?? 0);
    }
    return String(most).length;
  });

  onMount(() => {
    const measure = () => {
      setHeight(scroller.clientHeight);
      const character = probe.getBoundingClientRect().width / 10;
      if (character > 0) {
        const gutters = props.plain ? digits() + 2 : props.split ? 0 : 2 * digits() + 5;
        const room = scroller.clientWidth / character - gutters - 2;
        const columns = props.split ? room / 2 - digits() - 4 : room;
        props.onColumns?.(Math.max(24, Math.floor(columns)));
      }
    };
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    createEffect(() => {
      props.split;
      digits();
      measure();
    });
    onCleanup(() => observer.disconnect());
  });

  createEffect(() => {
    props.subject;
    if (scroller) {
      scroller.scrollTop = 0;
      setTop(0);
    }
  });

  const jump = (direction: 1 | -1) => {
    const here = Math.round(scroller.scrollTop / ROW) + 2;
    const next = nextChange(props.lines, here, direction);
    if (next >= 0) scroller.scrollTop = Math.max(0, (next - 2) * ROW);
  };
  const down = () => jump(1);
  const up = () => jump(-1);
  onMount(() => {
    if (props.plain) return;
    panelCommands.addEventListener("next-hunk", down);
    panelCommands.addEventListener("previous-hunk", up);
    onCleanup(() => {
      panelCommands.removeEventListener("next-hunk", down);
      panelCommands.removeEventListener("previous-hunk", up);
    });
  });

  return (
    <div
      class="lines"
      classList={{ split: props.split, plain: props.plain }}
      ref={scroller}
      // A region that scrolls must be reachable by keyboard.
      tabIndex="0"
      role="group"
      aria-label={props.label}
      onScroll={() => setTop(scroller.scrollTop)}
      style={{ "--digits": digits() }}
    >
      <span class="probe" aria-hidden="true" ref={probe}>
        0000000000
      </span>
      <div class="lines-all" style={{ height: `${props.lines.length * ROW}px` }}>
        <div class="lines-window" style={{ transform: `translateY(${first() * ROW}px)` }}>
          <For each={visible()}>
            {(line) => (
              <OneLine line={line} split={props.split} plain={props.plain} onOpen={props.onOpen} />
            )}
          </For>
        </div>
      </div>
    </div>
  );
}

function OneLine(props: {
  line: Line;
  split?: boolean;
  plain?: boolean;
  onOpen(id: string): void;
}) {
  const { line } = props;
  if (line.kind === "fold") {
    const also = line.quiet > 0 ? `, ${line.quiet} of them only renumbered` : "";
    return (
      <button type="button" class="line fold" onClick={() => props.onOpen(line.id)}>
        … {line.count} unchanged lines{also}
      </button>
    );
  }
  if (line.kind === "more") {
    return (
      <button type="button" class="line fold" onClick={() => props.onOpen(line.id)}>
        … {line.characters.toLocaleString("en")} more characters on this line
      </button>
    );
  }
  if (props.plain) {
    return (
      <div class="line">
        <span class="no" aria-hidden="true">
          {line.right ?? ""}
        </span>
        <code>
          <Text span={line.a} mark="ins" />
        </code>
      </div>
    );
  }
  const word = line.sign === " " ? "" : spoken[line.change];
  if (props.split) {
    const left = line.tone === "added" ? "void" : line.tone === "changed" ? "removed" : line.tone;
    const right = line.tone === "removed" ? "void" : line.tone === "changed" ? "added" : line.tone;
    return (
      <div class="line halves">
        <div class={`half ${left}`}>
          <span class="no" aria-hidden="true">
            {line.left ?? ""}
          </span>
          <span class="sign">{line.a && line.tone !== "added" ? line.sign : " "}</span>
          <code>
            <Show when={word && line.a}>
              <span class="sr">{word}: </span>
            </Show>
            <Text span={line.a} mark="del" />
          </code>
        </div>
        <div class={`half ${right}`}>
          <span class="no" aria-hidden="true">
            {line.right ?? ""}
          </span>
          <span class="sign">{line.b && line.tone !== "removed" ? line.sign : " "}</span>
          <code>
            <Text span={line.b} mark="ins" />
          </code>
        </div>
      </div>
    );
  }
  return (
    <div class={`line ${line.tone}`}>
      <span class="no" aria-hidden="true">
        {line.left ?? ""}
      </span>
      <span class="no" aria-hidden="true">
        {line.right ?? ""}
      </span>
      <span class="sign">{line.sign}</span>
      <code>
        <Show when={word}>
          <span class="sr">
            {line.tone === "removed" ? "removed" : line.tone === "added" ? "added" : word}:{" "}
          </span>
        </Show>
        <Text span={line.a} mark={line.tone === "removed" ? "del" : "ins"} />
      </code>
    </div>
  );
}
