/**
 * Undoes and redoes changes of the whole state: the program, the list, the context and the user's passes. Continuous
 * typing is one step.
 */
import { createSignal } from "solid-js";
import type { RunDocument } from "../engine/protocol";
import type { State } from "./model";
import type { Store } from "./store";

/** The state as far as an undo brings it back. */
type Moment = Pick<
  State,
  "document" | "opened" | "rows" | "example" | "lesson" | "step" | "view" | "trust"
>;

/** The origin of a document: typing in an editor, a choice in the list or context, or a whole document. */
type Kind = "source" | "script" | "list" | "whole";

/** The longest pause in milliseconds within one step of typing. */
const PAUSE = 1000;
/** The limits of undoing: steps, and characters of all programs and scripts in them. */
const MOST_STEPS = 200;
const MOST_TEXT = 20_000_000;

export function momentOf(state: State): Moment {
  const { document, opened, rows, example, lesson, step, view, trust } = state;
  return { document, opened, rows, example, lesson, step, view, trust };
}

function kindOf(before: RunDocument, after: RunDocument): Kind {
  const differs = (Object.keys({ ...before, ...after }) as (keyof RunDocument)[]).filter(
    (key) => before[key] !== after[key],
  );
  // A trace makes way when its program or its list is edited: that is an edit like any other.
  const [only, more] = differs.filter((key) => key !== "files");
  if (more === undefined && (only === "source" || only === "script")) return only;
  return differs.includes("source") || differs.includes("script") ? "whole" : "list";
}

/** True if an edit continues at the end of the one before it, as typing and deleting do. */
function goesOn(before: string, after: string): boolean {
  return Math.abs(before.length - after.length) <= 2 && !/\n/.test(after.slice(-1));
}

export function createHistory({ state, dispatch, onChange }: Store, now = Date.now) {
  let past: { moment: Moment; kind: Kind }[] = [];
  let future: { moment: Moment; kind: Kind }[] = [];
  let last: { kind: Kind; at: number } | null = null;
  let travelling = false;
  const [depth, setDepth] = createSignal<readonly [undo: number, redo: number]>([0, 0], {
    equals: (a, b) => a[0] === b[0] && a[1] === b[1],
  });
  const told = () => setDepth([past.length, future.length]);

  const lengthOf = ({ moment }: { moment: Moment }) =>
    moment.document.source.length + moment.document.script.length;

  function trim(): void {
    past = past.slice(-MOST_STEPS);
    let size = past.reduce((sum, one) => sum + lengthOf(one), 0);
    while (size > MOST_TEXT && past.length > 1) size -= lengthOf(past.shift() as (typeof past)[0]);
  }

  onChange((after, before) => {
    if (travelling || after.document === before.document) return;
    // Before the page has shown a document there is nothing to go back to.
    if (before.rows.length === 0 && before.document.source === "") return;
    const kind = kindOf(before.document, after.document);
    const text = kind === "source" || kind === "script" ? kind : null;
    const resumed =
      text !== null &&
      last?.kind === text &&
      now() - last.at < PAUSE &&
      goesOn(before.document[text], after.document[text]);
    if (!resumed) past.push({ moment: momentOf(before), kind });
    last = { kind, at: now() };
    future = [];
    trim();
    told();
  });

  /** Shows an earlier or later state. Keeps the selected step and view if only a text or the list changed. */
  function travel(from: typeof past, to: typeof past): boolean {
    const target = from.pop();
    if (!target) return false;
    const here = momentOf(state());
    to.push({ moment: here, kind: target.kind });
    const looked = target.kind === "whole" ? target.moment : here;
    const { document, opened, example, lesson, trust, rows } = target.moment;
    travelling = true;
    dispatch({
      type: "restore",
      document,
      example,
      lesson,
      rows,
      trust,
      step: looked.step,
      view: looked.view,
      untouched: document === opened,
    });
    travelling = false;
    last = null;
    told();
    return true;
  }

  return {
    undo: () => travel(past, future),
    redo: () => travel(future, past),
    /** The numbers of steps back and forth. */
    depth,
  };
}
