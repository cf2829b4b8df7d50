/**
 * Turns a diff into lines to draw: folds unchanged runs, breaks long lines to the width of the pane, and omits type
 * comments on demand. Every line has the same height, so a list of ten thousand scrolls exactly while only the visible
 * part is drawn. Pure: `Lines.tsx` draws.
 */
import { rowsOf } from "../engine/diff";
import type { Diff, DiffKind, DiffRow, LineNames } from "../engine/protocol";
import { functionsOf, rowsIn } from "./scope";

/** A stretch of one side's text. */
export interface Span {
  text: string;
  from: number;
  to: number;
  /** Pairs from/to of the words that differ, in the whole text. */
  words: readonly number[];
  /** Drawn under the first part: a broken line continues with more indentation. */
  indent: number;
}

export type Line =
  | {
      kind: "row";
      change: DiffKind;
      sign: string;
      left: number | null;
      right: number | null;
      /** Unified: the one text. Split: the left one. */
      a: Span | null;
      /** Split only: the right text. */
      b: Span | null;
      tone: "same" | "added" | "removed" | "changed" | "quiet";
    }
  | { kind: "fold"; id: string; count: number; quiet: number }
  | { kind: "more"; id: string; characters: number };

export interface Options {
  split: boolean;
  /** Characters that fit on a line; Infinity: lines are not broken. */
  columns: number;
  /** Keep the `ty=` comments. */
  types: boolean;
  /** Ids of folds that were opened. */
  open: ReadonlySet<string>;
  /** Unchanged lines kept around a change. */
  context: number;
  /** Folds nothing: a search needs all lines. */
  whole?: boolean;
  /** The function that is shown; all of the module without one. */
  func?: string;
}

/** The measured room for lines beside each other. */
export interface Room {
  characters: number;
  /** Digits of the largest line number. */
  digits: number;
}

const MARGIN = 3;

/** Columns for the text of a unified diff, of one half of a split one, and of a plain text. */
export function columnsOf(room: Room): { unified: number; half: number; plain: number } {
  const at = (columns: number) => Math.max(16, Math.floor(columns));
  const { characters, digits } = room;
  return {
    unified: at(characters - 2 * (digits + 1) - MARGIN - 2),
    half: at(characters / 2 - (digits + 1) - MARGIN - 2),
    plain: at(characters - digits - 4),
  };
}

/** The least width of a half: below it the diff is unified, whatever was chosen. */
export const NARROWEST_HALF = 30;

/** Broken lines beyond this many are folded: the signature of a network has thousands of characters. */
export const LONG = 6;
const KEPT = 3;
const HANG = 4;
/** A rest of so many characters at most does not stand on a line of its own. */
const LONE = 4;

const TYPES = / ?\/\* ty=.*?\*\//g;

/** Removes the type comments of a text, and moves the ranges along. */
export function withoutTypes(text: string, words: readonly number[]): [string, number[]] {
  if (!text.includes("/* ty=")) return [text, [...words]];
  const cuts: [number, number][] = [];
  for (const hit of text.matchAll(TYPES)) cuts.push([hit.index, hit.index + hit[0].length]);
  const place = (offset: number): number => {
    let gone = 0;
    for (const [from, to] of cuts) {
      if (offset >= to) gone += to - from;
      else if (offset > from) gone += offset - from;
    }
    return offset - gone;
  };
  const moved: number[] = [];
  for (let index = 0; index + 1 < words.length; index += 2) {
    const from = place(words[index] ?? 0);
    const to = place(words[index + 1] ?? 0);
    if (to > from) moved.push(from, to);
  }
  return [text.replace(TYPES, ""), moved];
}

/** Returns the starts of the parts of a line that is broken to `columns`; breaks after a space if there is one near. */
export function breaks(text: string, columns: number): number[] {
  const starts = [0];
  if (text.length <= columns) return starts;
  const indent = text.length - text.trimStart().length;
  let from = 0;
  let room = columns;
  while (text.length - from > room) {
    const limit = from + room;
    const space = text.lastIndexOf(" ", limit);
    from = space > from + room / 2 && space > indent ? space + 1 : limit;
    starts.push(from);
    room = Math.max(20, columns - indent - HANG);
  }
  // Moves the last word to the next line with a short rest such as `*/;`.
  const last = starts.at(-1) ?? 0;
  const word = text.lastIndexOf(" ", last - 2) + 1;
  if (starts.length > 1 && text.length - last <= LONE && word > (starts.at(-2) ?? 0)) {
    if (word > indent && text.length - word <= room) starts[starts.length - 1] = word;
  }
  return starts;
}

function spans(text: string, words: readonly number[], columns: number): Span[] {
  const starts = breaks(text, columns);
  const indent = starts.length > 1 ? text.length - text.trimStart().length + HANG : 0;
  return starts.map((from, part) => ({
    text,
    from,
    to: starts[part + 1] ?? text.length,
    words,
    indent: part === 0 ? 0 : indent,
  }));
}

interface Row {
  change: DiffKind;
  left: number | null;
  right: number | null;
  leftText: string;
  rightText: string;
  leftWords: readonly number[];
  rightWords: readonly number[];
}

function prepare(row: DiffRow, types: boolean): Row {
  const plain: Row = { ...row, change: row.kind };
  if (types) return plain;
  const [leftText, leftWords] = withoutTypes(row.leftText, row.leftWords);
  const [rightText, rightWords] = withoutTypes(row.rightText, row.rightWords);
  const hidden = row.kind === "changed" && leftText === rightText;
  return {
    ...plain,
    leftText,
    rightText,
    leftWords,
    rightWords,
    change: hidden ? "same" : row.kind,
  };
}

/** Stands in another block now, and says the same: one line is enough to show that. */
const isShifted = (row: Row) =>
  row.change === "changed" && row.leftText.trimStart() === row.rightText.trimStart();

/** True for rows that a reader of the change may skip. */
const isQuiet = (kind: DiffKind) => kind === "same" || kind === "renumbered";

export function layout(rows: readonly DiffRow[], options: Options): Line[] {
  const { context, open } = options;
  const prepared = rows.map((row) => prepare(row, options.types));
  const lines: Line[] = [];
  let at = 0;
  while (at < prepared.length) {
    const row = prepared[at] as Row;
    if (!isQuiet(row.change)) {
      put(row, at, lines, options);
      at++;
      continue;
    }
    let end = at;
    while (end < prepared.length && isQuiet((prepared[end] as Row).change)) end++;
    const head = at === 0 ? 0 : context;
    const tail = end === prepared.length ? 0 : context;
    const id = `fold ${row.left ?? ""} ${row.right ?? ""}`;
    // Folding one or two lines saves nothing.
    const fold = end - at - head - tail > 2 && !options.whole && !open.has(id);
    for (let index = at; index < end; index++) {
      if (fold && index === at + head) {
        const last = end - tail;
        let quiet = 0;
        for (let inner = index; inner < last; inner++) {
          if (prepared[inner]?.change === "renumbered") quiet++;
        }
        lines.push({ kind: "fold", id, count: last - index, quiet });
        index = last - 1;
      } else {
        put(prepared[index] as Row, index, lines, options);
      }
    }
    at = end;
  }
  return lines;
}

function put(row: Row, index: number, lines: Line[], options: Options): void {
  if (options.split) putSplit(row, index, lines, options);
  else putUnified(row, index, lines, options);
}

function putUnified(row: Row, index: number, lines: Line[], options: Options): void {
  const { change, left, right } = row;
  const one = (
    side: "left" | "right",
    sign: string,
    tone: "same" | "added" | "removed" | "quiet",
  ) => {
    const text = side === "left" ? row.leftText : row.rightText;
    const words = side === "left" ? row.leftWords : row.rightWords;
    const both = left !== null && right !== null && sign !== "-" && sign !== "+";
    const parts = spans(text, words, options.columns);
    limited(parts.length, `${side} ${index}`, lines, options, textOf(parts), (part) => ({
      kind: "row",
      change,
      sign: part === 0 ? sign : " ",
      left: part === 0 && (both || side === "left") ? left : null,
      right: part === 0 && (both || side === "right") ? right : null,
      a: parts[part] ?? null,
      b: null,
      tone,
    }));
  };
  if (change === "same") one("right", " ", "same");
  else if (change === "renumbered" || isShifted(row)) one("right", "~", "quiet");
  else if (change === "moved") {
    if (right === null) one("left", "-", "quiet");
    else one("right", left === null ? "+" : "~", "quiet");
  } else {
    if (left !== null) one("left", "-", "removed");
    if (right !== null) one("right", "+", "added");
  }
}

function putSplit(row: Row, index: number, lines: Line[], options: Options): void {
  const { change, left, right } = row;
  const columns = options.columns;
  // Marks no words if only the indentation changed.
  const words = (all: readonly number[]) => (isShifted(row) ? [] : all);
  const a = left === null ? [] : spans(row.leftText, words(row.leftWords), columns);
  const b = right === null ? [] : spans(row.rightText, words(row.rightWords), columns);
  const signs: Record<DiffKind, string> = {
    same: " ",
    added: "+",
    removed: "-",
    changed: "~",
    moved: "~",
    renumbered: "~",
  };
  const quiet = change === "moved" || change === "renumbered" || isShifted(row);
  const tone = quiet ? "quiet" : change;
  const characters = Math.max(textOf(a), textOf(b));
  limited(Math.max(a.length, b.length), `both ${index}`, lines, options, characters, (part) => ({
    kind: "row",
    change,
    sign: part === 0 ? signs[change] : " ",
    left: part === 0 ? left : null,
    right: part === 0 ? right : null,
    a: a[part] ?? null,
    b: b[part] ?? null,
    tone,
  }));
}

const textOf = (parts: Span[]) => parts.at(-1)?.to ?? 0;

function limited(
  count: number,
  id: string,
  lines: Line[],
  options: Options,
  characters: number,
  make: (part: number) => Line,
): void {
  const cut = count > LONG && !options.whole && !options.open.has(id);
  const shown = cut ? KEPT : count;
  let end = 0;
  for (let part = 0; part < shown; part++) {
    const line = make(part);
    if (line.kind === "row") end = Math.max(line.a?.to ?? 0, line.b?.to ?? 0);
    lines.push(line);
  }
  if (cut) lines.push({ kind: "more", id, characters: characters - end });
}

/** The lines computed from a diff, kept as long as the diff is in use. */
interface Known {
  rows: DiffRow[];
  options: Options | null;
  lines: Line[];
}
const known = new WeakMap<Diff, Known>();

function knownOf(diff: Diff): Known {
  const now: Known = known.get(diff) ?? { rows: rowsOf(diff), options: null, lines: [] };
  known.set(diff, now);
  return now;
}

/** Returns the number of rows of a diff. */
export const sizeOf = (diff: Diff | null): number => (diff ? knownOf(diff).rows.length : 0);

/** Returns the lines of a diff: the same ones for the same options. */
export function linesOf(diff: Diff | null, options: Options): readonly Line[] {
  if (!diff) return [];
  const now = knownOf(diff);
  if (now.options !== options) {
    now.options = options;
    now.lines = layout(rowsIn(now.rows, options.func ?? ""), options);
  }
  return now.lines;
}

/** Returns the rows of a diff that are about a function; all of them for none. */
export const rowsAbout = (diff: Diff, func: string): readonly DiffRow[] =>
  rowsIn(knownOf(diff).rows, func);

/** A match of a text in drawn lines, ignoring case: the line that it begins in, and which of its halves. */
export interface Found {
  line: number;
  half: "a" | "b";
  /** Offsets in the text of the span. */
  from: number;
  to: number;
}

/** Returns all places of a text in lines, from the first to the last. A line that is broken is one text. */
export function foundIn(lines: readonly Line[], text: string): Found[] {
  const found: Found[] = [];
  const wanted = text.toLowerCase();
  if (!wanted) return found;
  lines.forEach((line, index) => {
    if (line.kind !== "row") return;
    for (const half of ["a", "b"] as const) {
      const span = line[half];
      // Both halves of an unchanged line say the same.
      if (!span || (half === "b" && line.tone === "same")) continue;
      const all = span.text.toLowerCase();
      for (let at = all.indexOf(wanted, span.from); at >= 0 && at < span.to; ) {
        found.push({ line: index, half, from: at, to: at + wanted.length });
        at = all.indexOf(wanted, at + wanted.length);
      }
    }
  });
  return found;
}

/** Converts plain text to lines to draw, with the same breaking and folding. */
export function plainLines(text: string, options: Options): Line[] {
  const all = text.replace(/\n$/, "").split("\n");
  const owners = options.func ? functionsOf(all) : [];
  const rows: DiffRow[] = all.map(
    (line, index): DiffRow => ({
      kind: "same",
      left: index + 1,
      right: index + 1,
      leftText: line,
      rightText: line,
      leftWords: [],
      rightWords: [],
    }),
  );
  const lines: Line[] = [];
  rows.forEach((row, index) => {
    if (options.func && owners[index + 1] !== options.func) return;
    putUnified(prepare(row, options.types), index, lines, options);
  });
  return lines;
}

/** Returns the change nearest below or above a line: its first line, or -1. */
export function nextChange(lines: readonly Line[], from: number, direction: 1 | -1): number {
  const changed = (index: number) => {
    const line = lines[index];
    return line?.kind === "row" && line.tone !== "same" && line.tone !== "quiet";
  };
  for (let at = from + direction; at >= 0 && at < lines.length; at += direction) {
    if (changed(at) && !changed(at - 1)) return at;
  }
  return -1;
}

/** A place pointed at in the drawn lines: a line of one of the versions, and the word there. */
export interface Pointed {
  side: "before" | "after";
  line: number;
  word: string;
}

/** Returns the version and the number of a drawn line: a broken line has its number in its first part. */
export function numberAt(
  lines: readonly Line[],
  index: number,
  half: "left" | "right" | null,
): Pick<Pointed, "side" | "line"> | null {
  for (let at = index; at >= 0; at--) {
    const line = lines[at];
    if (line?.kind !== "row") return null;
    if (line.left === null && line.right === null) continue;
    const side = half ?? (line.tone === "removed" || line.right === null ? "left" : "right");
    const number = side === "left" ? line.left : line.right;
    return number === null ? null : { side: side === "left" ? "before" : "after", line: number };
  }
  return null;
}

/** Returns the text of a drawn line, of the half that is pointed at. */
export function textAt(line: Line | undefined, half: "left" | "right" | null): string {
  if (line?.kind !== "row") return "";
  const span = half === "right" ? (line.b ?? line.a) : line.a;
  return span ? span.text.slice(span.from, span.to) : "";
}

const WORD = /[%@]?[A-Za-z_0-9][\w.]*/g;

/** Returns the word at an offset; empty between words. */
export function wordAt(text: string, offset: number): string {
  for (const hit of text.matchAll(WORD)) {
    if (hit.index <= offset && offset <= hit.index + hit[0].length) return hit[0];
  }
  return "";
}

/**
 * Returns the type of a word in a line, with the name that has it; for a word that is no name, the type of the line's
 * expression. Empty for what has none.
 */
export function typeOf(word: string, line: LineNames): string {
  const named = line.names.find(([name]) => word === name || word.startsWith(`${name}.`));
  if (named) return named[1] ? named.join(": ") : "";
  return word.startsWith("%") ? "" : line.own;
}

/** Returns the drawn lines, first and last, in which a line of a version stands; none when it is folded away. */
export function drawnAt(
  lines: readonly Line[],
  side: "before" | "after",
  number: number,
): [first: number, last: number] | null {
  const is = (line: Line | undefined) =>
    line?.kind === "row" && (side === "before" ? line.left : line.right) === number;
  // Behind a removed line stands the added one with no number on the left.
  const first = lines.findIndex(is);
  if (first < 0) return null;
  let last = first;
  const goesOn = (line: Line | undefined) =>
    line?.kind === "row" && line.left === null && line.right === null;
  while (goesOn(lines[last + 1])) last++;
  return [first, last];
}
