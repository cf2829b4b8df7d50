/** Looks inside of a step: at its rewrites one by one, and at the program after some of them. */
import { createSignal } from "solid-js";
import type { EngineClient } from "../engine/client";
import type { Diff, Rewrite, Step } from "../engine/protocol";
import type { State } from "./model";

export interface Inside {
  /** The run and the step that it is about. */
  number: number;
  id: string;
  index: number;
  list: readonly Rewrite[];
}

export function createRewrites({
  state,
  step,
  selected,
  holder,
}: {
  state(): State;
  step(): Step | undefined;
  selected(): number;
  holder(): EngineClient;
}) {
  const [inside, setInside] = createSignal<Inside | null>(null);
  /** The number of rewrites applied; all of them give the step's result. */
  const [at, setAt] = createSignal(0);
  const [diff, setDiff] = createSignal<Diff | null>(null);
  const [refused, setRefused] = createSignal("");

  function close(): void {
    setInside(null);
    setDiff(null);
    setRefused("");
  }

  async function open(): Promise<void> {
    const { good } = state();
    const now = step();
    if (!good || !now || now.rewrites === 0) return;
    const index = selected();
    const reply = await holder().ask({ type: "rewrites", step: index }, "rewrites");
    if (reply.status !== "answered" || state().good !== good || step() !== now) return;
    setAt(reply.value.length);
    setDiff(null);
    setRefused("");
    setInside({ number: good.number, id: now.id, index, list: reply.value });
  }

  async function go(to: number): Promise<void> {
    const now = inside();
    if (!now) return;
    const count = Math.max(0, Math.min(now.list.length, to));
    if (count === at()) return;
    setAt(count);
    if (count === now.list.length) {
      setDiff(null);
      return;
    }
    const reply = await holder().ask({ type: "partial", step: now.index, fuel: count }, "partial");
    // A newer wish, another step or another run has taken its place.
    if (reply.status !== "answered" || inside() !== now || at() !== count) return;
    setDiff(reply.value);
    setRefused(reply.value ? "" : "This pass cannot be stopped in between.");
  }

  return {
    inside,
    at,
    diff,
    refused,
    close,
    toggle: () => (inside() ? close() : void open()),
    go: (to: number) => void go(to),
    /** Goes one rewrite further or back; opens the list first. */
    async step(by: 1 | -1): Promise<void> {
      if (!inside()) await open();
      await go(at() + by);
    },
    /** Closes the rewrites if another step or another run is shown. */
    refresh(): void {
      const now = inside();
      if (now && (now.number !== state().good?.number || now.id !== step()?.id)) close();
    },
  };
}
