/** The commands that depend on the state: steps, examples, pipelines, levels, passes. For the palette. */
import { examples } from "../examples";
import { runnable } from "../state/calls";
import type { Controller } from "../state/controller";
import { stepWords } from "../state/steps";
import { type Command, commands } from "./commands";

/** An entry of the palette: a command, or a choice that depends on the state. */
export interface Choice extends Omit<Command, "group"> {
  group: Command["group"] | "Step" | "Example" | "Pipeline" | "Opt level" | "Add pass";
  /** More words that find it. */
  about: string;
}

/** Returns all choices that are possible now. */
export function choices(app: Controller): Choice[] {
  const { catalogue, good } = app.state();
  const dialect = good?.run.dialect ?? "relay";
  const steps: Choice[] = app.steps().map((step) => ({
    id: `step ${step.id}`,
    keys: [],
    title: `Go to ${step.name}, ${stepWords(step, false)}`,
    group: "Step",
    about: step.id,
    run: () => app.dispatch({ type: "step", id: step.id }),
  }));
  const levels: Choice[] = [0, 1, 2, 3, 4].map((level) => ({
    id: `level ${level}`,
    keys: [],
    title: `Opt level ${level}`,
    group: "Opt level",
    about: `O${level}`,
    run: () => app.dispatch({ type: "opt-level", level }),
  }));
  const programs: Choice[] = examples.map((example) => ({
    id: `example ${example.id}`,
    keys: [],
    title: `Open ${example.title}`,
    group: "Example",
    about: example.group,
    run: () => void app.openExample(example.id),
  }));
  const pipelines: Choice[] = (catalogue?.pipelines ?? [])
    .filter((pipeline) => pipeline.dialect === dialect && runnable(pipeline).length > 0)
    .map((pipeline) => ({
      id: `pipeline ${pipeline.name}`,
      keys: [],
      title: `Use ${pipeline.title || pipeline.name}`,
      group: "Pipeline",
      about: pipeline.name,
      run: () => app.choosePipeline(pipeline.name),
    }));
  const passes: Choice[] = (catalogue?.passes ?? [])
    .filter((pass) => pass.available && pass.dialects.includes(dialect))
    .map((pass) => ({
      id: `add ${pass.name}`,
      keys: [],
      title: `Add ${pass.name}`,
      group: "Add pass",
      about: pass.summary,
      run: () => app.addPass(pass.call),
    }));
  const fixed: Choice[] = commands
    .filter((command) => command.id !== "palette")
    .map((command) => ({ ...command, about: command.id }));
  return [...fixed, ...levels, ...steps, ...programs, ...pipelines, ...passes];
}

/** Scores how well a text matches the typed words: 0 is best, null is no match. Each word must be found. */
function scoreOf(words: readonly string[], title: string, more: string): number | null {
  let worst = 0;
  for (const word of words) {
    const at = title.indexOf(word);
    const starts = at === 0 || (at > 0 && !/[a-z0-9]/.test(title[at - 1] ?? ""));
    const score = starts ? (at === 0 ? 0 : 1) : at > 0 ? 2 : more.includes(word) ? 3 : null;
    if (score === null) return null;
    worst += score;
  }
  return worst;
}

/** Returns the choices that answer `typed`, best first; without a word all of them, in their order. */
export function matching(all: readonly Choice[], typed: string): Choice[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...all];
  return all
    .flatMap((choice) => {
      const more = `${choice.group} ${choice.about}`.toLowerCase();
      const score = scoreOf(words, choice.title.toLowerCase(), more);
      return score === null ? [] : [{ choice, score }];
    })
    .sort((a, b) => a.score - b.score)
    .map(({ choice }) => choice);
}
