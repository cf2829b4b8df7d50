/** The long texts about passes, which the build writes beside the engine. */
import type { Explanation, PassDoc } from "./protocol";

/** A pass in that file, which is the list of `passlab passes --json`. */
interface Listed {
  name: string;
  /** The dialects of the programs that it works on, `tir` among them. */
  dialects: string[];
  doc: string;
  example: { before: string; after: string };
}

/** Returns the key of a pass's texts. Seven passes of Relay, as FoldConstant, have the name of one of Relax. */
function keyOf({ name, dialects }: { name: string; dialects: readonly string[] }): string {
  return dialects.includes("relay") ? `relay ${name}` : name;
}

async function load(): Promise<Map<string, Explanation>> {
  const answer = await fetch(new URL("../pkg/docs.json", import.meta.url));
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  const list: Listed[] = await answer.json();
  return new Map(
    list.map((pass) => [
      keyOf(pass),
      { doc: pass.doc, exampleBefore: pass.example.before, exampleAfter: pass.example.after },
    ]),
  );
}

let loading: Promise<Map<string, Explanation>> | null = null;

/** Returns the texts about a pass. The first call loads those of all; after a failure the next call tries again. */
export async function explanation(
  pass: Pick<PassDoc, "name" | "dialects">,
): Promise<Explanation | undefined> {
  loading ??= load();
  try {
    return (await loading).get(keyOf(pass));
  } catch (error) {
    loading = null;
    throw error;
  }
}
