/**
 * The whole state of the page as one immutable value, and every way in which it can change.
 * Nothing here touches the browser; `persist.ts` keeps the part worth keeping and the panels draw it.
 */
import type { Status } from "../engine/client";
import type {
  Catalogue,
  Made,
  PassItem,
  Problem,
  Run,
  RunDocument,
  ScriptReport,
  SharedDocument,
  UserInstrument,
  UserPass,
} from "../engine/protocol";
import { instrumentName } from "./instruments";

export type View = "diff" | "before" | "graph" | "values" | "timing";
export type Theme = "system" | "light" | "dark";
export type Pane = "program" | "passes" | "result";
/** What the first pane edits. */
export type Editor = "program" | "script";

/**
 * Whether the script may run. `own` was written or allowed here; `ask` came in a link and waits for a decision;
 * `held` came in a link and is kept without being run. An edit changes none of that.
 */
export type Trust = "own" | "ask" | "held";

/** How the page looks: kept between visits, never part of a link. */
export interface Preferences {
  theme: Theme;
  split: boolean;
  wrap: boolean;
  types: boolean;
  changedOnly: boolean;
  /** False hides steps that ran inside of, or on behalf of, a listed pass, unless they failed. */
  nested: boolean;
  /** Groups the passes by the phase of compilation that they belong to. */
  phases: boolean;
  /** Single-letter shortcuts may be switched off (WCAG 2.1.4). */
  letters: boolean;
  /** Widths of the first and second pane, in thousandths of the window. */
  widths: [number, number];
  hint: boolean;
  /** After so many seconds without an answer, a script is stopped. */
  patience: number;
}

export interface Notice {
  tone: "info" | "error";
  text: string;
  /** What the notice's button does, if it has one. */
  action: "restore" | "open-recovered" | "reload" | "revive" | "retry" | "undo" | null;
  label: string;
}

/** A run that went through, with the document that it belongs to. */
export interface Good {
  number: number;
  document: RunDocument;
  /** What of the document was sent: without the script, where that may not run. */
  sent: RunDocument;
  rows: readonly number[];
  run: Run;
}

export interface State {
  document: RunDocument;
  /** One number per row of the pass list that stays with the row when it moves or changes. */
  rows: readonly number[];
  /** The example that the program came from, empty once it is edited. */
  example: string;
  /** Id of the step that was picked; it stays picked while a run lacks it. Empty: show the most interesting one. */
  step: string;
  view: View;
  editor: Editor;
  trust: Trust;
  /** What the newest run said of the script. */
  script: ScriptReport | null;
  /** What the names of the listed steps must hold; empty for all. */
  filter: string;
  /** The function of the module whose steps are gone through; empty for all. */
  func: string;
  /** Step ids whose nested steps are folded away. */
  folded: readonly string[];
  preferences: Preferences;
  catalogue: Catalogue | null;
  engine: Status;
  good: Good | null;
  /** Problems of the newest answer; they belong to the document it was asked for. */
  problems: readonly Problem[];
  /** The program has errors, so what is on the screen belongs to an earlier one. */
  stale: boolean;
  /** The engine gave up on the present document; why. */
  gaveUp: string;
  /** Number of the newest answer, good or not. */
  answers: number;
  notice: Notice | null;
  pane: Pane;
}

export type Action =
  | { type: "edit"; source: string }
  | { type: "script"; script: string; trust?: Trust }
  | { type: "trust"; trust: Trust }
  | { type: "editor"; editor: Editor }
  /** With passes when those that are in the list are for the other dialect. */
  | { type: "example"; id: string; source: string; passes?: readonly string[] }
  | { type: "passes"; passes: PassItem[] }
  | { type: "pipeline"; passes: string[]; optLevel: number }
  /** A version becomes the program, with the passes after it; `parent` is what it was before. */
  | { type: "fork"; source: string; passes: PassItem[]; parent: string }
  | { type: "toggle"; row: number }
  | { type: "move"; from: number; to: number }
  | { type: "remove"; row: number }
  | { type: "add"; call: string; at: number }
  | { type: "call"; row: number; call: string }
  | { type: "opt-level"; level: number }
  | { type: "required"; names: string[] }
  | { type: "disabled"; names: string[] }
  | { type: "config"; key: string; value: string | null }
  /** Switches an instrument on, with these arguments, or off. */
  | { type: "instrument"; name: string; call: string | null }
  | { type: "open"; document: SharedDocument; trust: Trust }
  | {
      type: "restore";
      document: RunDocument;
      example: string;
      step: string;
      view: View;
      trust: Trust;
    }
  | { type: "step"; id: string }
  | { type: "filter"; text: string }
  | { type: "func"; name: string }
  | { type: "view"; view: View }
  | { type: "fold"; id: string; folded: boolean }
  | { type: "prefer"; change: Partial<Preferences> }
  | { type: "catalogue"; catalogue: Catalogue }
  | { type: "engine"; status: Status }
  | {
      type: "answered";
      document: RunDocument;
      sent: RunDocument;
      rows: readonly number[];
      run: Run;
    }
  | { type: "gave-up"; message: string }
  | { type: "notice"; notice: Notice | null }
  | { type: "pane"; pane: Pane };

export const defaultPreferences: Preferences = {
  theme: "system",
  split: false,
  wrap: true,
  types: true,
  changedOnly: false,
  nested: true,
  phases: false,
  letters: true,
  widths: [320, 240],
  hint: true,
  patience: 5,
};

export const emptyDocument: RunDocument = {
  source: "",
  passes: [],
  optLevel: 2,
  required: [],
  disabled: [],
  config: {},
  instruments: [],
  script: "",
};

export const initial: State = {
  document: emptyDocument,
  rows: [],
  example: "",
  step: "",
  view: "diff",
  editor: "program",
  trust: "own",
  script: null,
  filter: "",
  func: "",
  folded: [],
  preferences: defaultPreferences,
  catalogue: null,
  engine: { phase: "starting", message: "", job: null },
  good: null,
  problems: [],
  stale: false,
  gaveUp: "",
  answers: 0,
  notice: null,
  pane: "program",
};

const views: readonly string[] = ["diff", "before", "graph", "values", "timing"];

/** A view from a link or from storage; what is not known shows the diff. `after` is the other half of `before`. */
export function asView(name: string): View {
  if (name === "after") return "before";
  return views.includes(name) ? (name as View) : "diff";
}

function withDocument(state: State, change: Partial<RunDocument>): State {
  const { files, ...document } = state.document;
  // Another program or other passes are to be run; files say what was run elsewhere.
  const kept = files && !("source" in change || "passes" in change) ? { files } : {};
  return { ...state, document: { ...document, ...kept, ...change } };
}

let lastRow = 0;
const freshRow = () => ++lastRow;
const freshRows = (passes: readonly PassItem[]) => passes.map(freshRow);

function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const copy = [...list];
  const [item] = copy.splice(from, 1);
  if (item !== undefined) copy.splice(to, 0, item);
  return copy;
}

export function update(state: State, action: Action): State {
  const { document } = state;
  switch (action.type) {
    case "edit":
      if (action.source === document.source) return state;
      return { ...withDocument(state, { source: action.source }), example: "" };
    case "script": {
      const { script } = action;
      // Nothing is anybody's: what is written into an empty editor is one's own.
      const trust = action.trust ?? (script.trim() === "" ? "own" : state.trust);
      if (script === document.script) return trust === state.trust ? state : { ...state, trust };
      return { ...withDocument(state, { script }), trust };
    }
    case "trust":
      return { ...state, trust: action.trust };
    case "editor":
      return { ...state, editor: action.editor, pane: "program" };
    case "example": {
      const passes = action.passes?.map((call) => ({ call, enabled: true }));
      const { parent: _, ...rest } = state.document;
      return {
        ...withDocument(
          { ...state, document: rest },
          passes ? { source: action.source, passes } : { source: action.source },
        ),
        ...(passes ? { rows: freshRows(passes) } : {}),
        example: action.id,
        step: "",
        folded: [],
      };
    }
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
    case "open": {
      const { view, made: _, ...shared } = action.document;
      return {
        ...state,
        document: shared,
        rows: freshRows(shared.passes),
        example: "",
        step: view.step,
        view: asView(view.view),
        trust: action.trust,
        // Code that asks to be run is shown.
        editor: action.trust === "ask" ? "script" : state.editor,
        folded: [],
      };
    }
    case "restore":
      return {
        ...state,
        document: action.document,
        rows: freshRows(action.document.passes),
        example: action.example,
        step: action.step,
        view: action.view,
        trust: action.trust,
        folded: [],
      };
    case "step":
      return { ...state, step: action.id };
    case "filter":
      return { ...state, filter: action.text };
    case "func":
      return { ...state, func: action.name };
    case "view":
      return { ...state, view: action.view };
    case "fold": {
      const rest = state.folded.filter((id) => id !== action.id);
      return { ...state, folded: action.folded ? [...rest, action.id] : rest };
    }
    case "prefer":
      return { ...state, preferences: { ...state.preferences, ...action.change } };
    case "catalogue":
      return { ...state, catalogue: action.catalogue };
    case "engine":
      return { ...state, engine: action.status };
    case "answered": {
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
    case "gave-up":
      return { ...state, gaveUp: action.message, stale: true };
    case "notice":
      return { ...state, notice: action.notice };
    case "pane":
      return { ...state, pane: action.pane };
  }
}

/** What is wrong with the script, as far as it is run. */
export function scriptProblems({ document, trust, script }: State): readonly Problem[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.problems ?? []);
}

/** The passes that the script defines, as far as it is run. */
export function scriptPasses({ document, trust, script }: State): readonly UserPass[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.passes ?? []);
}

/** The instruments that the script defines, as far as it is run. */
export function scriptInstruments({ document, trust, script }: State): readonly UserInstrument[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.instruments ?? []);
}

/** The document and the view as a link carries them. */
export function toShared(
  state: State,
  step: string,
  made: Made = { engine: "", result: "" },
): SharedDocument {
  return { ...state.document, view: { step, view: state.view }, made };
}
