/** Rows of a diff or a text as HTML, and their numbers as text. Pure: `sheets.ts` puts them into the page. */
import { type Piece, pieces } from "../editor/relay";
import type { Line, Span } from "./lines";

export type Columns = "unified" | "split" | "plain";

type Side = "left" | "right";

/** The columns of numbers, and whose numbers stand in each. */
export const SIDES: Record<Columns, readonly (readonly Side[])[]> = {
  unified: [["left", "right"]],
  split: [["left"], ["right"]],
  plain: [["right"]],
};

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

/** Returns a span as HTML. */
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

/**
 * Returns the numbers of rows as the text of one column. An element for each of them would cost more than all else in
 * their rows. `sides` says which numbers are meant, `digits` how many the longest has.
 */
export function numbers(lines: readonly Line[], sides: readonly Side[], digits: number): string {
  const one = (line: Line) =>
    line.kind === "row"
      ? sides.map((side) => String(line[side] ?? "").padStart(digits + 1)).join("")
      : "";
  return lines.map(one).join("\n");
}

/** Returns the key of a line: lines with equal keys are drawn alike, so unchanged ones are not drawn again. */
export function keyOf(line: Line): string {
  if (line.kind === "fold") return `fold ${line.id} ${line.count} ${line.quiet}`;
  if (line.kind === "more") return `more ${line.id} ${line.characters}`;
  return `${line.change} ${line.sign} ${line.tone} ${shape(line.a)}\n${shape(line.b)}`;
}

const spoken: Record<string, string> = {
  added: "added",
  removed: "removed",
  changed: "changed",
  moved: "moved",
  renumbered: "renumbered",
};

const sign = (shown: string) => (shown === " " ? "" : `<span class="sign">${shown} </span>`);

/** Renders a row as HTML: one element of the class `line`. Its numbers stand in a column of their own. */
export function rowHtml(line: Line, columns: Columns): string {
  if (line.kind === "fold") {
    const also = line.quiet > 0 ? `, ${line.quiet} of them only renumbered` : "";
    return fold(`${line.count} unchanged lines${also}`);
  }
  if (line.kind === "more") {
    return fold(`${line.characters.toLocaleString("en")} more characters on this line`);
  }
  const { a, b, tone } = line;
  if (columns === "plain") return `<code class="line">${html(a, "ins", "")}</code>`;
  const word = line.sign === " " ? "" : (spoken[line.change] ?? "");
  if (columns === "split") {
    const left = tone === "added" ? "void" : tone === "changed" ? "removed" : tone;
    const right = tone === "removed" ? "void" : tone === "changed" ? "added" : tone;
    const before = sign(a && tone !== "added" ? line.sign : " ") + html(a, "del", a ? word : "");
    const after = sign(b && tone !== "removed" ? line.sign : " ") + html(b, "ins", a ? "" : word);
    return `<div class="line halves"><code class="half ${left}">${before}</code><code class="half ${right}">${after}</code></div>`;
  }
  const said = word && (tone === "removed" || tone === "added") ? tone : word;
  return `<code class="line ${tone}">${sign(line.sign)}${html(a, tone === "removed" ? "del" : "ins", said)}</code>`;
}

const fold = (words: string) => `<button type="button" class="line fold">… ${words}</button>`;
