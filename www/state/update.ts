/** Applies every action to the state of the page. Pure. */
import type { PassItem, RunDocument } from "../engine/protocol";
import { instrumentName } from "./instruments";
import { type Action, asView, type Editor, type Pane, type State, showsTypes } from "./model";

function withDocument(state: State, change: Partial<RunDocument>): State {
  const { files, ...document } = state.document;
  // An edited program or list is run; the files of another compiler no longer apply.
  const kept = files && !("source" in change || "passes" in change) ? { files } : {};
  return { ...state, document: { ...document, ...kept, ...change } };
}

/** The most notices at once: more would leave no room for the rest. */
const MOST_NOTICES = 4;

/** Returns the editor to show: the script if it asks to be run; in a lesson the one with its work. */
function editorFor(state: State, action: Action & { type: "open" }): Editor {
  if (action.trust === "ask") return "script";
  if (!action.lesson) return state.editor;
  return action.document.script.trim() ? "script" : "program";
}

/** Shows a pane: one that has all the room makes way for it. */
const toPane = ({ whole }: State, pane: Pane) => ({ pane, whole: whole && pane });

let lastRow = 0;
const freshRow = () => ++lastRow;
const freshRows = (passes: readonly PassItem[]) => passes.map(freshRow);

function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const copy = [...list];
  const [item] = copy.splice(from, 1);
  if (item !== undefined) copy.splice(to, 0, item);
  return copy;
}

/** Opens a program that came with the page, or one from elsewhere. */
function toExample(state: State, action: Action & { type: "example" }): State {
  const { id, source, script, optLevel } = action;
  const passes = action.passes?.map((call) => ({ call, enabled: true }));
  const { parent: _, files: __, ...rest } = state.document;
  const opened: RunDocument = {
    ...rest,
    source,
    ...(passes ? { passes } : {}),
    // It came with the page, so it may run.
    ...(script === undefined ? {} : { script }),
    ...(optLevel === undefined ? {} : { optLevel }),
  };
  return {
    ...state,
    document: opened,
    // A program from elsewhere is one's own.
    opened: id ? opened : null,
    rows: passes ? freshRows(passes) : state.rows,
    trust: script ? "own" : state.trust,
    example: id,
    lesson: "",
    step: "",
    folded: [],
    unfolded: [],
  };
}

/** Opens a document from elsewhere. */
function toOpened(state: State, action: Action & { type: "open" }): State {
  const { view, made: _, ...shared } = action.document;
  return {
    ...state,
    document: shared,
    opened: action.own ? null : shared,
    rows: freshRows(shared.passes),
    example: "",
    lesson: action.lesson ?? "",
    step: view.step,
    view: asView(view.view),
    // A link restores the view and its type comments.
    preferences: view.view
      ? { ...state.preferences, types: showsTypes(view.view) }
      : state.preferences,
    trust: action.trust,
    editor: editorFor(state, action),
    folded: [],
    unfolded: [],
  };
}

/** Shows the answer of the engine; that of a failed run leaves the last good one. */
function toAnswered(state: State, action: Action & { type: "answered" }): State {
  const answers = state.answers + 1;
  const good = action.run.ok
    ? {
        number: answers,
        document: action.document,
        sent: action.sent,
        rows: action.rows,
        run: action.run,
      }
    : state.good;
  return {
    ...state,
    answers,
    good,
    problems: action.run.problems,
    script: action.run.script ?? null,
    stale: !action.run.ok,
    gaveUp: "",
  };
}

/** Returns the state after an action, before its notices. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table, with an arm for each kind of action
function reduce(state: State, action: Action): State {
  const { document } = state;
  switch (action.type) {
    case "edit":
      if (action.source === document.source) return state;
      return { ...withDocument(state, { source: action.source }), example: "" };
    case "script": {
      const { script } = action;
      // An empty script has no author: text written into it is the user's own.
      const trust = action.trust ?? (script.trim() === "" ? "own" : state.trust);
      if (script === document.script) return trust === state.trust ? state : { ...state, trust };
      return { ...withDocument(state, { script }), trust };
    }
    case "trust":
      return { ...state, trust: action.trust };
    case "editor":
      return { ...state, editor: action.editor, ...toPane(state, "program") };
    case "example":
      return toExample(state, action);
    case "fork": {
      const { source, passes, parent } = action;
      const change = { source, passes, ...(parent ? { parent } : {}) };
      return { ...withDocument(state, change), rows: freshRows(passes), example: "" };
    }
    case "passes":
      return {
        ...withDocument(state, { passes: action.passes }),
        rows: freshRows(action.passes),
      };
    case "pipeline": {
      const passes = action.passes.map((call) => ({ call, enabled: true }));
      return {
        ...withDocument(state, { passes, optLevel: action.optLevel }),
        rows: freshRows(passes),
        folded: [],
        unfolded: [],
      };
    }
    case "toggle":
      return withDocument(state, {
        passes: document.passes.map((pass, row) =>
          row === action.row ? { ...pass, enabled: !pass.enabled } : pass,
        ),
      });
    case "move": {
      const { from, to } = action;
      const last = document.passes.length - 1;
      if (from === to || from < 0 || to < 0 || from > last || to > last) return state;
      return {
        ...withDocument(state, { passes: moved(document.passes, from, to) }),
        rows: moved(state.rows, from, to),
      };
    }
    case "remove":
      return {
        ...withDocument(state, {
          passes: document.passes.filter((_, row) => row !== action.row),
        }),
        rows: state.rows.filter((_, row) => row !== action.row),
      };
    case "add": {
      const passes = [...document.passes];
      passes.splice(action.at, 0, { call: action.call, enabled: true });
      const rows = [...state.rows];
      rows.splice(action.at, 0, freshRow());
      return { ...withDocument(state, { passes }), rows };
    }
    case "call":
      return withDocument(state, {
        passes: document.passes.map((pass, row) =>
          row === action.row ? { ...pass, call: action.call } : pass,
        ),
      });
    case "opt-level":
      return withDocument(state, { optLevel: action.level });
    case "required":
      return withDocument(state, { required: action.names });
    case "disabled":
      return withDocument(state, { disabled: action.names });
    case "config": {
      const config = { ...document.config };
      if (action.value === null) delete config[action.key];
      else config[action.key] = action.value;
      return withDocument(state, { config });
    }
    case "instrument": {
      const { name, call } = action;
      const old = document.instruments;
      const is = (one: string) => instrumentName(one) === name;
      if (call === null) return withDocument(state, { instruments: old.filter((one) => !is(one)) });
      // They are called in the order of the list: one whose arguments change keeps its place.
      const instruments = old.some(is) ? old.map((one) => (is(one) ? call : one)) : [...old, call];
      return withDocument(state, { instruments });
    }
    case "open":
      return toOpened(state, action);
    case "restore":
      return {
        ...state,
        document: action.document,
        opened: action.untouched ? action.document : null,
        rows: action.rows ?? freshRows(action.document.passes),
        example: action.example,
        lesson: action.lesson,
        step: action.step,
        view: action.view,
        trust: action.trust,
        folded: [],
        unfolded: [],
      };
    case "close-lesson":
      return { ...state, lesson: "" };
    case "step":
      return { ...state, step: action.id };
    case "filter":
      return { ...state, filter: action.text };
    case "func":
      return { ...state, func: action.name };
    case "view":
      return { ...state, view: action.view };
    case "fold": {
      const others = (ids: readonly string[]) => ids.filter((id) => id !== action.id);
      const [folded, unfolded] = [others(state.folded), others(state.unfolded)];
      return action.folded
        ? { ...state, folded: [...folded, action.id], unfolded }
        : { ...state, folded, unfolded: [...unfolded, action.id] };
    }
    case "prefer":
      return { ...state, preferences: { ...state.preferences, ...action.change } };
    case "catalogue":
      return { ...state, catalogue: action.catalogue };
    case "engine":
      return { ...state, engine: action.status };
    case "answered":
      return toAnswered(state, action);
    case "gave-up":
      return { ...state, gaveUp: action.message, stale: true };
    case "again":
      return { ...state, gaveUp: "" };
    case "notice": {
      const { notice } = action;
      const others = state.notices.filter((one) =>
        notice.action ? one.action !== notice.action : one.text !== notice.text,
      );
      return { ...state, notices: [...others, notice].slice(-MOST_NOTICES) };
    }
    case "dismiss":
      return { ...state, notices: state.notices.filter((one) => one !== action.notice) };
    case "pane":
      return { ...state, ...toPane(state, action.pane) };
    case "whole":
      return { ...state, whole: action.pane };
  }
}

/** Returns the state after an action. */
export function update(state: State, action: Action): State {
  const after = reduce(state, action);
  if (after.document === state.document) return after;
  // An offer to undo one change must not undo the next, and messages about one document do not fit another.
  const other = ["open", "example", "restore"].includes(action.type);
  const notices = after.notices.filter(({ action: act, tone }) =>
    other ? tone === "error" || (act && act !== "undo") : act !== "undo",
  );
  // The engine may have been given up because of the old document.
  return { ...after, notices, gaveUp: "" };
}
