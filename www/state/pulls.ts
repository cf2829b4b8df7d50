/**
 * Pulls the texts and diffs of the selected step from the engine when a view needs them, and keeps them by their
 * versions. The previous texts stay until the answer arrives, so nothing flickers.
 */
import { batch, createSignal } from "solid-js";
import type { EngineClient, Kind, Reply } from "../engine/client";
import type { Diff, Graph, Run, RunDocument, Step } from "../engine/protocol";
import type { State, View } from "./model";
import { neighbour, type Shown } from "./steps";

/** Data that is pulled from the engine for the selected step. */
export type Pulled<T> =
  | { state: "none" }
  | { state: "loading" }
  | { state: "ready"; key: string; value: T }
  | { state: "failed"; message: string };

/** One thing to look at. */
interface Look<T> {
  value(): Pulled<T>;
  show(value: Pulled<T>): void;
  /** Tells answers apart; empty when there is nothing to ask. Its second word is the number of the run. */
  key(): string;
  ask(): Promise<Reply<Kind>>;
}

const CACHE = 64;

interface Pulling {
  state(): State;
  steps(): readonly Step[];
  shown(): readonly Shown[];
  selected(): number;
  step(): Step | undefined;
  /** Returns the engine that holds the versions of the last good run. */
  holder(): EngineClient;
}

const keyOfDiff = (number: number, { before, after }: Step) =>
  before === after ? "" : `diff ${number} ${before} ${after}`;

/** Creates the things to look at. */
function createLooks({ state, step, holder }: Pulling) {
  function look<T>(
    key: (number: number, step: Step) => string,
    ask: (step: Step) => Promise<Reply<Kind>>,
  ): Look<T> {
    const [value, show] = createSignal<Pulled<T>>({ state: "none" });
    return {
      value,
      show,
      key() {
        const { good } = state();
        const at = step();
        return good && at ? key(good.number, at) : "";
      },
      ask: () => ask(step() as Step),
    };
  }

  const diff = look<Diff>(keyOfDiff, ({ before, after }) =>
    holder().ask({ type: "diff", before, after }, "diff"),
  );
  const text = (side: "before" | "after") =>
    look<string>(
      (number, at) => `text ${number} ${at[side]}`,
      (at) => holder().ask({ type: "text", version: at[side], stable: true }, `text ${side}`),
    );
  const graph = look<Graph>(
    (number, { before, after }) => `graph ${number} ${before} ${after}`,
    ({ before, after }) => holder().ask({ type: "graph", before, after }, "graph"),
  );
  const before = text("before");
  const after = text("after");

  /** The data that each view shows. */
  const looks: Partial<Record<View, readonly Look<unknown>[]>> = {
    diff: [diff as Look<unknown>],
    graph: [graph as Look<unknown>],
    before: [before as Look<unknown>, after as Look<unknown>],
  };
  return { diff, graph, before, after, looks };
}

/** Keeps answers by their keys, and asks for those that are missing. `pull` is called when a wanted one is there. */
function createKept({ state }: Pulling, pull: () => void) {
  const pulls = new Map<string, unknown>();
  const flying = new Set<string>();

  function remember(key: string, value: unknown): void {
    pulls.set(key, value);
    if (pulls.size > CACHE) pulls.delete(pulls.keys().next().value as string);
  }

  /** Questions that broke the engine, by the document they were about: they are not put again. */
  const refused = new WeakMap<RunDocument, Map<string, string>>();
  const questionOf = (key: string) => key.replace(/ \d+/, "");

  function refuse(about: RunDocument, key: string, message: string): void {
    const known = refused.get(about) ?? new Map<string, string>();
    known.set(questionOf(key), message);
    refused.set(about, known);
  }

  /** Asks for `key` and keeps the answer; `wanted` returns the key that is needed by then. */
  function fetch(
    key: string,
    ask: () => Promise<Reply<Kind>>,
    wanted: () => string,
    kept?: () => void,
  ): void {
    const about = state().good?.document;
    flying.add(key);
    void ask().then((reply) => {
      flying.delete(key);
      if (reply.status === "answered") {
        remember(key, reply.value);
        kept?.();
      } else if (reply.status === "stopped" && about) refuse(about, key, reply.message);
      // Shows it, or asks again if it was dropped and is wanted still.
      if (wanted() === key) pull();
    });
  }

  /** Shows the data of a look, from the cache or as soon as it arrives. */
  function want({ value, show, key: keyOf, ask }: Look<unknown>): void {
    const key = keyOf();
    const now = value();
    if (!key) {
      show({ state: "none" });
      return;
    }
    if (pulls.has(key)) {
      if (now.state !== "ready" || now.key !== key) {
        show({ state: "ready", key, value: pulls.get(key) });
      }
      return;
    }
    const about = state().good?.document;
    const broken = about && refused.get(about)?.get(questionOf(key));
    if (broken) {
      show({ state: "failed", message: broken });
      return;
    }
    if (now.state !== "ready") show({ state: "loading" });
    if (!flying.has(key)) fetch(key, ask, keyOf);
  }
  return {
    pulls,
    remember,
    fetch,
    want,
    /** True if a question can be put: it is not under way and did not break the engine. */
    isDue: (key: string, about: RunDocument) =>
      !flying.has(key) && !refused.get(about)?.has(questionOf(key)),
  };
}

type Kept = ReturnType<typeof createKept>;

/** Gets the data of neighbouring steps before they are shown. */
function createNear(
  { state, steps, shown, selected, holder }: Pulling,
  { pulls, fetch, isDue }: Kept,
  wanted: () => string,
) {
  const [near, setNear] = createSignal<readonly Diff[]>([], {
    equals: (a, b) => a.length === b.length && a.every((diff, index) => diff === b[index]),
  });
  let prefetching: ReturnType<typeof setTimeout> | undefined;
  /** Gets the diffs of the neighbouring changed steps while nothing else is to do: stepping then costs no wait. */
  function prefetchSoon(): void {
    clearTimeout(prefetching);
    prefetching = setTimeout(() => {
      const { good, document } = state();
      if (!good || good.document !== document || !holder().idle) return;
      const made: Diff[] = [];
      for (const direction of [1, -1] as const) {
        const next = steps()[neighbour(steps(), shown(), selected(), direction, true)];
        const key = next ? keyOfDiff(good.number, next) : "";
        const known = pulls.get(key) as Diff | undefined;
        if (known) made.push(known);
        if (!next || !key || known || !isDue(key, document)) continue;
        const { before, after } = next;
        fetch(
          key,
          () => holder().ask({ type: "diff", before, after }, `near ${direction}`),
          wanted,
          prefetchSoon,
        );
      }
      setNear(made);
    }, 120);
  }
  return { near, prefetchSoon };
}

export function createPulls(given: Pulling) {
  const { state, step } = given;
  const { diff, graph, before, after, looks } = createLooks(given);
  const kept = createKept(given, pull);
  const { pulls, remember, want } = kept;
  const { near, prefetchSoon } = createNear(given, kept, diff.key);

  /** Stores data that came with a run where `pull` will look for it. */
  function expect({ ahead }: Run): void {
    if (!ahead) return;
    const number = state().answers + 1;
    const { before: from, after: to, diff: made, texts } = ahead;
    if (made) remember(`diff ${number} ${from} ${to}`, made);
    if (texts) {
      remember(`text ${number} ${from}`, texts[0]);
      remember(`text ${number} ${to}`, texts[1]);
    }
  }

  function pull(): void {
    if (!step()) return;
    const { view } = state();
    batch(() => {
      for (const item of looks[view] ?? []) want(item);
    });
    if (view === "diff") prefetchSoon();
  }

  return {
    seen: {
      diff: diff.value,
      /** The diffs of the neighbouring changed steps, as far as they were made. */
      near,
      graph: graph.value,
      before: before.value,
      after: after.value,
      diffKey: diff.key,
      textKey: (side: "before" | "after") => (side === "before" ? before : after).key(),
    },
    pull,
    expect,
    /** Forgets all data: it belongs to versions that a new engine will make again. */
    forget: () => pulls.clear(),
  };
}
