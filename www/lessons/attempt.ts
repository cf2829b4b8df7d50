/** Follows the learner's attempt at the open lesson: loads its texts, judges each new answer, has the hints for it. */
import { createEffect, createResource, createSignal } from "solid-js";
import { useApp } from "../panels/context";
import { runAside } from "../state/aside";
import type { Controller } from "../state/controller";
import { fileOf } from ".";
import { comparedWith, type Facts, hintsFor, holds, type Lesson, trialsOf } from "./judge";

/** A lesson with its texts. */
export interface Loaded {
  name: string;
  lesson: Lesson;
  prose: string;
  /** The programs that results are compared with, by their names. */
  programs: Record<string, string>;
}

export type Attempt = ReturnType<typeof createAttempt>;

export function createAttempt(props: { readonly name: string }) {
  const app = useApp();
  const state = app.state;
  const [failure, setFailure] = createSignal("");
  /** The present hints, the weakest first, and the number of those that were asked for. */
  const [hints, setHints] = createSignal<readonly string[]>([]);
  const [rung, setRung] = createSignal(0);
  const hint = () => hints()[rung() - 1] ?? "";
  const forget = () => {
    setHints([]);
    setRung(0);
  };
  /** The place of the answer that was chosen. */
  const [answer, setAnswer] = createSignal(-1);
  const [facts, setFacts] = createSignal<Facts | null>(null);

  const load = async (name: string) => {
    setFailure("");
    forget();
    setFacts(null);
    setAnswer(-1);
    try {
      return await textsOf(app, name);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      return null;
    }
  };
  const [loaded] = createResource(() => props.name, load);

  /** Judges the newest answer, once it is about the present document. */
  const look = async (one: Loaded) => {
    const { good, document, stale, gaveUp, answers } = state();
    const failed = stale || gaveUp !== "";
    if (!failed && good?.document !== document) return;
    let found: Facts = { document, run: null, result: "", comparisons: {} };
    if (!failed && good) {
      const last = good.run.steps.filter((step) => step.depth === 0).at(-1)?.after ?? 0;
      const result = await app.textOf(last);
      if (result === null) return;
      const comparisons: Facts["comparisons"] = {};
      for (const name of comparedWith(one.lesson)) {
        const comparison = await app.compare(last, one.programs[name] ?? "");
        if (comparison) comparisons[name] = comparison;
      }
      found = { document, run: good.run, result, comparisons };
      // An engine of its own for each: only once the program that is seen is right.
      const here = one.lesson.goals.filter(({ on, answered: asked }) => !on && !asked);
      if (state().trust === "own" && here.every((goal) => holds(goal, found)))
        found.trials = await tried(app, one, found.document);
    }
    // The same document is run again once its script may run: the findings of the run before came too late.
    const now = state();
    if (now.document !== document || now.answers !== answers || now.gaveUp !== gaveUp) return;
    if (props.name !== one.name) return;
    setFacts(found);
    forget();
  };
  createEffect(() => {
    const one = loaded();
    // Depends on the newest answer, and on an engine that gave up.
    state().answers;
    state().gaveUp;
    if (one && one.name === props.name) void look(one);
  });

  const options = () => loaded()?.lesson.question?.options ?? [];
  const answered = () => options()[answer()]?.right ?? false;
  const done = (goal: Lesson["goals"][number]) => {
    const found = facts();
    return found !== null && holds(goal, { ...found, answered: answered() });
  };
  const all = () => (loaded()?.lesson.goals ?? []).every(done) && facts() !== null;
  createEffect(() => all() && app.lessons.finish(props.name));

  return {
    failure,
    loaded,
    facts,
    answer,
    setAnswer,
    answered,
    done,
    all,
    hint,
    /** True if there is a stronger hint than the one that is shown. */
    hasStronger: () => rung() > 0 && rung() < hints().length,
    /** Shows the first hint, or the next stronger one. */
    askHint() {
      const [one, found] = [loaded(), facts()];
      if (!one || !found) return;
      if (rung() === 0) setHints(hintsFor(one.lesson, found));
      setRung(Math.min(hints().length, rung() + 1));
    },
  };
}

/** Loads the texts of a lesson. */
async function textsOf(app: Controller, name: string): Promise<Loaded> {
  const lesson = JSON.parse(await fileOf(name, "lesson")) as Lesson;
  const prose = await fileOf(name, "prose");
  const programs: Record<string, string> = {};
  const trials = trialsOf(lesson);
  const named = [undefined, ...trials].flatMap((trial) => comparedWith(lesson, trial));
  for (const file of [...named, ...trials]) {
    programs[file] = (await app.programOf(await fileOf(name, file))) ?? "";
  }
  return { name, lesson, prose, programs };
}

/** Runs the learner's passes on the other programs of the lesson. */
async function tried(app: Controller, { lesson, programs }: Loaded, document: Facts["document"]) {
  const trials: Record<string, Facts> = {};
  for (const trial of trialsOf(lesson)) {
    const other = { ...document, source: programs[trial] ?? "" };
    const wanted = comparedWith(lesson, trial).map((name) => [name, programs[name] ?? ""]);
    const { script } = document;
    const spawn = script.trim() ? () => app.spawnSandbox(script) : app.spawn;
    const ran = await runAside(spawn, other, Object.fromEntries(wanted));
    trials[trial] = { document: other, ...ran };
  }
  return trials;
}
