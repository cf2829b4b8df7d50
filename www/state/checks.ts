/** Checks the steps of the last run by running the program before and after them, in an engine beside the one that is shown. */
import { createEffect, createSignal, on } from "solid-js";
import type { EngineClient, WorkerLike } from "../engine/client";
import type { Checked, Step } from "../engine/protocol";
import { asideEngine } from "./aside";
import type { State } from "./model";
import { toSend } from "./trust";

export type Verdict = Checked["outcome"];

/** The outcomes by shape and in words. */
export const verdictMark: Record<Verdict, string> = {
  equal: "=",
  "within tolerance": "≈",
  different: "≠",
  "not run": "?",
};

export function createChecks({
  state,
  steps,
  spawn,
  spawnSandbox,
}: {
  state(): State;
  steps(): readonly Step[];
  spawn(): WorkerLike;
  spawnSandbox(script: string): WorkerLike;
}) {
  const [running, setRunning] = createSignal(false);
  const [found, setFound] = createSignal<ReadonlyMap<string, Checked>>(new Map());
  const [only, setOnly] = createSignal<Verdict | "">("");
  const [left, setLeft] = createSignal(0);
  let client: EngineClient | null = null;
  let turn = 0;

  const stop = () => {
    turn++;
    client?.dispose();
    client = null;
    setLeft(0);
  };

  async function check(): Promise<void> {
    stop();
    setFound(new Map());
    const mine = turn;
    if (!state().good) return;
    const changed = steps().flatMap((step, index) =>
      step.before === step.after ? [] : [{ id: step.id, index }],
    );
    const { document } = toSend(state());
    const engine = asideEngine(document.script ? () => spawnSandbox(document.script) : spawn);
    client = engine;
    setLeft(changed.length);
    const run = await engine.ask({ type: "run", document });
    const all = new Map<string, Checked>();
    for (const { id, index } of changed) {
      if (mine !== turn || run.status !== "answered" || !run.value.ok) break;
      const reply = await engine.ask({ type: "check", step: index });
      if (mine !== turn) return;
      const lost = { outcome: "not run", inputs: [], place: "", from: "", runs: 0 } as const;
      const value: Checked =
        reply.status === "answered"
          ? reply.value
          : { ...lost, inputs: [], text: "not run: the engine gave up" };
      all.set(id, value);
      setFound(new Map(all));
      setLeft(changed.length - all.size);
      if (reply.status !== "answered") break;
    }
    if (mine === turn) stop();
  }

  createEffect(
    on([() => state().good, running], ([, is]) => {
      if (is) void check();
      else {
        stop();
        setFound(new Map());
        setOnly("");
      }
    }),
  );

  return {
    /** Steps are checked as long as this is true. */
    running,
    setRunning,
    /** The findings, by the ids of the steps. */
    found,
    /** Steps still to be checked. */
    left,
    /** The only outcome that is listed; empty for all. */
    only,
    setOnly,
    /** Ids of the only steps that are listed; null for all. */
    listed: (): ReadonlySet<string> | null => {
      const outcome = only();
      if (!outcome) return null;
      return new Set([...found()].flatMap(([id, one]) => (one.outcome === outcome ? [id] : [])));
    },
  };
}
