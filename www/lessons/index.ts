import address from "passlab-lessons";
import { fetched } from "../state/texts";

/**
 * The course, in its order. A lesson is a folder of small files: `prose.md`; `start` and `solution`, which are reproducer
 * files; `lesson.json` with its goals and hints (see `judge.ts`), a `hint-N` file for every state that a hint is for, and `trial-N`: other programs that
 * the learner's passes are run on. They are
 * fetched when the first lesson is opened. `tests/e2e/lessons.e2e.ts` replays all of them.
 */
export const course = [
  "reading-relay",
  "visitors",
  "mutators",
  "constant-folding",
  "predict-dead-code",
  "pass-context",
  "order-passes",
  "instruments",
  "a-normal-form",
  "predict-fusion",
  "dataflow-blocks",
  "fuse-two-conv",
  "culprit",
  "tile-matmul",
  "fuse-epilogue",
  "bind-threads",
] as const;

/** The title of each lesson, and its subject. */
const about: Record<(typeof course)[number], readonly [title: string, what: string]> = {
  "reading-relay": ["Reading Relay", "Functions, variables, numbers: what a program is"],
  visitors: ["Visitors", "Going over a program; you repair one"],
  mutators: ["Mutators", "Making another program of it"],
  "constant-folding": ["Constant folding, step by step", "A pass in post order"],
  "predict-dead-code": ["Predict: what is dead?", "You say what a pass will leave"],
  "pass-context": ["Pass context, opt levels, required passes", "What runs, and why"],
  "order-passes": ["Order: three passes for each other", "You put them in the order that works"],
  instruments: ["Writing an instrument", "Watching passes from outside"],
  "a-normal-form": ["A-normal form", "An order for a graph"],
  "predict-fusion": ["Predict: how many kernels?", "What fuses with what"],
  "dataflow-blocks": ["Dataflow blocks", "Relax: where passes may rearrange"],
  "fuse-two-conv": ["Fusing two convolutions in Relax", "Builder and bindings"],
  "tile-matmul": ["A matrix product, tiled", "Loops: split, reorder, vectorize"],
  "fuse-epilogue": ["Fusing an epilogue", "reverse_compute_at moves a block"],
  "bind-threads": ["Blocks and threads", "A schedule for a GPU"],
  culprit: ["Find the pass that broke it", "Bisecting by values"],
};

export const titleOf = (name: string): string => about[name as keyof typeof about]?.[0] ?? name;
export const whatOf = (name: string): string => about[name as keyof typeof about]?.[1] ?? "";

let texts: Promise<Record<string, Record<string, string>>> | null = null;

/** Returns the text of a file of a lesson, named without its ending. */
export async function fileOf(lesson: string, name: string): Promise<string> {
  texts ??= fetched(address);
  try {
    const text = (await texts)[lesson]?.[name];
    if (text === undefined) throw new Error(`the lesson ${lesson} has no file ${name}`);
    return text;
  } catch (error) {
    texts = null;
    throw error;
  }
}
