/** The long texts about passes, which the build writes beside the engine. */
import type { Explanation, PassDoc } from "./protocol";

/** A pass in that file, which is the list of `passlab passes --json`. */
interface Listed {
  name: string;
  /** Of the programs that it works on, `tir` among them. */
  dialects: string[];
  doc: string;
  example: { before: string; after: string };
}

/** Returns the key of a pass's texts. Seven passes of Relay, as FoldConstant, have the name of one of Relax. */
export function keyOf({ name, dialects }: Pick<PassDoc, "name" | "dialects">): string {
  return dialects.includes("relay") ? `relay ${name}` : name;
}

/** Loads all of them, by `keyOf`. */
export async function explanations(): Promise<Record<string, Explanation>> {
  const answer = await fetch(new URL("../pkg/docs.json", import.meta.url));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const list: Listed[] = await answer.json();
  return Object.fromEntries(
    list.map(({ name, dialects, doc, example }) => [
      keyOf({ name, dialects }),
      { doc, exampleBefore: example.before, exampleAfter: example.after },
    ]),
  );
}
