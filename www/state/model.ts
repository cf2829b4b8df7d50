/**
 * The whole state of the page as one immutable value, and the names of all ways in which it can change (`update.ts` says how).
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

export type View = "diff" | "before" | "graph" | "values" | "timing" | "schedule";
export type Theme = "system" | "light" | "dark";
export type Pane = "program" | "passes" | "result";
/** The text that the first pane edits. */
export type Editor = "program" | "script";

/**
 * Says if the script may run. `own` was written or allowed here; `ask` came in a link and waits for a decision; `held`
 * came in a link and is kept without being run. An edit changes none of that.
 */
export type Trust = "own" | "ask" | "held";

/** The settings of the page's appearance: kept between visits, never part of a link. */
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
  /** The action of the notice's button, if it has one. Each action has at most one notice at a time. */
  action: "back" | "open-recovered" | "reload" | "undo" | null;
  label: string;
}

/** A run that went through, with the document that it belongs to. */
export interface Good {
  number: number;
  document: RunDocument;
  /** The part of the document that was sent: without the script if that may not run. */
  sent: RunDocument;
  rows: readonly number[];
  run: Run;
}

export interface State {
  document: RunDocument;
  /** The document as it was opened, if it was; an unedited one does not count as the user's own work. */
  opened: RunDocument | null;
  /** One number per row of the pass list that stays with the row when it moves or changes. */
  rows: readonly number[];
  /** The example that the program came from, empty once it is edited. */
  example: string;
  /** The lesson that is open above the program, or empty. */
  lesson: string;
  /** Id of the step that was picked; it stays picked while a run lacks it. Empty: show the most interesting one. */
  step: string;
  view: View;
  editor: Editor;
  trust: Trust;
  /** The report of the newest run on the script. */
  script: ScriptReport | null;
  /** The text that the names of the listed steps must contain; empty for all steps. */
  filter: string;
  /** The function of the module whose steps are gone through; empty for all. */
  func: string;
  /** Ids of steps: those with no nested steps shown, and those with all shown, unchanged ones too. */
  folded: readonly string[];
  unfolded: readonly string[];
  preferences: Preferences;
  catalogue: Catalogue | null;
  engine: Status;
  good: Good | null;
  /** Problems of the newest answer; they belong to the document it was asked for. */
  problems: readonly Problem[];
  /** True if the program has errors, so that the screen shows an earlier one. */
  stale: boolean;
  /** The engine gave up on the present document; why. */
  gaveUp: string;
  /** Number of the newest answer, good or not. */
  answers: number;
  /** The messages of the page, the oldest first; each stays until it is dismissed or void. */
  notices: readonly Notice[];
  pane: Pane;
  /** The pane that has all the room; null while they share it. */
  whole: Pane | null;
}

export type Action =
  | { type: "edit"; source: string }
  | { type: "script"; script: string; trust?: Trust }
  | { type: "trust"; trust: Trust }
  | { type: "editor"; editor: Editor }
  /** With passes when those that are in the list are for the other dialect, with a script when it has one. */
  | {
      type: "example";
      id: string;
      source: string;
      passes?: readonly string[];
      script?: string;
      optLevel?: number;
    }
  | { type: "passes"; passes: PassItem[] }
  | { type: "pipeline"; passes: string[]; optLevel: number }
  /** A version becomes the program, with the passes after it; `parent` is the program before. */
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
  /** `own`: it is nowhere else to be had. */
  | { type: "open"; document: SharedDocument; trust: Trust; lesson?: string; own?: boolean }
  /** Closes the lesson; its program stays. */
  | { type: "close-lesson" }
  | {
      type: "restore";
      document: RunDocument;
      example: string;
      lesson: string;
      step: string;
      view: View;
      trust: Trust;
      untouched: boolean;
      rows?: readonly number[];
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
  /** Tries again after the engine was given up. */
  | { type: "again" }
  | { type: "notice"; notice: Notice }
  | { type: "dismiss"; notice: Notice }
  | { type: "pane"; pane: Pane }
  | { type: "whole"; pane: Pane | null };

export const defaultPreferences: Preferences = {
  theme: "system",
  split: false,
  wrap: true,
  types: false,
  changedOnly: false,
  nested: true,
  phases: false,
  letters: true,
  widths: [300, 260],
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
  opened: null,
  rows: [],
  example: "",
  lesson: "",
  step: "",
  view: "diff",
  editor: "program",
  trust: "own",
  script: null,
  filter: "",
  func: "",
  folded: [],
  unfolded: [],
  preferences: defaultPreferences,
  catalogue: null,
  engine: { phase: "starting", message: "", job: null },
  good: null,
  problems: [],
  stale: false,
  gaveUp: "",
  answers: 0,
  notices: [],
  pane: "program",
  whole: null,
};

const views: readonly string[] = ["diff", "before", "graph", "values", "timing", "schedule"];

/** Returns the words of a link for the view: its name, followed by `types` if type comments are shown. */
export const asWords = (view: View, types: boolean): string => (types ? `${view} types` : view);

/** True if the view of a link shows the type comments. */
export const showsTypes = (words: string): boolean => words.split(" ").includes("types");

/** Reads a view from a link or from storage; an unknown one is the diff. `after` is the other half of `before`. */
export function asView(words: string): View {
  const [name = ""] = words.split(" ");
  if (name === "after") return "before";
  return views.includes(name) ? (name as View) : "diff";
}

/** True if the document is the user's own: not empty, and not as it was opened. */
export function isOwnWork({ document, opened }: State): boolean {
  return document !== opened && `${document.source}${document.script}`.trim() !== "";
}

/** Returns the problems of the script; none unless it may run. */
export function scriptProblems({ document, trust, script }: State): readonly Problem[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.problems ?? []);
}

/** Returns the passes that the script defines, as far as it is run. */
export function scriptPasses({ document, trust, script }: State): readonly UserPass[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.passes ?? []);
}

/** Returns the instruments that the script defines, as far as it is run. */
export function scriptInstruments({ document, trust, script }: State): readonly UserInstrument[] {
  return document.script.trim() === "" || trust !== "own" ? [] : (script?.instruments ?? []);
}

/** Returns the document and the view as a link carries them. */
export function toShared(
  state: State,
  step: string,
  made: Made = { engine: "", result: "" },
): SharedDocument {
  const view = asWords(state.view, state.preferences.types);
  return { ...state.document, view: { step, view }, made };
}
