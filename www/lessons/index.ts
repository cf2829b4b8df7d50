/**
 * The course, in its order. A lesson is a folder of small files: `prose.md`; `start` and `solution`, which are reproducer
 * files; `lesson.json` with its goals and hints (see `judge.ts`), and a `hint-N` file for every state that a hint is for. They are
 * fetched when a lesson is opened. `tests/e2e/lessons.e2e.ts` replays all of them.
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
  culprit: "Find the pass that broke it",
};

export const titleOf = (name: string): string => titles[name as keyof typeof titles] ?? name;

const addresses = import.meta.glob<string>("./*/*.{md,json,relay,py}", {
  query: "?url",
  import: "default",
  eager: true,
});

/** The text of a file of a lesson; a name without an ending is a program of either dialect. */
export async function fileOf(lesson: string, name: string): Promise<string> {
  const at = ["", ".relay", ".py"].map((end) => addresses[`./${lesson}/${name}${end}`]);
  const address = at.find(Boolean);
  if (!address) throw new Error(`the lesson ${lesson} has no file ${name}`);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the lesson could not be loaded (${answer.status})`);
  return answer.text();
}
