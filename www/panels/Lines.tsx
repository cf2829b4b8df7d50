/** Draws lines of text of which only the visible ones exist. The lines themselves are made by `lines.ts`. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  untrack,
} from "solid-js";
import { type Piece, pieces } from "../editor/relay";
import { panelCommands } from "./commands";
import { type Line, nextChange, type Room, type Span } from "./lines";

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

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const escaped = (text: string) => text.replace(/[&<>]/g, (char) => ESCAPES[char] ?? char);

/**
 * A span as HTML. A string is parsed in one go by the browser, which is several times faster than making each
 * element by itself, and all of what is visible is made anew when a type in the program changes.
 */
function html(span: Span | null, mark: "ins" | "del", spokenFirst: string): string {
  let result = spokenFirst ? `<span class="sr">${spokenFirst}: </span>` : "";
  if (!span) return result;
  if (span.indent > 0) result += " ".repeat(Math.min(span.indent, 24));
  const { text, words } = span;
  const put = (from: number, to: number, token: string | null, marked: boolean) => {
    if (to <= from) return;
    const inner = escaped(text.slice(from, to));
    if (marked) result += `<${mark}${token ? ` class="t-${token}"` : ""}>${inner}</${mark}>`;
    else result += token ? `<span class="t-${token}">${inner}</span>` : inner;
  };
  for (const piece of scannedPieces(text)) {
    if (piece.to <= span.from) continue;
    if (piece.from >= span.to) break;
    let at = Math.max(piece.from, span.from);
    const end = Math.min(piece.to, span.to);
    for (let index = 0; index + 1 < words.length && at < end; index += 2) {
      const from = words[index] ?? 0;
      const to = words[index + 1] ?? 0;
      if (to <= at || from >= end) continue;
      put(at, Math.max(at, from), piece.token, false);
      put(Math.max(at, from), Math.min(end, to), piece.token, true);
      at = Math.min(end, to);
    }
    put(at, end, piece.token, false);
  }
  return result;
}

const shape = (span: Span | null): string =>
  span
    ? `${span.indent} ${span.words.map((word) => word - span.from)} ${span.text.slice(span.from, span.to)}`
    : "";

/** Two lines of the same key are drawn alike, so what a new run left alone is not drawn again. */
function keyOf(line: Line): string {
  if (line.kind === "fold") return `fold ${line.id} ${line.count} ${line.quiet}`;
  if (line.kind === "more") return `more ${line.id} ${line.characters}`;
  return `${line.change} ${line.sign} ${line.tone} ${line.left} ${line.right} ${shape(line.a)}\n${shape(line.b)}`;
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
  /** Lines are not broken, so they scroll sideways. */
  wide?: boolean;
  /** Changes with what is shown, but not when the same thing is shown anew: then the place is kept. */
  subject: string;
  onOpen(id: string): void;
  onRoom?(room: Room): void;
}) {
  let scroller!: HTMLDivElement;
  let probe!: HTMLSpanElement;
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(600);
  const first = createMemo(() => Math.max(0, Math.floor(top() / ROW) - OVERSCAN));
  const last = createMemo(() =>
    Math.min(props.lines.length, Math.ceil((top() + height()) / ROW) + OVERSCAN),
  );
  const visible = createMemo(() => {
    const byKey = new Map<string, Line>();
    const keys = props.lines.slice(first(), last()).map((line) => {
      const key = keyOf(line);
      byKey.set(key, line);
      return key;
    });
    return { keys, byKey };
  });
  const digits = createMemo(() => {
    let most = 1;
    for (const line of props.lines) {
      if (line.kind === "row") most = Math.max(most, line.left ?? 0, line.right ?? 0);
    }
    return String(most).length;
  });

  const [characters, setCharacters] = createSignal(0);
  onMount(() => {
    // The observer calls after layout, when sizes are known and reading them costs nothing.
    const observer = new ResizeObserver(() => {
      setHeight(scroller.clientHeight);
      const character = probe.getBoundingClientRect().width / 10;
      if (character > 0) setCharacters(scroller.clientWidth / character);
    });
    observer.observe(scroller);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    if (characters() > 0) props.onRoom?.({ characters: characters(), digits: digits() });
  });

  // By value: the step is another object after every run, and the place must not be lost with it.
  const subject = createMemo(() => props.subject);
  createEffect(
    on(
      subject,
      () => {
        scroller.scrollTop = 0;
        setTop(0);
      },
      { defer: true },
    ),
  );

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
      classList={{ split: props.split, plain: props.plain, wide: props.wide }}
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
          <For each={visible().keys}>
            {(key) => {
              const line = untrack(() => visible().byKey.get(key));
              return line ? (
                <OneLine
                  line={line}
                  split={props.split}
                  plain={props.plain}
                  onOpen={props.onOpen}
                />
              ) : null;
            }}
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
        <code innerHTML={html(line.a, "ins", "")} />
      </div>
    );
  }
  const word = line.sign === " " ? "" : (spoken[line.change] ?? "");
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
          <code innerHTML={html(line.a, "del", line.a ? word : "")} />
        </div>
        <div class={`half ${right}`}>
          <span class="no" aria-hidden="true">
            {line.right ?? ""}
          </span>
          <span class="sign">{line.b && line.tone !== "removed" ? line.sign : " "}</span>
          <code innerHTML={html(line.b, "ins", line.a ? "" : word)} />
        </div>
      </div>
    );
  }
  const said = word && (line.tone === "removed" || line.tone === "added") ? line.tone : word;
  return (
    <div class={`line ${line.tone}`}>
      <span class="no" aria-hidden="true">
        {line.left ?? ""}
      </span>
      <span class="no" aria-hidden="true">
        {line.right ?? ""}
      </span>
      <span class="sign">{line.sign}</span>
      <code innerHTML={html(line.a, line.tone === "removed" ? "del" : "ins", said)} />
    </div>
  );
}
