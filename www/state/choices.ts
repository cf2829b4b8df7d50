/** Choices that replace the document or a part of it, each with a way back. */

import { findStep } from "../engine/chosen";
import { examples, firstExample, textsOf } from "../examples";
import { type Sample, scriptOf } from "../user/samples";
import { callName, matchingPipeline, runnable } from "./calls";
import type { State } from "./model";
import type { Store } from "./store";

/** Long enough to be read and reached by keyboard. */
const UNDO_FOR = 20_000;

interface Choosing {
  store: Store;
  /** Keeps a copy of the user's own work before the named document replaces it. */
  copy(what: string): void;
  /** Called before another document is opened. */
  leave(): void;
}

/** Offers the way back from a choice for a while. */
function createUndo({ dispatch }: Store) {
  return (text: string): void => {
    const notice = { tone: "info", text, action: "undo", label: "Undo" } as const;
    dispatch({ type: "notice", notice });
    setTimeout(() => dispatch({ type: "dismiss", notice }), UNDO_FOR);
  };
}

/** Finds the passes that go with a program. */
function createFitting({ state }: Store) {
  /** Returns the dialects that a pass works on. */
  const dialects = (call: string) =>
    state()
      .catalogue?.passes.filter(
        (pass) => pass.name === callName(call) || pass.infoName === callName(call),
      )
      .flatMap((pass) => pass.dialects) ?? [];

  /** Returns passes of a dialect, unless those in the list are of it. */
  const passesOf = (dialect: "relay" | "relax") =>
    fitting(examples.find((item) => (item.dialect ?? "relay") === dialect) ?? firstExample);

  /** Returns the passes to go with a program when one in the list is of the other dialect only: it would not run. */
  function fitting(
    example: Pick<(typeof examples)[number], "dialect" | "passes">,
  ): readonly string[] | undefined {
    const wanted = example.passes ?? firstExample.passes;
    const { document } = state();
    const dialect = example.dialect ?? "relay";
    const fits = document.passes.every(({ call }) => {
      const known = dialects(call);
      return known.length === 0 || known.includes(dialect);
    });
    return fits ? undefined : wanted;
  }

  /** True if the list may stay with an example: no schedule of other functions, no script's pass that ran on the other dialect. */
  function isGeneral(example: Pick<(typeof examples)[number], "dialect">): boolean {
    const { document, good } = state();
    const same = good?.run.dialect === (example.dialect ?? "relay");
    return document.passes.every(
      ({ call }) => callName(call) !== "Schedule" && (same || dialects(call).length > 0),
    );
  }
  return { passesOf, fitting, isGeneral };
}

/** Changes the list of passes. */
function createPassChoices(
  { store: { state, dispatch }, copy }: Choosing,
  { passesOf }: ReturnType<typeof createFitting>,
  offerUndo: (text: string) => void,
) {
  /** Takes passes of the other dialect: those in the list are not of the program's. */
  function takeFitting(): void {
    const fits = passesOf("relay") ?? passesOf("relax");
    if (!fits) return;
    dispatch({ type: "passes", passes: fits.map((call) => ({ call, enabled: true })) });
    offerUndo("The passes are of the program's dialect now.");
  }

  function removePass(row: number): void {
    const pass = state().document.passes[row];
    if (!pass) return;
    dispatch({ type: "remove", row });
    offerUndo(`${pass.call} was removed.`);
  }

  /** Adds a pass behind the selected step, or else at the end, and shows its step. */
  function addPass(call: string): void {
    const { document, step, good } = state();
    const steps = good?.run.steps ?? [];
    const picked = step ? steps[findStep(steps, step)] : undefined;
    const at = picked && picked.row >= 0 ? picked.row + 1 : document.passes.length;
    dispatch({ type: "add", call, at });
    const name = callName(call);
    const before = document.passes.slice(0, at).filter((pass) => callName(pass.call) === name);
    dispatch({ type: "step", id: `${name}#${before.length + 1}` });
  }

  function choosePipeline(name: string): void {
    const { catalogue, document } = state();
    const pipeline = catalogue?.pipelines.find((item) => item.name === name);
    if (!pipeline) return;
    const own = document.passes.length > 0 && !matchingPipeline(catalogue, document);
    if (own) copy(`${pipeline.title || name} was chosen`);
    dispatch({ type: "pipeline", passes: runnable(pipeline), optLevel: pipeline.optLevel });
    if (own) offerUndo(`${pipeline.title || name} took the place of your passes.`);
  }

  return { takeFitting, removePass, addPass, choosePipeline };
}

export function createChoices(given: Choosing) {
  const {
    store: { state, dispatch },
    copy,
    leave,
  } = given;
  const offerUndo = createUndo(given.store);
  const fits = createFitting(given.store);
  const { passesOf, fitting, isGeneral } = fits;

  /** The title being fetched; null after a later request overtook it. */
  let wanted: string | null = null;

  /** Returns the fetched texts, unless another document was opened meanwhile. */
  async function fetched<T>(title: string, texts: Promise<T>): Promise<T | null> {
    wanted = title;
    try {
      const found = await texts;
      return wanted === title ? found : null;
    } catch {
      const text = `${title} could not be loaded. Is there a network?`;
      dispatch({ type: "notice", notice: { tone: "error", text, action: null, label: "" } });
      return null;
    }
  }

  /** True if the user wrote or opened the program: more than another list of passes over an example. */
  const isEdited = ({ example, document }: State) =>
    example === "" && document.source.trim() !== "";

  async function openExample(id: string): Promise<void> {
    const example = examples.find((item) => item.id === id);
    const texts = example && (await fetched(example.title, textsOf(example)));
    if (!texts) return;
    const { source, script, schedule } = texts;
    const own = isEdited(state());
    // Passes of the example's own script come with it.
    const lost = script && ![script, ""].includes(state().document.script);
    // Without its schedule there is nothing to see at a program that is to be scheduled.
    const takes = script || example.group === "Schedules";
    const stays = isGeneral(example);
    const listed = stays ? fitting(example) : (example.passes ?? firstExample.passes);
    const passes = schedule ? [schedule] : takes ? example.passes : listed;
    copy(`${example.title} was opened`);
    leave();
    dispatch({
      type: "example",
      id,
      source,
      ...(passes ? { passes } : {}),
      ...(script ? { script } : {}),
    });
    if (schedule) dispatch({ type: "view", view: "schedule" });
    else if (!stays && state().view === "schedule") dispatch({ type: "view", view: "diff" });
    if (own || lost) offerUndo(`${example.title} took the place of your program.`);
  }

  /** Opens a program from elsewhere, with passes of its dialect. */
  function openProgram(source: string, dialect: "relay" | "relax", name: string): void {
    wanted = null;
    const old = state().document.source;
    const passes = passesOf(dialect);
    copy(`${name} was opened`);
    leave();
    dispatch({ type: "example", id: "", source, ...(passes ? { passes } : {}) });
    if (old.trim() !== "") offerUndo(`${name} is open now.`);
  }

  /** Replaces the script by a sample; it came with the page, so it may run. */
  async function openSample({ id, title }: Sample): Promise<void> {
    const script = await fetched(title, scriptOf(id));
    if (script === null) return;
    const own = state().document.script.trim() !== "";
    if (own) copy(`The sample ${title} was opened`);
    dispatch({ type: "script", script, trust: "own" });
    if (own) offerUndo(`${title} took the place of your passes.`);
  }

  /** Replaces the program by a version, and keeps the passes that came after it. */
  function fork(source: string, row: number, name: string, parent: string): void {
    const passes = state().document.passes.slice(row + 1);
    copy(`The result of ${name} became the program`);
    leave();
    dispatch({ type: "fork", source, passes, parent });
    offerUndo(`The program is now what ${name} made; the passes after it are left.`);
  }

  return {
    offerUndo,
    openExample,
    openProgram,
    openSample,
    fork,
    list: createPassChoices(given, fits, offerUndo),
    /** Drops the fetch under way, because another document is opened. */
    overtake(): void {
      wanted = null;
    },
  };
}
