import address from "passlab-lessons";
import { fetched } from "../state/texts";

/**
 * The course, in its order. A lesson is a folder of small files: `prose.md`; `start` and `solution`, which are reproducer
 * files; `lesson.json` with its goals and hints (see `judge.ts`), and a `hint-N` file for every state that a hint is for. They are
 * fetched when the first lesson is opened. `tests/e2e/lessons.e2e.ts` replays all of them.
 */
export const course = [
  "reading-relay",
  "visitors",
  "mutators",
  "constant-folding",
  "pass-context",
  "instruments",
  "a-normal-form",
  "dataflow-blocks",
  "fuse-two-conv",
  "culprit",
] as const;

const titles: Record<(typeof course)[number], string> = {
  "reading-relay": "Reading Relay",
  visitors: "Visitors",
  mutators: "Mutators",
  "constant-folding": "Constant folding, step by step",
  "pass-context": "Pass context, opt levels, required passes",
  instruments: "Writing an instrument",
  "a-normal-form": "A-normal form",
  "dataflow-blocks": "Dataflow blocks",
  "fuse-two-conv": "Fusing two convolutions in Relax",
  culprit: "Find the pass that broke it",
};

export const titleOf = (name: string): string => titles[name as keyof typeof titles] ?? name;

let texts: Promise<Record<string, Record<string, string>>> | null = null;

/** The text of a file of a lesson, named without its ending. */
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
