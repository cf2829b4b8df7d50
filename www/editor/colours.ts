/**
 * Colours a program in its editor without a syntax tree: a line is cut into pieces as in the read-only views, its
 * pieces are kept as long as it is drawn, and the only state that one line passes to the next is the number of open
 * comments. So a key costs one line, and nothing runs behind the visible part.
 */
import { EditorState, type Extension, Prec, RangeSetBuilder, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { type Piece, pieces, type Token } from "./relay";

const marks = new Map<Token, Decoration>();

function mark(token: Token): Decoration {
  let known = marks.get(token);
  if (!known) {
    known = Decoration.mark({ class: `t-${token}` });
    marks.set(token, known);
  }
  return known;
}

/**
 * Counts the comments open at the end of a line. The loop runs only for a line that opens and closes comments by turns;
 * inside texts, comment signs need no special care as long as they take turns, since only such a sign closes a comment.
 */
function openBehind(line: string, open: number): number {
  let closed = open === 0 ? 0 : -1;
  while (closed >= 0) {
    const opens = line.indexOf("/*", closed);
    if (opens < 0) return 0;
    const closes = line.indexOf("*/", opens + 2);
    const again = line.indexOf("/*", opens + 2);
    closed = closes < 0 || (again >= 0 && again < closes) ? -1 : closes + 2;
  }
  const depth = { comment: open };
  pieces(line, depth);
  return depth.comment;
}

/** Counts the open comments before each line of a text, as far as was asked. */
export class OpenComments {
  readonly #before = [0];

  /** Returns the count before the line with this number, the first being 1. */
  at(doc: Text, line: number): number {
    const before = this.#before;
    if (before.length < line) {
      let open = before.at(-1) ?? 0;
      for (const text of doc.iterLines(before.length, line)) {
        open = openBehind(text, open);
        before.push(open);
      }
    }
    return before[line - 1] ?? 0;
  }

  /** Drops the counts behind a changed line. */
  changed(line: number): void {
    this.#before.length = Math.min(this.#before.length, line);
  }
}

class Colours {
  decorations: DecorationSet;
  readonly #open = new OpenComments();
  /** The lines that are drawn, by their text. */
  #cut = new Map<string, Piece[]>();

  constructor(view: EditorView) {
    this.decorations = this.#draw(view);
  }

  update(update: ViewUpdate) {
    update.changes.iterChangedRanges((from) =>
      this.#open.changed(update.startState.doc.lineAt(from).number),
    );
    if (update.docChanged || update.viewportChanged) this.decorations = this.#draw(update.view);
  }

  #draw(view: EditorView): DecorationSet {
    const { doc } = view.state;
    const builder = new RangeSetBuilder<Decoration>();
    const cut = new Map<string, Piece[]>();
    for (const { from, to } of view.visibleRanges) {
      // A line of which the middle is not drawn comes in two ranges.
      for (let at = from; at <= to; ) {
        const line = doc.lineAt(at);
        for (const piece of this.#pieces(line.text, this.#open.at(doc, line.number), cut)) {
          const start = Math.max(line.from + piece.from, from);
          const end = Math.min(line.from + piece.to, to);
          // Names look like text.
          if (start < end && piece.token && piece.token !== "local")
            builder.add(start, end, mark(piece.token));
        }
        at = line.to + 1;
      }
    }
    this.#cut = cut;
    return builder.finish();
  }

  #pieces(text: string, open: number, drawn: Map<string, Piece[]>): Piece[] {
    if (open > 0) return pieces(text, { comment: open });
    const known = drawn.get(text) ?? this.#cut.get(text) ?? pieces(text);
    drawn.set(text, known);
    return known;
  }
}

/** Relay and TVMScript, as a program is written in. */
export const relayLanguage: Extension = [
  // Outside of other marks, so that colours do not cut a mark in pieces.
  Prec.high(ViewPlugin.fromClass(Colours, { decorations: (colours) => colours.decorations })),
  EditorState.languageData.of(() => [
    { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
  ]),
];
