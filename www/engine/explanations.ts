/** The long texts about passes, which the build writes beside the engine. */
import type { Explanation } from "./protocol";

/** A pass in that file, which is the list of `passlab passes --json`. */
interface Listed {
  name: string;
  doc: string;
  example: { before: string; after: string };
}

/** Loads all of them, by the names of the passes. */
export async function explanations(): Promise<Record<string, Explanation>> {
  const answer = await fetch(new URL("../pkg/docs.json", import.meta.url));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const list: Listed[] = await answer.json();
  return Object.fromEntries(
    list.map(({ name, doc, example }) => [
      name,
      { doc, exampleBefore: example.before, exampleAfter: example.after },
    ]),
  );
}
