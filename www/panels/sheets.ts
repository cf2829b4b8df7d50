/**
 * Draws rows of a diff or a text into the page. The browser gets the new ones as one string: that is several times
 * faster than making each element by itself, and all visible rows are made anew from step to step.
 */
import type { Line } from "./lines";
import { type Columns, keyOf, numbers, rowHtml, SIDES } from "./rows";

/** Height of a row in pixels. */
export const ROW = 20;

/** Returns the scroll position that shows these rows: moves least if the first is already visible. */
export function topToSee([first, last]: [number, number], top: number, height: number): number {
  const [start, end] = [first * ROW, (last + 1) * ROW];
  if (start < top || start >= top + height) return Math.max(0, start - 3 * ROW);
  return end <= top + height ? top : Math.min(start, end - height);
}

/** Some of the lines, as they are to be drawn. */
export interface Part {
  lines: readonly Line[];
  first: number;
  last: number;
  columns: Columns;
  /** The number of digits of the longest number. */
  digits: number;
}

/** A part that is drawn, into an element of its own. */
interface Sheet {
  part: Part | null;
  element: HTMLElement;
  rows: HTMLElement;
  numbers: HTMLElement[];
  drawn: { key: string; element: Element }[];
}

const isDrawn = (sheet: Sheet, { lines, columns }: Part) =>
  sheet.part?.lines === lines && sheet.part.columns === columns;

/**
 * Draws into `parent`. Of several sheets one is visible: the likely next one can be drawn and laid out while the page
 * is idle, and is then only uncovered.
 */
export function createSheets(parent: HTMLElement) {
  let seen = create();
  let others: Sheet[] = [];

  function create(): Sheet {
    const element = document.createElement("div");
    element.className = "lines-window";
    const rows = element.appendChild(document.createElement("div"));
    parent.append(element);
    return { part: null, element, rows, numbers: [], drawn: [] };
  }

  return {
    show(part: Part): void {
      const ready = others.find((sheet) => isDrawn(sheet, part));
      if (ready) {
        others = others.map((sheet) => (sheet === ready ? seen : sheet));
        cover(seen);
        seen = ready;
        uncover(seen);
      }
      draw(seen, part);
    },
    /** Draws the first of the likely next parts that is not drawn yet; false when there is none. */
    prepare(parts: readonly Part[]): boolean {
      const next = parts.find((part) => ![seen, ...others].some((sheet) => isDrawn(sheet, part)));
      const [stale, kept] = [[] as Sheet[], [] as Sheet[]];
      for (const sheet of others)
        (parts.some((part) => isDrawn(sheet, part)) ? kept : stale).push(sheet);
      if (next) {
        const sheet = stale.pop() ?? create();
        uncover(sheet);
        draw(sheet, next);
        // Asked for its size it is laid out, and stays so while it is covered.
        void sheet.element.offsetHeight;
        cover(sheet);
        kept.push(sheet);
      }
      for (const sheet of stale) sheet.element.remove();
      others = kept;
      return next !== undefined;
    },
    /** Returns the number of the line that an element stands in; -1 for others. */
    lineOf(element: Element): number {
      const at = [...seen.rows.children].indexOf(element);
      return at < 0 ? -1 : (seen.part?.first ?? 0) + at;
    },
  };
}

const cover = (sheet: Sheet) => sheet.element.classList.add("covered");
const uncover = (sheet: Sheet) => sheet.element.classList.remove("covered");

/** Makes a sheet show a part. */
function draw(sheet: Sheet, part: Part): void {
  const { lines, first, last, columns, digits } = part;
  const visible = lines.slice(first, last);
  drawRows(sheet, visible, columns);
  SIDES[columns].forEach((sides, index) => {
    const column = sheet.numbers[index] ?? numbersInto(sheet.element);
    sheet.numbers[index] = column;
    const text = numbers(visible, sides, digits);
    if (column.textContent !== text) column.textContent = text;
  });
  for (const surplus of sheet.numbers.splice(SIDES[columns].length)) surplus.remove();
  sheet.element.style.transform = `translateY(${first * ROW}px)`;
  sheet.element.style.setProperty("--digits", String(digits));
  sheet.part = part;
}

/** Draws rows. Known ones keep their elements, and with them the focus and the selection. */
function drawRows(sheet: Sheet, lines: readonly Line[], columns: Columns): void {
  const known = new Map<string, Element[]>();
  for (const { key, element } of sheet.part?.columns === columns ? sheet.drawn : []) {
    const alike = known.get(key);
    if (alike) alike.push(element);
    else known.set(key, [element]);
  }
  const kept = new Set<Element>();
  let html = "";
  const rows = lines.map((line) => {
    const key = keyOf(line);
    const element = known.get(key)?.shift();
    if (element) kept.add(element);
    else html += rowHtml(line, columns);
    return { key, element };
  });
  if (kept.size === 0) {
    sheet.rows.innerHTML = html;
    sheet.drawn = rows.map(({ key }, index) => ({
      key,
      element: sheet.rows.children[index] as Element,
    }));
    return;
  }
  for (const { element } of sheet.drawn) if (!kept.has(element)) element.remove();
  const nursery = document.createElement("div");
  if (html) nursery.innerHTML = html;
  const made = [...nursery.children][Symbol.iterator]();
  let at = sheet.rows.firstElementChild;
  sheet.drawn = rows.map(({ key, element = made.next().value as Element }) => {
    if (element === at) at = at.nextElementSibling;
    else sheet.rows.insertBefore(element, at);
    return { key, element };
  });
}

function numbersInto(element: HTMLElement): HTMLElement {
  const column = element.appendChild(document.createElement("div"));
  column.className = "numbers";
  column.ariaHidden = "true";
  return column;
}
