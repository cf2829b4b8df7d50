/** Moves the cursor of a text in lines by keys and clicks: it stands at a line and at one of its names. */
import { createEffect, createMemo, createSignal, on } from "solid-js";
import type { LineNames } from "../engine/protocol";
import type { LinesProps, Paper } from "./Lines";
import { nextChange, numberAt, textAt, typeOf } from "./lines";
import { ROW } from "./sheets";

/** Names the half of a line that is split; null stands for a whole line. */
export type Half = "left" | "right" | null;
export type Cursor = ReturnType<typeof createCursor>;

export function createCursor(props: LinesProps, paper: Paper, subject: () => string) {
  /** The line that the keyboard is at, and which of its names; before the first name it is the line itself. */
  const [cursor, setCursor] = createSignal<{ line: number; name: number } | null>(null);
  createEffect(on(subject, () => setCursor(null), { defer: true }));
  const pickable = () => props.onPick !== undefined;
  const halfOf = (line: number): Half => {
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
  const typeAt = () => {
    const name = nameAt();
    const found = known();
    return name && found ? typeOf(name, found) : "";
  };

  const moveTo = (line: number) => {
    const to = Math.max(0, Math.min(props.lines.length - 1, line));
    setCursor({ line: to, name: 0 });
    const y = to * ROW;
    if (y < paper.scroller.scrollTop) paper.scroller.scrollTop = y;
    else if (y + ROW > paper.scroller.scrollTop + paper.scroller.clientHeight) {
      paper.scroller.scrollTop = y + ROW - paper.scroller.clientHeight;
    }
  };
  const pick = (line: number, half: Half, word: string) => {
    const row = props.lines[line];
    if (row && row.kind !== "row") props.onOpen(row.id);
    const at = placeOf(line, half);
    if (at) props.onPick?.({ ...at, word });
  };
  const pickHere = (line = 0) => pick(line, halfOf(line), nameAt());

  return {
    at: cursor,
    set: setCursor,
    pickable,
    placeOf,
    names,
    nameAt,
    typeAt,
    moveTo,
    pick,
    pickHere,
    /** Returns the words for the cursor's place, for users who do not see it. */
    spoken() {
      const at = cursor();
      const row = at && props.lines[at.line];
      if (!at || !row) return "";
      if (row.kind !== "row") return "Unchanged lines, Enter unfolds them";
      return typeAt() || nameAt() || textAt(row, halfOf(at.line)).trim();
    },
    /** Takes the focus; with the focus it asks about the cursor's place. */
    focusHere() {
      if (!pickable()) return;
      if (document.activeElement === paper.scroller) pickHere(cursor()?.line);
      else {
        paper.scroller.focus();
        if (!cursor()) moveTo(Math.max(0, nextChange(props.lines, -1, 1)));
      }
    },
  };
}

/** Returns the handler of the keys that move the cursor, and of Enter, which asks about its place. */
export function createKeys(props: LinesProps, paper: Paper, cursor: Cursor) {
  const { moveTo } = cursor;
  return (event: KeyboardEvent) => {
    if (!cursor.pickable() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== paper.scroller) return;
    const line = cursor.at()?.line ?? Math.ceil(paper.scroller.scrollTop / ROW) - 1;
    const page = Math.max(1, Math.floor(paper.scroller.clientHeight / ROW) - 2);
    const turn = (by: 1 | -1) => {
      const at = cursor.at();
      const count = cursor.names().length + 1;
      if (at) cursor.set({ ...at, name: (at.name + by + count) % count });
    };
    if (event.key === "ArrowDown") moveTo(line + 1);
    else if (event.key === "ArrowUp") moveTo(line - 1);
    else if (event.key === "PageDown") moveTo(line + page);
    else if (event.key === "PageUp") moveTo(line - page);
    else if (event.key === "Home") moveTo(0);
    else if (event.key === "End") moveTo(props.lines.length - 1);
    else if (event.key === "ArrowRight" && !props.wide) turn(1);
    else if (event.key === "ArrowLeft" && !props.wide) turn(-1);
    else if (event.key === "Enter") cursor.pickHere(line);
    else return;
    event.preventDefault();
  };
}
