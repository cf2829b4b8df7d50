/**
 * Two lists of passes on one program, side by side: the same engine runs both, so that any version of the one can be
 * compared with any version of the other.
 */
import type { EngineClient, WorkerLike } from "../engine/client";
import type { Diff, RunDocument, Step } from "../engine/protocol";
import { asideEngine, listed, textsOf } from "./aside";
import { isReproducer } from "./importing";
import { linkOf } from "./url";

/** A pass of the one list, of the other, or of both, and the versions that there are after it. */
export interface Pair {
  left: Step | null;
  right: Step | null;
  versions: readonly [left: number, right: number];
  /** The two versions are printed the same. */
  same: boolean;
}

/** Aligns steps of the same name in the same order, as many as possible (longest common subsequence). */
export function align(left: readonly Step[], right: readonly Step[]): [Step | null, Step | null][] {
  const width = right.length + 1;
  const length = new Uint32Array((left.length + 1) * width);
  const at = (i: number, j: number) => length[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      length[i * width + j] =
        left[i]?.name === right[j]?.name
          ? at(i + 1, j + 1) + 1
          : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [Step | null, Step | null][] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [one, other] = [left[i] ?? null, right[j] ?? null];
    if (one && other && one.name === other.name) {
      pairs.push([one, other]);
      i++;
      j++;
    } else if (one && (!other || at(i + 1, j) >= at(i, j + 1))) {
      pairs.push([one, null]);
      i++;
    } else {
      pairs.push([null, other]);
      j++;
    }
  }
  return pairs;
}

/** Returns the aligned steps with the versions after them; before its first step a side has the opened program. */
export function pairsOf(
  left: readonly Step[],
  right: readonly Step[],
  texts: ReadonlyMap<number, string>,
): Pair[] {
  let versions: readonly [number, number] = [0, 0];
  return align(left, right).map(([one, other]) => {
    versions = [one?.after ?? versions[0], other?.after ?? versions[1]];
    const [a, b] = versions.map((version) => texts.get(version));
    return { left: one, right: other, versions, same: a !== undefined && a === b };
  });
}

/** Returns the first pair after which the programs differ, or -1. */
export const divergence = (pairs: readonly Pair[]): number => pairs.findIndex((pair) => !pair.same);

/** Says in words at which step the two sides first differ. */
export function verdict(pairs: readonly Pair[]): string {
  const first = divergence(pairs);
  const at = pairs[first];
  if (!at) return "Both give the same program after every step.";
  const name = (at.left ?? at.right)?.name ?? "";
  const which = at.left
    ? at.right
      ? ""
      : ", which only the first has"
    : ", which only the second has";
  const end = pairs.at(-1)?.same ? " In the end they are the same." : "";
  return `They first differ after ${name}, step ${first + 1}${which}.${end}`;
}

/** Runs pairs of lists and returns the differences between their versions. */
export class Beside {
  private readonly client: EngineClient;

  constructor(spawn: () => WorkerLike) {
    this.client = asideEngine(spawn);
  }

  /** Returns the steps of both; the message gives the reason if there are none. */
  async run(left: RunDocument, right: RunDocument): Promise<Pair[] | string> {
    const first = await this.client.ask({ type: "run", document: left });
    if (first.status !== "answered") return "They take too long to be run here.";
    if (!first.value.ok) return first.value.problems[0]?.message ?? "The first cannot be run.";
    const second = await this.client.ask({ type: "beside", document: right });
    if (second.status !== "answered") return "They take too long to be run here.";
    const { problem } = second.value;
    if (problem) return `The second cannot be run: ${problem}`;
    const steps = [listed(first.value), listed(second.value)] as const;
    const versions = steps.flat().map((step) => step.after);
    return pairsOf(steps[0], steps[1], await textsOf(this.client, [0, ...versions]));
  }

  /** Returns the list of a link or of a reproducer file; the message says why there is none. */
  async read(text: string): Promise<RunDocument | string> {
    const reply = isReproducer(text)
      ? await this.client.ask({ type: "read", text })
      : await this.client.ask({
          type: "decode",
          link: linkOf(text.replace(/^[^#]*#/s, "").trim()),
        });
    const found = reply.status === "answered" ? reply.value : null;
    return found?.document ?? (found?.message || "That is neither a link nor a reproducer.");
  }

  async diff([before, after]: Pair["versions"]): Promise<Diff | null> {
    const reply = await this.client.ask({ type: "diff", before, after }, "diff");
    return reply.status === "answered" ? reply.value : null;
  }

  dispose(): void {
    this.client.dispose();
  }
}
