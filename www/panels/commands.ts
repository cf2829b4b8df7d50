/** Every command of the page that has a key: the `?` sheet, the key handler and the tests all read this one list. */

import type { Controller } from "../state/controller";
import type { View } from "../state/model";

export interface Command {
  id: string;
  /** `KeyboardEvent.key` values. */
  keys: string[];
  title: string;
  group: "Steps" | "Result" | "Program and passes" | "Page";
  run(app: Controller): void;
}

const view = (name: View) => (app: Controller) => app.dispatch({ type: "view", view: name });
/** Where the page hears of commands that only a panel can carry out. */
export const panelCommands = new EventTarget();
const panel = (name: string) => () => panelCommands.dispatchEvent(new Event(name));

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
    run: (app) =>
      app.dispatch({
        type: "prefer",
        change: { changedOnly: !app.state().preferences.changedOnly },
      }),
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
  { id: "diff", keys: ["1"], title: "Diff", group: "Result", run: view("diff") },
  { id: "texts", keys: ["2"], title: "Before and after", group: "Result", run: view("before") },
  { id: "values", keys: ["3"], title: "Values", group: "Result", run: view("values") },
  { id: "timing", keys: ["4"], title: "Timing", group: "Result", run: view("timing") },
  {
    id: "split",
    keys: ["s"],
    title: "Unified or side by side",
    group: "Result",
    run: (app) =>
      app.dispatch({ type: "prefer", change: { split: !app.state().preferences.split } }),
  },
  {
    id: "types",
    keys: ["t"],
    title: "Show or hide type comments",
    group: "Result",
    run: (app) =>
      app.dispatch({ type: "prefer", change: { types: !app.state().preferences.types } }),
  },
  {
    id: "wrap",
    keys: ["w"],
    title: "Break long lines or not",
    group: "Result",
    run: (app) => app.dispatch({ type: "prefer", change: { wrap: !app.state().preferences.wrap } }),
  },
  {
    id: "next-hunk",
    keys: ["]"],
    title: "Next change in the diff",
    group: "Result",
    run: panel("next-hunk"),
  },
  {
    id: "previous-hunk",
    keys: ["["],
    title: "Previous change in the diff",
    group: "Result",
    run: panel("previous-hunk"),
  },
  {
    id: "edit",
    keys: ["e"],
    title: "Go to the program (Escape leaves it)",
    group: "Program and passes",
    run: panel("edit"),
  },
  {
    id: "script",
    keys: ["m"],
    title: "Go to my passes",
    group: "Program and passes",
    run: panel("script"),
  },
  {
    id: "add",
    keys: ["a"],
    title: "Add a pass",
    group: "Program and passes",
    run: panel("add"),
  },
  { id: "share", keys: ["."], title: "Share", group: "Page", run: panel("share") },
  { id: "help", keys: ["?"], title: "This sheet", group: "Page", run: panel("help") },
];

/** Keys that work inside of one panel; the sheet lists them too. */
export const localKeys: readonly { keys: string; title: string }[] = [
  { keys: "Escape", title: "Leave the program or my passes" },
  { keys: "Ctrl Space", title: "My passes: what can be written here" },
  { keys: "↑ ↓ Home End", title: "Steps: go through the list" },
  { keys: "← →", title: "Steps: fold and unfold" },
  { keys: "Alt ↑ Alt ↓", title: "Passes: move a pass up or down" },
  { keys: "Delete", title: "Passes: remove a pass" },
  { keys: "Ctrl F", title: "Program, my passes: search" },
];

/** The command of a key event, or undefined where the key belongs to a text field or to the browser. */
export function commandOf(event: KeyboardEvent): Command | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return undefined;
  const target = event.target;
  if (target instanceof Element) {
    const field = target.closest("input, textarea, select, [contenteditable], dialog, [popover]");
    const plain =
      field instanceof HTMLInputElement && (field.type === "checkbox" || field.type === "radio");
    if (field && !plain) return undefined;
  }
  return commands.find((command) => command.keys.includes(event.key));
}
