/** An editor: CodeMirror with a language, the engine's problems underlined, and a way out by Escape. */
import type { Action, Diagnostic } from "@codemirror/lint";
import {
  Annotation,
  Compartment,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
  type TransactionSpec,
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
import type { Fix, Problem } from "../engine/protocol";
import { quoted } from "../state/quoted";

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

/** Keys, brackets and problems: fetched once the first screen is drawn, or before when they are needed. */
let extras: typeof import("./keys") | null = null;
const fetchExtras = async () => {
  extras ??= await import("./keys");
  return extras;
};
/** Milliseconds that are left to the first screen. */
const EXTRAS_AFTER = 300;

/** Sets the highlighted range: the source of a followed expression. */
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
  /** Colours, and the other parts of the language. */
  language: Extension;
  text: string;
  onEdit(text: string): void;
  onEscape(): void;
  /** Loads, with the editor's keys after the first screen, the words that are completed and explained. */
  later?(): Promise<Extension>;
  /** Undo and redo are the page's, which knows of all changes; the editor knows only of typed ones. */
  onUndo(): void;
  onRedo(): void;
}

export interface Editor {
  /** Shows another text, as when an example is opened or an edit undone. */
  setText(text: string): void;
  setProblems(problems: readonly Problem[]): void;
  /** Highlights a place without going there; null for none. */
  setMark(place: { from: number; to: number } | null): void;
  /** Shows a place. */
  reveal(from: number): void;
  /** Returns the position of the cursor. */
  cursor(): number;
  /** Puts the cursor at a place and shows it. */
  jump(from: number, to: number): void;
  focus(): void;
  destroy(): void;
}

/** Returns the shortest change that makes one text another: keeps their common prefix and suffix. */
export function changeTo(old: string, text: string): { from: number; to: number; insert: string } {
  const most = Math.min(old.length, text.length);
  let from = 0;
  while (from < most && old.charCodeAt(from) === text.charCodeAt(from)) from++;
  let end = 0;
  const same = () =>
    old.charCodeAt(old.length - 1 - end) === text.charCodeAt(text.length - 1 - end);
  while (end < most - from && same()) end++;
  return { from, to: old.length - end, insert: text.slice(from, text.length - end) };
}

/** Makes a command of the editor that does this. */
const calls = (act: () => void) => () => {
  act();
  return true;
};

function selectAll({ state, dispatch }: EditorView): boolean {
  dispatch({ selection: { anchor: 0, head: state.doc.length } });
  return true;
}

/** Returns the extensions that the first screen needs; `more` takes those that come later. */
const extensionsOf = (options: EditorOptions, more: Compartment): Extension => [
  lineNumbers(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  drawSelection(),
  options.language,
  marks,
  more.of([]),
  keymap.of([
    // The browser knows of no lines but those in sight.
    { key: "Mod-a", run: selectAll },
    { key: "Mod-z", run: calls(options.onUndo), preventDefault: true },
    { key: "Mod-y", mac: "Mod-Shift-z", run: calls(options.onRedo), preventDefault: true },
    { key: "Mod-Shift-z", run: calls(options.onRedo), preventDefault: true },
    { key: "Escape", run: calls(options.onEscape) },
  ]),
  EditorView.domEventHandlers({
    beforeinput(event, target) {
      // From a menu, or from a key that a telephone has.
      const undo = event.inputType === "historyUndo";
      if (!undo && event.inputType !== "historyRedo") return insertDirectly(event, target);
      event.preventDefault();
      (undo ? options.onUndo : options.onRedo)();
      return true;
    },
  }),
  EditorView.contentAttributes.of({
    "aria-label": options.label,
    "aria-describedby": "editor-help",
    tabindex: "0",
    spellcheck: "false",
    autocorrect: "off",
    autocapitalize: "off",
  }),
];

/** Returns the transaction that shows another text. */
function textSpec(old: string, text: string): TransactionSpec {
  const changes = changeTo(old, text);
  const kept = text.length - changes.insert.length;
  // A mostly equal text comes from undo or redo, so the cursor goes to the change; else it is another text.
  const anchor = kept * 2 > text.length ? changes.from + changes.insert.length : 0;
  return {
    changes,
    selection: { anchor },
    scrollIntoView: true,
    annotations: fromOutside.of(true),
  };
}

export function createEditor(options: EditorOptions): Editor {
  /** The text that the editor is about to draw. */
  let coming: Text | null = null;
  /** The calls that wait for the editor to be drawn. */
  const waiting: (() => void)[] = [];
  const afterDrawing = (act: () => void) => {
    if (coming) waiting.push(act);
    else act();
  };
  const more = new Compartment();
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
    state: EditorState.create({ doc: options.text, extensions: extensionsOf(options, more) }),
  });

  let over = false;
  const complete = async () => {
    const { keys } = await fetchExtras();
    // Without it the editor is as good.
    const later = (await options.later?.().catch(() => undefined)) ?? [];
    // Keys of a list that is open come before those that move the cursor.
    if (!over) afterDrawing(() => view.dispatch({ effects: more.reconfigure([later, keys]) }));
  };
  const soon = setTimeout(() => void complete(), EXTRAS_AFTER);

  /** The newest problems: the code that draws them may come later. */
  let wanted: readonly Problem[] = [];
  const drawProblems = ({ setDiagnostics, diagnosticCount }: NonNullable<typeof extras>) =>
    afterDrawing(() => {
      const diagnostics = diagnosticsOf(wanted, view.state.doc.length);
      if (diagnostics.length === 0 && diagnosticCount(view.state) === 0) return;
      view.dispatch(setDiagnostics(view.state, diagnostics));
    });

  return {
    setText(text) {
      const doc = coming ?? view.state.doc;
      if (doc.length === text.length && doc.toString() === text) return;
      afterDrawing(() => {
        view.dispatch(textSpec(view.state.doc.toString(), text));
      });
    },
    setProblems(problems) {
      wanted = problems;
      if (extras) drawProblems(extras);
      else if (problems.length > 0) void fetchExtras().then((found) => over || drawProblems(found));
    },
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
    destroy() {
      over = true;
      clearTimeout(soon);
      view.destroy();
    },
  };
}

/** The number of repairs in the box at a problem; the list below has all. */
const MOST_ACTIONS = 3;

/** Problems as the editor draws them, by their places in a text of so many characters. */
function diagnosticsOf(problems: readonly Problem[], length: number): Diagnostic[] {
  const diagnostics = problems.flatMap((problem): Diagnostic[] => {
    if (problem.from === null) return [];
    const from = Math.min(problem.from, length);
    const to = Math.min(Math.max(problem.to ?? from, from), length);
    return [
      {
        // A place without width would not be seen.
        from: to > from || from < length ? from : Math.max(0, from - 1),
        to: to > from ? to : Math.min(from + 1, length),
        severity: severity(problem),
        message: [problem.message, ...problem.notes].join("\n"),
        renderMessage: () => drawn([problem.message, ...problem.notes].join("\n")),
        actions: (problem.fixes ?? []).slice(0, MOST_ACTIONS).map(actionOf),
      },
    ];
  });
  return diagnostics.sort((a, b) => a.from - b.from);
}

/** Draws a message with its names as code, as the list of problems does. */
function drawn(message: string): HTMLElement {
  const all = document.createElement("span");
  for (const [at, part] of quoted(message).entries()) {
    if (at % 2) all.appendChild(document.createElement("code")).textContent = part;
    else all.append(part);
  }
  return all;
}

/** Edits that are about an older text, and lie outside of this one, are not made. */
function actionOf({ title, edits }: Fix): Action {
  const apply = (view: EditorView) => {
    const changes = edits.map(([from, to, insert]) => ({ from, to, insert }));
    if (changes.every(({ from, to }) => from <= to && to <= view.state.doc.length))
      view.dispatch({ changes });
  };
  return { name: title, apply };
}

function severity(problem: Problem): Diagnostic["severity"] {
  if (problem.severity === "help") return "hint";
  return problem.severity === "note" ? "info" : problem.severity;
}
