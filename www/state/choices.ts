/** Choices that take the place of something, each with a way back. */

import type { SharedDocument } from "../engine/protocol";
import { examples, firstExample, textsOf } from "../examples";
import { type Sample, scriptOf } from "../user/samples";
import { callName, matchingPipeline, runnable } from "./calls";
import type { Action, Notice, State, Trust } from "./model";
import type { Draft } from "./persist";

/** Long enough to be read and reached by keyboard. */
const UNDO_FOR = 20_000;

export function createChoices({
  state,
  dispatch,
  draft,
  restore,
}: {
  state(): State;
  dispatch(action: Action): void;
  /** What is worked on at the moment. */
  draft(): Draft;
  restore(kept: Draft): void;
}) {
  /** What an example, a pipeline or a removal took away, so that a slip of the hand loses nothing. */
  let before: Draft | null = null;

  function offerUndo(from: Draft, text: string): void {
    before = from;
    const notice: Notice = { tone: "info", text, action: "undo", label: "Undo" };
    dispatch({ type: "notice", notice });
    setTimeout(() => {
      if (state().notice === notice) dispatch({ type: "notice", notice: null });
    }, UNDO_FOR);
  }

  /** The passes to go with a program when one in the list is of the other dialect only: it would not run. */
  function fitting(
    example: Pick<(typeof examples)[number], "dialect" | "passes">,
  ): readonly string[] | undefined {
    const wanted = example.passes ?? firstExample.passes;
    const { catalogue, document } = state();
    const dialects = (call: string) =>
      catalogue?.passes
        .filter((pass) => pass.name === callName(call) || pass.infoName === callName(call))
        .flatMap((pass) => pass.dialects) ?? [];
    const dialect = example.dialect ?? "relay";
    const fits = document.passes.every(({ call }) => {
      const known = dialects(call);
      return known.length === 0 || known.includes(dialect);
    });
    return fits ? undefined : wanted;
  }

  /** What is being fetched; null when it was overtaken. */
  let wanted: string | null = null;

  /** Gives what was fetched, unless something else was opened meanwhile. */
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

  async function openExample(id: string): Promise<void> {
    const example = examples.find((item) => item.id === id);
    const texts = example && (await fetched(example.title, textsOf(example)));
    if (!texts) return;
    const { source, script } = texts;
    const own = state().example === "" && state().document.source.trim() !== "";
    const old = draft();
    // Passes of the example's own script come with it.
    const lost = script && ![script, ""].includes(state().document.script);
    const passes = script ? example.passes : fitting(example);
    if (script) dispatch({ type: "script", script, trust: "own" });
    dispatch({ type: "example", id, source, ...(passes ? { passes } : {}) });
    if (own || lost) offerUndo(old, `${example.title} took the place of your program.`);
    else if (state().notice?.action === "undo") dispatch({ type: "notice", notice: null });
  }

  /** A program from elsewhere, and passes of its dialect. */
  function openProgram(source: string, dialect: "relay" | "relax", name: string): void {
    wanted = null;
    const old = draft();
    const example = examples.find((item) => (item.dialect ?? "relay") === dialect);
    const passes = fitting(example ?? firstExample);
    dispatch({ type: "example", id: "", source, ...(passes ? { passes } : {}) });
    if (old.document.source.trim() !== "") offerUndo(old, `${name} is open now.`);
  }

  /** A whole document from elsewhere; its script was judged. */
  function openDocument(document: SharedDocument, trust: Trust, name: string): void {
    wanted = null;
    const old = draft();
    dispatch({ type: "open", document, trust });
    if (old.document.source.trim() !== "") offerUndo(old, `${name} is open now.`);
  }

  /** A sample takes the place of the script; it came with the page, so it may run. */
  async function openSample({ id, title }: Sample): Promise<void> {
    const script = await fetched(title, scriptOf(id));
    if (script === null) return;
    const own = state().document.script.trim() !== "";
    const old = draft();
    dispatch({ type: "script", script, trust: "own" });
    if (own) offerUndo(old, `${title} took the place of your passes.`);
  }

  /** A version takes the place of the program, and the passes that came after it stay. */
  function fork(source: string, row: number, name: string, parent: string): void {
    const old = draft();
    const passes = state().document.passes.slice(row + 1);
    dispatch({ type: "fork", source, passes, parent });
    offerUndo(old, `The program is now what ${name} made; the passes after it are left.`);
  }

  function removePass(row: number): void {
    const pass = state().document.passes[row];
    if (!pass) return;
    const old = draft();
    dispatch({ type: "remove", row });
    offerUndo(old, `${pass.call} was removed.`);
  }

  function choosePipeline(name: string): void {
    const { catalogue, document } = state();
    const pipeline = catalogue?.pipelines.find((item) => item.name === name);
    if (!pipeline) return;
    const own = document.passes.length > 0 && !matchingPipeline(catalogue, document);
    const old = draft();
    dispatch({ type: "pipeline", passes: runnable(pipeline), optLevel: pipeline.optLevel });
    if (own) offerUndo(old, `${pipeline.title || name} took the place of your passes.`);
  }

  return {
    openExample,
    openProgram,
    openDocument,
    openSample,
    choosePipeline,
    removePass,
    fork,
    undo() {
      if (before) restore(before);
    },
  };
}
