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
import { createCursor, createKeys } from "./cursor";
import type { Finder } from "./finder";
import { createHighlighter, rangesOf } from "./highlight";
import { drawnAt, foundIn, type Line, nextChange, type Pointed, type Room } from "./lines";
import { createPointer } from "./pointer";
import type { Columns } from "./rows";
import { createSheets, ROW, topToSee } from "./sheets";

const OVERSCAN = 8;
const STAGE = 8;
/** Lines that go on paper. */
const MOST_PRINTED = 5000;

export interface LinesProps {
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
}

/** Holds the elements that lines are drawn into, and their sheets; they are known once the text is mounted. */
export interface Paper {
  scroller: HTMLDivElement;
  /** Ten characters, by which the width of one is measured. */
  probe: HTMLSpanElement;
  all: HTMLDivElement;
  sheets: ReturnType<typeof createSheets>;
}

/** Tracks the part of the text that is in sight, and tells the room that its lines have. */
function createSight(props: LinesProps, paper: Paper) {
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(600);
  const digits = createMemo(() => digitsOf(props.lines));

  const [characters, setCharacters] = createSignal(0);
  onMount(() => {
    // The observer calls after layout, when sizes are known and reading them costs nothing.
    const observer = new ResizeObserver(() => {
      const character = paper.probe.getBoundingClientRect().width / 10;
      if (character > 0) setCharacters(paper.scroller.clientWidth / character);
      setHeight(paper.scroller.clientHeight);
    });
    observer.observe(paper.scroller);
    // On paper nothing is out of sight.
    const print = () => setHeight(MOST_PRINTED * ROW);
    const printed = () => setHeight(paper.scroller.clientHeight);
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
        if (top() > 0) paper.scroller.scrollTop = 0;
        setTop(0);
      },
      { defer: true },
    ),
  );
  return { top, setTop, height, digits, subject };
}

/** Draws the lines in sight, and when the page is idle those that may come next. */
function drawLines(
  props: LinesProps,
  paper: Paper,
  { top, height, digits }: ReturnType<typeof createSight>,
  highlightSoon: () => void,
): void {
  const first = createMemo(() => Math.max(0, Math.floor(top() / ROW / STAGE) * STAGE - OVERSCAN));
  // Moves in stages: the part above grows and shrinks by a line from step to step, which must not cause drawing.
  const beyond = (y: number) => Math.ceil((y + height()) / ROW / STAGE) * STAGE + OVERSCAN;
  const last = createMemo(() => Math.min(props.lines.length, beyond(top())));
  const columns = (): Columns => (props.split ? "split" : props.plain ? "plain" : "unified");

  // Runs after the scroll position was set, so that the first drawing is the right one.
  onMount(() => {
    paper.sheets = createSheets(paper.all);
    createEffect(() => {
      const { lines } = props;
      paper.sheets.show({
        lines,
        first: first(),
        last: last(),
        columns: columns(),
        digits: digits(),
      });
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
            if (paper.sheets.prepare(parts())) soon = setTimeout(prepare, 20);
          };
          let soon = setTimeout(prepare);
          onCleanup(() => clearTimeout(soon));
        },
      ),
    );
  });
}

/** Takes part in the search: finds its text, highlights the matches in sight, and shows one of them. */
function createFound(props: LinesProps, paper: Paper) {
  const [place, setPlace] = createSignal(-1);
  const found = createMemo(() => foundIn(props.lines, props.finder?.text() ?? ""));
  const now = () => found()[place()];
  const bring = (line: number) => {
    const to = topToSee([line, line], paper.scroller.scrollTop, paper.scroller.clientHeight);
    if (to !== paper.scroller.scrollTop) paper.scroller.scrollTop = to;
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
      wanted === "" ? [] : [...paper.all.querySelectorAll(".lines-window:not(.covered) .line")];
    const at = now();
    highlighter.show(
      drawn.flatMap((line) => rangesOf(line, wanted)),
      at ? (drawn.find((line) => paper.sheets.lineOf(line) === at.line) ?? null) : null,
    );
  };
  const highlightSoon = () => {
    if (!props.finder || (props.finder.text() === "" && highlighting === 0)) return;
    cancelAnimationFrame(highlighting);
    highlighting = requestAnimationFrame(highlight);
  };
  createEffect(on([() => props.finder?.text(), place, found], highlightSoon, { defer: true }));
  return { now, highlightSoon };
}

/** Returns the rows of the highlighted lines, and brings them into sight. */
function createMarks(props: LinesProps, paper: Paper, height: () => number) {
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
    const { scrollTop, clientHeight } = paper.scroller;
    if (!isAt(range[0] * ROW - scrollTop)) return;
    const to = topToSee(range, scrollTop, clientHeight);
    if (to !== scrollTop) paper.scroller.scrollTop = to;
  };
  createEffect(on(marks, () => bringMarked(() => true)));
  // The panel about it opens below, and must not cover the picked line.
  createEffect(
    on(height, (now, before = now) => {
      if (now < before) bringMarked((y) => y >= 0 && y < before);
    }),
  );
  return marks;
}

export function Lines(props: LinesProps) {
  const app = useApp();
  const paper = {} as Paper;
  const sight = createSight(props, paper);
  const { now, highlightSoon } = createFound(props, paper);
  drawLines(props, paper, sight, highlightSoon);
  const cursor = createCursor(props, paper, sight.subject);
  const { pointed, click, point, leave } = createPointer(props, paper, cursor);
  createEffect(on([() => props.lines, sight.top], leave, { defer: true }));
  const marks = createMarks(props, paper, sight.height);
  app.panels.offer({
    blame: cursor.focusHere,
    hunk(by) {
      if (props.plain) return;
      const here = Math.round(paper.scroller.scrollTop / ROW) + 2;
      const next = nextChange(props.lines, here, by);
      if (next >= 0) paper.scroller.scrollTop = Math.max(0, (next - 2) * ROW);
    },
  });

  return (
    <div
      class="lines"
      classList={{ split: props.split, plain: props.plain, wide: props.wide }}
      ref={paper.scroller}
      // A region that scrolls must be reachable by keyboard.
      tabIndex="0"
      role="group"
      aria-label={props.label}
      onScroll={() => sight.setTop(paper.scroller.scrollTop)}
      onKeyDown={createKeys(props, paper, cursor)}
      onClick={click}
      onPointerMove={point}
      onPointerLeave={leave}
    >
      <span class="probe" aria-hidden="true" ref={paper.probe}>
        0000000000
      </span>
      <Show when={cursor.pickable()}>
        <span class="sr" role="status">
          {cursor.spoken()}
        </span>
      </Show>
      <div
        class="lines-all"
        ref={paper.all}
        style={{
          height: `${props.lines.length * ROW}px`,
          width: props.wide ? `${widestOf(props.lines) + 3 * sight.digits() + 6}ch` : undefined,
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
        <Show when={cursor.at()}>
          {(at) => (
            <div class="cursor" aria-hidden="true" style={{ top: `${at().line * ROW}px` }}>
              <Show when={cursor.nameAt()}>
                <span>{cursor.typeAt() || cursor.nameAt()}</span>
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
