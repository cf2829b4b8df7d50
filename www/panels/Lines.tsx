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
} from "solid-js";
import type { LineNames } from "../engine/protocol";
import { useApp } from "./context";
import type { Finder } from "./finder";
import { createHighlighter, rangesOf } from "./highlight";
import {
  drawnAt,
  foundIn,
  type Line,
  nextChange,
  numberAt,
  type Pointed,
  type Room,
  textAt,
  typeOf,
  wordAt,
} from "./lines";
import type { Columns } from "./rows";
import { createSheets, ROW, topToSee } from "./sheets";

const OVERSCAN = 8;
const STAGE = 8;
/** Lines that go on paper. */
const MOST_PRINTED = 5000;

export function Lines(props: {
  lines: readonly Line[];
  /** The lines that may be shown next, drawn when the page is idle. */
  ahead?: readonly (readonly Line[])[];
  label: string;
  split?: boolean;
  plain?: boolean;
  /** Lines are not broken, so they scroll sideways. */
  wide?: boolean;
  /** Changes with the shown subject, but not when the same one is rendered again: then the scroll position is kept. */
  subject: string;
  onOpen(id: string): void;
  onRoom?(room: Room): void;
  /** Called when the user points at a place and asks about it. */
  onPick?(at: Pointed): void;
  /** Asks for the names in a line and their types. */
  namesIn?(at: Omit<Pointed, "word">): Promise<LineNames | null>;
  finder?: Finder;
  /** Lines of the versions that are highlighted. */
  marked?: { before: number | null; after: number | null };
}) {
  const app = useApp();
  let scroller!: HTMLDivElement;
  let probe!: HTMLSpanElement;
  let all!: HTMLDivElement;
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(600);
  const first = createMemo(() => Math.max(0, Math.floor(top() / ROW / STAGE) * STAGE - OVERSCAN));
  // Moves in stages: the part above grows and shrinks by a line from step to step, which must not cause drawing.
  const beyond = (y: number) => Math.ceil((y + height()) / ROW / STAGE) * STAGE + OVERSCAN;
  const last = createMemo(() => Math.min(props.lines.length, beyond(top())));
  const columns = (): Columns => (props.split ? "split" : props.plain ? "plain" : "unified");
  const digits = createMemo(() => digitsOf(props.lines));

  const [characters, setCharacters] = createSignal(0);
  onMount(() => {
    // The observer calls after layout, when sizes are known and reading them costs nothing.
    const observer = new ResizeObserver(() => {
      const character = probe.getBoundingClientRect().width / 10;
      if (character > 0) setCharacters(scroller.clientWidth / character);
      setHeight(scroller.clientHeight);
    });
    observer.observe(scroller);
    // On paper nothing is out of sight.
    const print = () => setHeight(MOST_PRINTED * ROW);
    const printed = () => setHeight(scroller.clientHeight);
    window.addEventListener("beforeprint", print);
    window.addEventListener("afterprint", printed);
    onCleanup(() => {
      observer.disconnect();
      window.removeEventListener("beforeprint", print);
      window.removeEventListener("afterprint", printed);
    });
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
        // Reading the position would lay out the lines to be replaced, so a right one is left alone.
        if (top() > 0) scroller.scrollTop = 0;
        setTop(0);
      },
      { defer: true },
    ),
  );

  // Runs after the scroll position was set, so that the first drawing is the right one.
  let sheets!: ReturnType<typeof createSheets>;
  onMount(() => {
    sheets = createSheets(all);
    createEffect(() => {
      const { lines } = props;
      sheets.show({ lines, first: first(), last: last(), columns: columns(), digits: digits() });
      highlightSoon();
    });
    createEffect(
      on(
        () => props.ahead,
        (ahead = []) => {
          const parts = () =>
            ahead.map((lines) => ({
              lines,
              first: 0,
              last: Math.min(lines.length, beyond(0)),
              columns: columns(),
              digits: digitsOf(lines),
            }));
          // One at a time: a key is not to wait for all of them.
          const prepare = () => {
            if (sheets.prepare(parts())) soon = setTimeout(prepare, 20);
          };
          let soon = setTimeout(prepare);
          onCleanup(() => clearTimeout(soon));
        },
      ),
    );
  });

  const [place, setPlace] = createSignal(-1);
  const found = createMemo(() => foundIn(props.lines, props.finder?.text() ?? ""));
  const now = () => found()[place()];
  const bring = (line: number) => {
    const to = topToSee([line, line], scroller.scrollTop, scroller.clientHeight);
    if (to !== scroller.scrollTop) scroller.scrollTop = to;
  };
  props.finder?.join({
    count: () => found().length,
    show(index) {
      setPlace(index);
      const at = found()[index];
      if (at) bring(at.line);
    },
  });
  const highlighter = createHighlighter(props.label);
  onCleanup(() => highlighter.show([], null));
  let highlighting = 0;
  const highlight = () => {
    const wanted = props.finder?.text() ?? "";
    const drawn =
      wanted === "" ? [] : [...all.querySelectorAll(".lines-window:not(.covered) .line")];
    const at = now();
    highlighter.show(
      drawn.flatMap((line) => rangesOf(line, wanted)),
      at ? (drawn.find((line) => sheets.lineOf(line) === at.line) ?? null) : null,
    );
  };
  const highlightSoon = () => {
    if (!props.finder || (props.finder.text() === "" && highlighting === 0)) return;
    cancelAnimationFrame(highlighting);
    highlighting = requestAnimationFrame(highlight);
  };
  createEffect(on([() => props.finder?.text(), place, found], highlightSoon, { defer: true }));

  const jump = (direction: 1 | -1) => {
    const here = Math.round(scroller.scrollTop / ROW) + 2;
    const next = nextChange(props.lines, here, direction);
    if (next >= 0) scroller.scrollTop = Math.max(0, (next - 2) * ROW);
  };

  /** The line that the keyboard is at, and which of its names; before the first name it is the line itself. */
  const [cursor, setCursor] = createSignal<{ line: number; name: number } | null>(null);
  createEffect(on(subject, () => setCursor(null), { defer: true }));
  const pickable = () => props.onPick !== undefined;
  const halfOf = (line: number): "left" | "right" | null => {
    const row = props.lines[line];
    if (!props.split || row?.kind !== "row") return null;
    return row.b ? "right" : "left";
  };
  const placeOf = (line: number, half = halfOf(line)) => numberAt(props.lines, line, half);
  /** The names in the cursor's line. */
  const [known, setKnown] = createSignal<LineNames | null>(null);
  const lineOfCursor = createMemo(() => cursor()?.line);
  createEffect(
    on(lineOfCursor, async (line) => {
      setKnown(null);
      const at = line === undefined ? null : placeOf(line);
      const found = at && (await props.namesIn?.(at));
      if (found && lineOfCursor() === line) setKnown(found);
    }),
  );
  const names = () => known()?.names.map(([name]) => name) ?? [];
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
    const at = placeOf(line, half);
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
    const target = event.target instanceof Element ? event.target : null;
    const drawn = target?.closest(".line");
    if (!drawn) return;
    const line = sheets.lineOf(drawn);
    const row = props.lines[line];
    if (row && row.kind !== "row") return props.onOpen(row.id);
    // A selection of text is meant to be copied.
    if (!pickable() || event.button !== 0 || !getSelection()?.isCollapsed) return;
    const half = target?.closest(".half");
    const word = wordUnder(half ?? drawn, event.clientX, event.clientY);
    if (word === null) return;
    setCursor({ line, name: 0 });
    pick(line, half ? (half.nextElementSibling ? "left" : "right") : null, word);
  };
  const [pointed, setPointed] = createSignal<{ line: number; x: number; type: string } | null>(
    null,
  );
  let resting: ReturnType<typeof setTimeout> | undefined;
  const point = (event: PointerEvent) => {
    clearTimeout(resting);
    if (!props.namesIn || event.pointerType !== "mouse") return;
    const { target, clientX: x, clientY: y } = event;
    if (pointed() && !(target as Element).closest(".line")) setPointed(null);
    // Finding the word lays out text: only where the pointer rests.
    const turn = setTimeout(async () => {
      const drawn = target instanceof Element ? target.closest(".line") : null;
      const line = drawn ? sheets.lineOf(drawn) : -1;
      const half = target instanceof Element ? target.closest(".half") : null;
      const word = drawn && line >= 0 ? wordUnder(half ?? drawn, x, y) : null;
      const at = word
        ? placeOf(line, half ? (half.nextElementSibling ? "left" : "right") : null)
        : null;
      const left = x - all.getBoundingClientRect().left;
      const found = at && (await props.namesIn?.(at));
      if (turn !== resting) return;
      const type = word && found ? typeOf(word, found) : "";
      setPointed(type ? { line, x: left, type } : null);
    }, 150);
    resting = turn;
  };
  const leave = () => {
    clearTimeout(resting);
    resting = undefined;
    setPointed(null);
  };
  onCleanup(() => clearTimeout(resting));
  createEffect(on([() => props.lines, top], leave, { defer: true }));
  const typeAtCursor = () => {
    const name = nameAt();
    const found = known();
    return name && found ? typeOf(name, found) : "";
  };

  const spokenCursor = () => {
    const at = cursor();
    const row = at && props.lines[at.line];
    if (!at || !row) return "";
    if (row.kind !== "row") return "Unchanged lines, Enter unfolds them";
    return typeAtCursor() || nameAt() || textAt(row, halfOf(at.line)).trim();
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
  // Scrolls the followed expression into sight if it is elsewhere, with all the rows of its line.
  const bringMarked = (isAt: (y: number) => boolean) => {
    const range = marks().at(-1);
    // Reads nothing from the page without a mark: that would lay out the new lines at once.
    if (!range) return;
    const { scrollTop, clientHeight } = scroller;
    if (!isAt(range[0] * ROW - scrollTop)) return;
    const to = topToSee(range, scrollTop, clientHeight);
    if (to !== scrollTop) scroller.scrollTop = to;
  };
  createEffect(on(marks, () => bringMarked(() => true)));
  // The panel about it opens below, and must not cover the picked line.
  createEffect(
    on(height, (now, before = now) => {
      if (now < before) bringMarked((y) => y >= 0 && y < before);
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
  app.panels.offer({
    blame: focusHere,
    hunk(by) {
      if (!props.plain) jump(by);
    },
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
      onPointerMove={point}
      onPointerLeave={leave}
    >
      <span class="probe" aria-hidden="true" ref={probe}>
        0000000000
      </span>
      <Show when={pickable()}>
        <span class="sr" role="status">
          {spokenCursor()}
        </span>
      </Show>
      <div
        class="lines-all"
        ref={all}
        style={{
          height: `${props.lines.length * ROW}px`,
          width: props.wide ? `${widestOf(props.lines) + 3 * digits() + 6}ch` : undefined,
        }}
      >
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
                <span>{typeAtCursor() || nameAt()}</span>
              </Show>
            </div>
          )}
        </Show>
        <Show when={now()}>
          {(at) => (
            <div class="found-line" aria-hidden="true" style={{ top: `${at().line * ROW}px` }} />
          )}
        </Show>
        <Show when={pointed()}>
          {(at) => (
            <div
              class="type-tip"
              aria-hidden="true"
              style={{ top: `${(at().line + 1) * ROW}px`, left: `${at().x}px` }}
            >
              {at().type}
            </div>
          )}
        </Show>
      </div>
    </div>
  );
}

/** Returns the number of digits of the longest line number. */
function digitsOf(lines: readonly Line[]): number {
  let most = 1;
  for (const line of lines) {
    if (line.kind === "row") most = Math.max(most, line.left ?? 0, line.right ?? 0);
  }
  return String(most).length;
}

/** Returns the number of characters of the longest line. */
function widestOf(lines: readonly Line[]): number {
  let most = 0;
  for (const line of lines) {
    if (line.kind === "row" && line.a) most = Math.max(most, line.a.to - line.a.from);
  }
  return most;
}

/** Returns the word under a point of a drawn line: empty between words, null where no text is. */
function wordUnder(drawn: Element, x: number, y: number): string | null {
  type Caret = { offsetNode: Node; offset: number } | null;
  const modern = document as { caretPositionFromPoint?(x: number, y: number): Caret };
  const range = modern.caretPositionFromPoint ? null : document.caretRangeFromPoint?.(x, y);
  const caret: Caret = modern.caretPositionFromPoint
    ? modern.caretPositionFromPoint(x, y)
    : range
      ? { offsetNode: range.startContainer, offset: range.startOffset }
      : null;
  if (!caret || !drawn.contains(caret.offsetNode)) return null;
  // Beside a text the nearest place in it is found.
  const text = document.createRange();
  text.selectNodeContents(caret.offsetNode);
  if (![...text.getClientRects()].some(({ left, right }) => left <= x && x <= right)) return null;
  let before = 0;
  const walker = document.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node === caret.offsetNode) return wordAt(drawn.textContent ?? "", before + caret.offset);
    before += node.textContent?.length ?? 0;
  }
  return null;
}
