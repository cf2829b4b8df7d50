/**
 * Lists every command of the page: the key handler, the `?` sheet and the palette all read this one list. `choices.ts`
 * makes the entries that depend on the program (its steps, the passes to add) from the state.
 */

import type { Controller } from "../state/controller";
import type { Pane, Preferences, Theme, View } from "../state/model";

export interface Command {
  id: string;
  /** `KeyboardEvent.key` values; `Mod ` before one stands for Ctrl, and for Command on a Mac. Empty: only in the palette. */
  keys: readonly string[];
  title: string;
  group: "Steps" | "Result" | "Program and passes" | "Page";
  run(app: Controller): void;
  /** True if fields handle this key themselves. */
  notInFields?: boolean;
}

/** On a Mac, shortcuts with a modifier are made with Command. */
const isMac = /Mac|iP(hone|ad)/.test(globalThis.navigator?.platform ?? "");

/** Returns a key as it is written on the keyboard. */
export const keyLabel = (key: string): string =>
  key.startsWith("Mod ")
    ? `${isMac ? "⌘" : "Ctrl"} ${key
        .slice(4)
        .replace("shift ", "Shift ")
        .replace(/.$/, (last) => last.toUpperCase())}`
    : key;

const prefer = (change: (preferences: Preferences) => Partial<Preferences>) => (app: Controller) =>
  app.dispatch({ type: "prefer", change: change(app.state().preferences) });
const theme = (name: Theme) => prefer(() => ({ theme: name }));
const view = (name: View) => (app: Controller) => app.dispatch({ type: "view", view: name });
const sheet = (name: "help" | "palette" | "lessons" | "matrix") => (app: Controller) =>
  app.panels.open({ name });

/** Returns the pane in which the keyboard is; the result while it is in none. */
function paneWithFocus(): Pane {
  const id = document.activeElement?.closest(".pane")?.id ?? "";
  return id === "pane-program" ? "program" : id === "pane-passes" ? "passes" : "result";
}

/** Compares with the level of the document beside another one. */
const compare = (app: Controller) => {
  const { optLevel } = app.state().document;
  app.panels.open({ name: "compare", levels: [optLevel, optLevel === 0 ? 2 : 0] });
};

export const commands: readonly Command[] = [
  { id: "next", keys: ["j"], title: "Next step", group: "Steps", run: (app) => app.go(1, false) },
  {
    id: "previous",
    keys: ["k"],
    title: "Previous step",
    group: "Steps",
    run: (app) => app.go(-1, false),
  },
  {
    id: "next-changed",
    keys: ["n"],
    title: "Next step that changed something",
    group: "Steps",
    run: (app) => app.go(1, true),
  },
  {
    id: "previous-changed",
    keys: ["p"],
    title: "Previous step that changed something",
    group: "Steps",
    run: (app) => app.go(-1, true),
  },
  {
    id: "changed-only",
    keys: ["c"],
    title: "List only steps that changed something",
    group: "Steps",
    run: prefer(({ changedOnly }) => ({ changedOnly: !changedOnly })),
  },
  {
    id: "nested",
    keys: [],
    title: "List nested and required steps or not",
    group: "Steps",
    run: prefer(({ nested }) => ({ nested: !nested })),
  },
  {
    id: "phases",
    keys: [],
    title: "Group the passes by phase or not",
    group: "Steps",
    run: prefer(({ phases }) => ({ phases: !phases })),
  },
  {
    id: "toggle",
    keys: ["x"],
    title: "Switch the pass of this step on or off",
    group: "Steps",
    run: (app) => {
      const row = app.step()?.row;
      if (row !== undefined && row >= 0) app.dispatch({ type: "toggle", row });
    },
  },
  {
    id: "filter",
    keys: ["/"],
    title: "Filter the steps by name",
    group: "Steps",
    run: (app) => app.panels.filter(),
  },
  {
    id: "next-rewrite",
    keys: ["l"],
    title: "Inside of the step: one rewrite further",
    group: "Steps",
    run: (app) => void app.rewrites.step(1),
  },
  {
    id: "previous-rewrite",
    keys: ["h"],
    title: "Inside of the step: one rewrite back",
    group: "Steps",
    run: (app) => void app.rewrites.step(-1),
  },
  {
    id: "rewrites",
    keys: ["r"],
    title: "List the rewrites of the step",
    group: "Steps",
    run: (app) => app.rewrites.toggle(),
  },
  {
    id: "fork",
    keys: [],
    title: "Fork here: the result of this step becomes the program",
    group: "Steps",
    run: (app) => void app.fork(),
  },
  {
    id: "matrix",
    keys: ["o"],
    title: "Passes by opt level, and where two levels differ",
    group: "Program and passes",
    run: sheet("matrix"),
  },
  {
    id: "compare",
    keys: ["v"],
    title: "Compare two pipelines or levels step by step",
    group: "Program and passes",
    run: compare,
  },
  { id: "diff", keys: ["1"], title: "Diff", group: "Result", run: view("diff") },
  { id: "texts", keys: ["2"], title: "Before and after", group: "Result", run: view("before") },
  { id: "graph", keys: ["g"], title: "Graph", group: "Result", run: view("graph") },
  { id: "values", keys: ["3"], title: "Values", group: "Result", run: view("values") },
  { id: "timing", keys: ["4"], title: "Timing", group: "Result", run: view("timing") },
  { id: "schedule", keys: ["5"], title: "Schedule: loops", group: "Result", run: view("schedule") },
  {
    id: "split",
    keys: ["s"],
    title: "Unified or side by side",
    group: "Result",
    run: prefer(({ split }) => ({ split: !split })),
  },
  {
    id: "types",
    keys: ["t"],
    title: "Show or hide type comments",
    group: "Result",
    run: prefer(({ types }) => ({ types: !types })),
  },
  {
    id: "wrap",
    keys: ["w"],
    title: "Break long lines or not",
    group: "Result",
    run: prefer(({ wrap }) => ({ wrap: !wrap })),
  },
  {
    id: "find",
    keys: ["f"],
    title: "Search in the result",
    group: "Result",
    run: (app) => app.panels.find(),
  },
  {
    id: "whole",
    keys: ["z"],
    title: "All the room for the pane with the focus, or shared again",
    group: "Page",
    run: (app) => {
      const { whole } = app.state();
      app.dispatch({ type: "whole", pane: whole ? null : paneWithFocus() });
    },
  },
  {
    id: "next-hunk",
    keys: ["]"],
    title: "Next change in the diff or graph",
    group: "Result",
    run: (app) => app.panels.hunk(1),
  },
  {
    id: "previous-hunk",
    keys: ["["],
    title: "Previous change in the diff or graph",
    group: "Result",
    run: (app) => app.panels.hunk(-1),
  },
  {
    id: "blame",
    keys: ["b"],
    title: "Go to the text; there: history of the expression",
    group: "Result",
    run: (app) => app.panels.blame(),
  },
  {
    id: "blame-source",
    keys: [],
    title: "History of the expression at the cursor of the program",
    group: "Program and passes",
    run: (app) => app.panels.blameSource(),
  },
  {
    id: "edit",
    keys: ["e"],
    title: "Go to the program (Escape leaves it)",
    group: "Program and passes",
    run: (app) => app.panels.edit(),
  },
  {
    id: "script",
    keys: ["m"],
    title: "Go to my passes",
    group: "Program and passes",
    run: (app) => app.panels.script(),
  },
  {
    id: "add",
    keys: ["a"],
    title: "Add a pass",
    group: "Program and passes",
    run: (app) => app.panels.add(),
  },
  {
    id: "undo",
    keys: ["Mod z"],
    title: "Undo: program, passes, context",
    group: "Program and passes",
    run: (app) => void app.undo(),
    notInFields: true,
  },
  {
    id: "redo",
    keys: ["Mod y", "Mod shift z"],
    title: "Redo",
    group: "Program and passes",
    run: (app) => void app.redo(),
    notInFields: true,
  },
  {
    id: "palette",
    keys: ["Mod k"],
    title: "Find a command",
    group: "Page",
    run: sheet("palette"),
  },
  {
    id: "lessons",
    keys: ["L"],
    title: "Lessons",
    group: "Page",
    run: sheet("lessons"),
  },
  {
    id: "open-file",
    keys: ["i"],
    title: "Open a file: a program or a reproducer",
    group: "Page",
    run: (app) => app.panels.openFile(),
  },
  {
    id: "open-folder",
    keys: [],
    title: "Open a folder that DumpIR wrote",
    group: "Page",
    run: (app) => app.panels.openFolder(),
  },
  {
    id: "open-work",
    keys: [],
    title: "Open earlier work",
    group: "Page",
    run: (app) => app.panels.openWork(),
  },
  { id: "share", keys: ["."], title: "Share", group: "Page", run: (app) => app.panels.share() },
  { id: "help", keys: ["?"], title: "Keyboard shortcuts", group: "Page", run: sheet("help") },
  {
    id: "letters",
    keys: [],
    title: "Single keys as shortcuts: on or off",
    group: "Page",
    run: prefer(({ letters }) => ({ letters: !letters })),
  },
  { id: "theme-light", keys: [], title: "Theme: light", group: "Page", run: theme("light") },
  { id: "theme-dark", keys: [], title: "Theme: dark", group: "Page", run: theme("dark") },
  {
    id: "theme-system",
    keys: [],
    title: "Theme: as the system has it",
    group: "Page",
    run: theme("system"),
  },
  { id: "stop", keys: [], title: "Stop the engine", group: "Page", run: (app) => app.stop() },
];

/** Keys that work inside of one panel; the sheet lists them too. */
export const localKeys: readonly { keys: string; title: string }[] = [
  { keys: "Escape", title: "Leave the program or my passes" },
  { keys: "Ctrl Space", title: "My passes: what can be written here" },
  { keys: "↑ ↓ Home End", title: "Steps: go through the list" },
  { keys: "← →", title: "Steps: fold and unfold" },
  { keys: "↑ ↓ ← →", title: "Diff and texts: go to a line, and to a name in it" },
  { keys: "Enter", title: "Diff and texts: history of what is there" },
  { keys: "↑ ↓ ← →", title: "Graph: go to an input, a use, a neighbour" },
  { keys: "Enter", title: "Graph: history of the node" },
  { keys: "Alt ↑ Alt ↓", title: "Passes: move a pass up or down" },
  { keys: "Delete", title: "Passes: remove a pass" },
  { keys: "Ctrl F", title: "Program, my passes: search" },
];

/** True if typed text goes into the focused element, or into an element around it. */
function isField(target: Element | null): boolean {
  const field = target?.closest("input, textarea, select, [contenteditable], dialog, [popover]");
  const plain =
    field instanceof HTMLInputElement && (field.type === "checkbox" || field.type === "radio");
  return !!field && !plain;
}

/**
 * Returns the command of a key event, or undefined where the key belongs to a text field or to the browser. `letters`:
 * keys without a modifier count (WCAG 2.1.4 wants that they can be switched off).
 */
export function commandOf(event: KeyboardEvent, letters: boolean): Command | undefined {
  if (event.defaultPrevented || event.altKey) return undefined;
  const target = event.target instanceof Element ? event.target : null;
  if (event.ctrlKey || event.metaKey) {
    if (!(isMac ? event.metaKey : event.ctrlKey)) return undefined;
    if (target?.closest("dialog")) return undefined;
    const key = `Mod ${event.shiftKey ? "shift " : ""}${event.key.toLowerCase()}`;
    const found = commands.find((command) => command.keys.includes(key));
    return found?.notInFields && isField(target) ? undefined : found;
  }
  if (!letters || isField(target)) return undefined;
  return commands.find((command) => command.keys.includes(event.key));
}
