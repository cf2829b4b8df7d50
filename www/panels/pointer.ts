/** Answers the pointer over a text in lines: a click asks about a word, and the type is shown where it rests. */
import { createSignal, onCleanup } from "solid-js";
import type { Cursor, Half } from "./cursor";
import type { LinesProps, Paper } from "./Lines";
import { typeOf, wordAt } from "./lines";

/** Returns the side of a diff that a drawn half shows; null if lines have no halves. */
const sideOf = (half: Element | null | undefined): Half =>
  half ? (half.nextElementSibling ? "left" : "right") : null;

export function createPointer(props: LinesProps, paper: Paper, cursor: Cursor) {
  const click = (event: MouseEvent) => {
    const target = event.target instanceof Element ? event.target : null;
    const drawn = target?.closest(".line");
    if (!drawn) return;
    const line = paper.sheets.lineOf(drawn);
    const row = props.lines[line];
    if (row && row.kind !== "row") return props.onOpen(row.id);
    // A selection of text is meant to be copied.
    if (!cursor.pickable() || event.button !== 0 || !getSelection()?.isCollapsed) return;
    const half = target?.closest(".half");
    const word = wordUnder(half ?? drawn, event.clientX, event.clientY);
    if (word === null) return;
    cursor.set({ line, name: 0 });
    cursor.pick(line, sideOf(half), word);
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
      const line = drawn ? paper.sheets.lineOf(drawn) : -1;
      const half = target instanceof Element ? target.closest(".half") : null;
      const word = drawn && line >= 0 ? wordUnder(half ?? drawn, x, y) : null;
      const at = word ? cursor.placeOf(line, sideOf(half)) : null;
      const left = x - paper.all.getBoundingClientRect().left;
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
  return { pointed, click, point, leave };
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
