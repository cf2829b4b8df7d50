/** Runs beside the one that is shown: the same program at every opt level, and where two of them first differ. */
import { EngineClient, type WorkerLike } from "../engine/client";
import type { Comparison, Run, RunDocument, Step } from "../engine/protocol";
import { emptyDocument } from "./model";

/** A run at one level. */
export interface Level {
  level: number;
  /** The steps of the list, in order: one for each row that is ticked. */
  steps: Step[];
  /** The program after each of them, by its text. */
  texts: string[];
  /** The reason for missing results. */
  failed: string;
}

const LIMIT = 30_000;

/** Returns the steps that stand for rows of the list. */
export const listed = (run: Pick<Run, "steps">) =>
  run.steps.filter((step) => step.role === "listed" && step.depth === 0);

/** Returns an engine of its own, with no other requests in its queue; the caller disposes of it. */
export const asideEngine = (spawn: () => WorkerLike): EngineClient =>
  new EngineClient({
    spawn,
    limit: () => LIMIT,
    startLimit: LIMIT,
    slowAfter: LIMIT,
    losses: 1,
    onStatus: () => {},
    onRestart: () => {},
  });

/** Returns the text of each of these versions. */
export async function textsOf(
  client: EngineClient,
  versions: Iterable<number>,
): Promise<Map<number, string>> {
  const byVersion = new Map<number, string>();
  for (const version of new Set(versions)) {
    const text = await client.ask({ type: "text", version, stable: false });
    if (text.status === "answered") byVersion.set(version, text.value);
  }
  return byVersion;
}

/**
 * Parses and prints texts with an engine that has no script loaded; null for a text that is not a program. The text of
 * a version that a sandbox returns may be made up, hence the check.
 */
export async function reprinted(
  spawn: () => WorkerLike,
  texts: readonly string[],
): Promise<(string | null)[]> {
  const client = asideEngine(spawn);
  const printed: (string | null)[] = [];
  try {
    for (const source of texts) {
      const run = await client.ask({ type: "run", document: { ...emptyDocument, source } });
      const good = run.status === "answered" && run.value.ok;
      const text = good ? await client.ask({ type: "text", version: 0, stable: false }) : null;
      printed.push(text?.status === "answered" ? text.value : null);
    }
    return printed;
  } finally {
    client.dispose();
  }
}

/** Runs a document in an engine of its own; returns the run, the last text, and its comparisons with `programs`. */
export async function runAside(
  spawn: () => WorkerLike,
  document: RunDocument,
  programs: Readonly<Record<string, string>>,
): Promise<{ run: Run | null; result: string; comparisons: Record<string, Comparison> }> {
  const client = asideEngine(spawn);
  try {
    const reply = await client.ask({ type: "run", document });
    const run = reply.status === "answered" && reply.value.ok ? reply.value : null;
    const comparisons: Record<string, Comparison> = {};
    if (!run) return { run, result: "", comparisons };
    const last = run.steps.filter((step) => step.depth === 0).at(-1)?.after ?? 0;
    const result = (await textsOf(client, [last])).get(last) ?? "";
    for (const [name, source] of Object.entries(programs)) {
      const compared = await client.ask({ type: "compare", version: last, source });
      if (compared.status === "answered") comparisons[name] = compared.value;
    }
    return { run, result, comparisons };
  } finally {
    client.dispose();
  }
}

/** Runs a document at all levels, one after the other, in an engine of its own that is gone afterwards. */
export async function runAtLevels(
  spawn: () => WorkerLike,
  document: RunDocument,
  heard: (level: Level) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = asideEngine(spawn);
  signal.addEventListener("abort", () => client.dispose());
  try {
    for (let level = 0; level <= 4 && !signal.aborted; level++) {
      const empty: Level = { level, steps: [], texts: [], failed: "" };
      const reply = await client.ask({
        type: "run",
        document: { ...document, optLevel: level, instruments: [] },
      });
      if (reply.status !== "answered" || !reply.value.ok) {
        heard({ ...empty, failed: "It cannot be run." });
        continue;
      }
      const steps = listed(reply.value);
      const after = steps.map((step) => step.after);
      const byVersion = await textsOf(client, after);
      const texts = after.map((version) => byVersion.get(version) ?? "");
      if (!signal.aborted) heard({ ...empty, steps, texts });
    }
  } finally {
    client.dispose();
  }
}

/** Returns the first row after which two levels have different programs, or -1. */
export function firstDivergence(one: Level, other: Level): number {
  const rows = Math.min(one.texts.length, other.texts.length);
  for (let row = 0; row < rows; row++) {
    if (one.texts[row] !== other.texts[row]) return row;
  }
  return -1;
}
