/** Draws lines of text of which only the visible ones exist. The lines themselves are made by `lines.ts`. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  Show,
  untrack,
} from "solid-js";
import { type Piece, pieces } from "../editor/relay";
import { panelCommands } from "./commands";
import {
  drawnAt,
  type Line,
  namesIn,
  nextChange,
  numberAt,
  type Pointed,
  type Room,
  type Span,
  textAt,
  wordAt,
} from "./lines";

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
    // Names look like text, and everything that is an element costs the browser its share of every frame.
    const token = piece.token === "local" ? null : piece.token;
    let at = Math.max(piece.from, span.from);
    const end = Math.min(piece.to, span.to);
    for (let index = 0; index + 1 < words.length && at < end; index += 2) {
      const from = words[index] ?? 0;
      const to = words[index + 1] ?? 0;
      if (to <= at || from >= end) continue;
      put(at, Math.max(at, from), token, false);
      put(Math.max(at, from), Math.min(end, to), token, true);
      at = Math.min(end, to);
    }
    put(at, end, token, false);
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
  /** Somebody wants to know about what stands there. */
  onPick?(at: Pointed): void;
  /** Lines of the versions that are highlighted. */
  marked?: { before: number | null; after: number | null };
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
        // Asking for a place lays out what is about to be drawn anew, so it is left alone where it is right.
        if (top() > 0) scroller.scrollTop = 0;
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
  // ---- pointing at an expression

  /** The line that the keyboard is at, and which of its names; before the first name it is the line itself. */
  const [cursor, setCursor] = createSignal<{ line: number; name: number } | null>(null);
  createEffect(on(subject, () => setCursor(null), { defer: true }));
  const pickable = () => props.onPick !== undefined;
  const halfOf = (line: number): "left" | "right" | null => {
    const row = props.lines[line];
    if (!props.split || row?.kind !== "row") return null;
    return row.b ? "right" : "left";
  };
  const names = createMemo(() => {
    const at = cursor();
    return at ? namesIn(textAt(props.lines[at.line], halfOf(at.line))) : [];
  });
  const nameAt = () => names()[(cursor()?.name ?? 0) - 1] ?? "";
  const moveTo = (line: number) => {
    const to = Math.max(0, Math.min(props.lines.length - 1, line));
    setCursor({ line: to, name: 0 });
    const y = to * ROW;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    else if (y + ROW > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = y + ROW - scroller.clientHeight;
    }
  };
  const pick = (line: number, half: "left" | "right" | null, word: string) => {
    const row = props.lines[line];
    if (row && row.kind !== "row") props.onOpen(row.id);
    const at = numberAt(props.lines, line, half);
    if (at) props.onPick?.({ ...at, word });
  };
  const keys = (event: KeyboardEvent) => {
    if (!pickable() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== scroller) return;
    const line = cursor()?.line ?? Math.ceil(scroller.scrollTop / ROW) - 1;
    const page = Math.max(1, Math.floor(scroller.clientHeight / ROW) - 2);
    const turn = (by: 1 | -1) => {
      const at = cursor();
      const count = names().length + 1;
      if (at) setCursor({ ...at, name: (at.name + by + count) % count });
    };
    if (event.key === "ArrowDown") moveTo(line + 1);
    else if (event.key === "ArrowUp") moveTo(line - 1);
    else if (event.key === "PageDown") moveTo(line + page);
    else if (event.key === "PageUp") moveTo(line - page);
    else if (event.key === "Home") moveTo(0);
    else if (event.key === "End") moveTo(props.lines.length - 1);
    else if (event.key === "ArrowRight" && !props.wide) turn(1);
    else if (event.key === "ArrowLeft" && !props.wide) turn(-1);
    else if (event.key === "Enter") pick(line, halfOf(line), nameAt());
    else return;
    event.preventDefault();
  };
  const click = (event: MouseEvent) => {
    // What is being selected is to be copied.
    if (!pickable() || event.button !== 0 || !getSelection()?.isCollapsed) return;
    const code = event.target instanceof Element ? event.target.closest("code") : null;
    if (!code) return;
    const window = code.closest(".lines-window")?.getBoundingClientRect();
    if (!window) return;
    const line = first() + Math.floor((event.clientY - window.top) / ROW);
    const half = code.closest(".half");
    const side = half ? (half.nextElementSibling ? "left" : "right") : null;
    setCursor({ line, name: 0 });
    pick(line, side, wordUnder(code, event.clientX, event.clientY));
  };
  const spokenCursor = () => {
    const at = cursor();
    const row = at && props.lines[at.line];
    if (!at || !row) return "";
    if (row.kind !== "row") return "Unchanged lines, Enter unfolds them";
    return nameAt() || textAt(row, halfOf(at.line)).trim();
  };
  const marks = createMemo(() => {
    const { before, after } = props.marked ?? { before: null, after: null };
    const ranges: [number, number][] = [];
    const put = (side: "before" | "after", line: number | null) => {
      const range = line === null ? null : drawnAt(props.lines, side, line);
      if (range && !ranges.some(([from]) => from === range[0])) ranges.push(range);
    };
    put("before", before);
    put("after", after);
    return ranges;
  });
  // What is followed comes into sight when it is elsewhere.
  createEffect(
    on(marks, (ranges) => {
      const range = ranges.at(-1);
      if (!range) return;
      const y = range[0] * ROW;
      const seen = y >= scroller.scrollTop && y + ROW <= scroller.scrollTop + scroller.clientHeight;
      if (!seen) scroller.scrollTop = Math.max(0, y - 3 * ROW);
    }),
  );
  const focusHere = () => {
    if (!pickable()) return;
    if (document.activeElement === scroller)
      pick(cursor()?.line ?? 0, halfOf(cursor()?.line ?? 0), nameAt());
    else {
      scroller.focus();
      if (!cursor()) moveTo(Math.max(0, nextChange(props.lines, -1, 1)));
    }
  };
  onMount(() => {
    panelCommands.addEventListener("blame", focusHere);
    onCleanup(() => panelCommands.removeEventListener("blame", focusHere));
  });

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
      onKeyDown={keys}
      onClick={click}
      style={{ "--digits": digits() }}
    >
      <span class="probe" aria-hidden="true" ref={probe}>
        0000000000
      </span>
      <Show when={pickable()}>
        <span class="sr" role="status">
          {spokenCursor()}
        </span>
      </Show>
      <div class="lines-all" style={{ height: `${props.lines.length * ROW}px` }}>
        <For each={marks()}>
          {([from, to]) => (
            <div
              class="marked"
              style={{ top: `${from * ROW}px`, height: `${(to - from + 1) * ROW}px` }}
            />
          )}
        </For>
        <Show when={cursor()}>
          {(at) => (
            <div class="cursor" aria-hidden="true" style={{ top: `${at().line * ROW}px` }}>
              <Show when={nameAt()}>
                <span>{nameAt()}</span>
              </Show>
            </div>
          )}
        </Show>
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

/** The word under a point of a drawn line. */
function wordUnder(code: Element, x: number, y: number): string {
  type Caret = { offsetNode: Node; offset: number } | null;
  const modern = document as { caretPositionFromPoint?(x: number, y: number): Caret };
  const range = modern.caretPositionFromPoint ? null : document.caretRangeFromPoint?.(x, y);
  const caret: Caret = modern.caretPositionFromPoint
    ? modern.caretPositionFromPoint(x, y)
    : range
      ? { offsetNode: range.startContainer, offset: range.startOffset }
      : null;
  if (!caret || !code.contains(caret.offsetNode)) return "";
  let before = 0;
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node === caret.offsetNode) return wordAt(code.textContent ?? "", before + caret.offset);
    before += node.textContent?.length ?? 0;
  }
  return "";
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
