/** An editor: CodeMirror with a language, the engine's problems underlined, and a way out by Escape. */
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
} from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { type Diagnostic, diagnosticCount, setDiagnostics } from "@codemirror/lint";
import {
  Annotation,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Problem } from "../engine/protocol";

/**
 * Inserts a typed character as a transaction of its own instead of letting the browser edit the page and reading the
 * edit back from it. In a program line of some thousand characters the latter takes longer than a whole run.
 * Composition, paste, drop and everything else stay as they are.
 */
function insertDirectly(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== "insertText" || event.isComposing || view.composing) return false;
  const text = event.data;
  if (!text || !event.cancelable || view.state.readOnly) return false;
  const { from, to } = view.state.selection.main;
  const insert = () =>
    view.state.update(view.state.replaceSelection(text), {
      userEvent: "input.type",
      scrollIntoView: true,
    });
  event.preventDefault();
  const handlers = view.state.facet(EditorView.inputHandler);
  if (!handlers.some((handle) => handle(view, from, to, text, insert))) view.dispatch(insert());
  return true;
}

/**
 * The search panel. It is no part of the first screen, but fetched once the editor has the focus. When it is there it opens
 * before the next key is heard: what is typed right after the key that opens it is meant for the panel, not for the program.
 */
let search: typeof import("./search") | null = null;
const searching = async () => {
  search ??= await import("./search");
  return search;
};

/** What is highlighted: the source of an expression that is followed. */
const mark = StateEffect.define<{ from: number; to: number } | null>();
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, transaction) {
    let next = now.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(mark)) continue;
      const place = effect.value;
      next = place
        ? Decoration.set(Decoration.mark({ class: "followed" }).range(place.from, place.to))
        : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const fromOutside = Annotation.define<boolean>();

export interface EditorOptions {
  parent: HTMLElement;
  /** The accessible name. */
  label: string;
  /** Colours, and what else belongs to the language. */
  language: Extension;
  text: string;
  onEdit(text: string): void;
  onEscape(): void;
}

export interface Editor {
  /** Replaces the text, as when an example or a link is opened; undo brings the old one back. */
  setText(text: string): void;
  setProblems(problems: readonly Problem[]): void;
  /** Highlights a place without going there; null for none. */
  setMark(place: { from: number; to: number } | null): void;
  /** Shows a place. */
  reveal(from: number): void;
  /** Where the cursor is. */
  cursor(): number;
  /** Puts the cursor at a place and shows it. */
  jump(from: number, to: number): void;
  focus(): void;
  destroy(): void;
}

export function createEditor(options: EditorOptions): Editor {
  /** The text that the editor is about to draw. */
  let coming: Text | null = null;
  /** What was asked of the editor meanwhile. */
  const waiting: (() => void)[] = [];
  const afterDrawing = (act: () => void) => {
    if (coming) waiting.push(act);
    else act();
  };
  const view = new EditorView({
    parent: options.parent,
    // The engine hears of an edit before the editor draws it: the two then work at the same time.
    dispatchTransactions(transactions, target) {
      const edited = transactions.some(
        (transaction) => transaction.docChanged && !transaction.annotation(fromOutside),
      );
      const doc = transactions.at(-1)?.newDoc ?? target.state.doc;
      try {
        coming = doc;
        if (edited) options.onEdit(doc.toString());
      } finally {
        coming = null;
        target.update(transactions);
      }
      for (const act of waiting.splice(0)) act();
    },
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        indentUnit.of("  "),
        options.language,
        marks,
        EditorView.domEventHandlers({ focus: () => void searching() }),
        keymap.of([
          { key: "Mod-]", run: indentMore },
          { key: "Mod-[", run: indentLess },
          {
            key: "Mod-f",
            run: (target) => {
              if (search) search.openSearch(target);
              else void searching().then(({ openSearch }) => openSearch(target));
              return true;
            },
          },
          ...historyKeymap,
          ...defaultKeymap,
          {
            key: "Escape",
            run: () => {
              options.onEscape();
              return true;
            },
          },
        ]),
        EditorView.domEventHandlers({ beforeinput: insertDirectly }),
        EditorView.contentAttributes.of({
          "aria-label": options.label,
          "aria-describedby": "editor-help",
          tabindex: "0",
          spellcheck: "false",
          autocorrect: "off",
          autocapitalize: "off",
        }),
      ],
    }),
  });

  return {
    setText(text) {
      const doc = coming ?? view.state.doc;
      if (doc.length === text.length && doc.toString() === text) return;
      afterDrawing(() =>
        view.dispatch({
          changes: { from: 0, to: view.state.doc.length, insert: text },
          selection: { anchor: 0 },
          scrollIntoView: true,
          annotations: fromOutside.of(true),
        }),
      );
    },
    setProblems: (problems) =>
      afterDrawing(() => {
        const length = view.state.doc.length;
        const diagnostics: Diagnostic[] = [];
        for (const problem of problems) {
          if (problem.from === null) continue;
          const from = Math.min(problem.from, length);
          const to = Math.min(Math.max(problem.to ?? from, from), length);
          diagnostics.push({
            // A place without width would not be seen.
            from: to > from || from < length ? from : Math.max(0, from - 1),
            to: to > from ? to : Math.min(from + 1, length),
            severity: severity(problem),
            message: [problem.message, ...problem.notes].join("\n"),
          });
        }
        if (diagnostics.length === 0 && diagnosticCount(view.state) === 0) return;
        diagnostics.sort((a, b) => a.from - b.from);
        view.dispatch(setDiagnostics(view.state, diagnostics));
      }),
    setMark: (place) =>
      afterDrawing(() => {
        const length = view.state.doc.length;
        const inside = place && place.to <= length && place.from < place.to ? place : null;
        if (!inside && view.state.field(marks).size === 0) return;
        view.dispatch({ effects: mark.of(inside) });
      }),
    reveal(from) {
      const at = Math.min(from, view.state.doc.length);
      view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "center" }) });
    },
    cursor: () => view.state.selection.main.head,
    jump(from, to) {
      const length = view.state.doc.length;
      const anchor = Math.min(from, length);
      view.dispatch({
        selection: { anchor, head: Math.min(to, length) },
        effects: EditorView.scrollIntoView(anchor, { y: "center" }),
      });
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function severity(problem: Problem): Diagnostic["severity"] {
  if (problem.severity === "help") return "hint";
  return problem.severity === "note" ? "info" : problem.severity;
}
