/**
 * Joins the store, the engine and the browser: runs what is edited, pulls what is looked at, keeps what is
 * typed, opens links. The panels dispatch actions and read signals; they never talk to the engine themselves.
 */
import { batch, createMemo, createSignal } from "solid-js";
import { type EngineClient, REPLAY, type WorkerLike } from "../engine/client";
import type {
  Answers,
  Comparison,
  Diff,
  Look,
  Place,
  Question,
  RunDocument,
  Step,
  Values,
} from "../engine/protocol";
import { firstExample } from "../examples";
import { reprinted } from "./aside";
import { createChoices } from "./choices";
import { Engines } from "./engines";
import { createFollow } from "./follow";
import { createImporting } from "./importing";
import { createLessons } from "./lessons";
import {
  type Action,
  emptyDocument,
  type Good,
  initial,
  type State,
  toShared,
  update,
} from "./model";
import { createPulls } from "./pulls";
import { createRewrites } from "./rewrites";
import { createSharing, type Surroundings } from "./sharing";
import { findStep, neighbour, type Shown, shownSteps } from "./steps";
import { decide, stoppedScript, toSend } from "./trust";

export interface Environment extends Surroundings {
  spawn(): WorkerLike;
  /** A worker for an engine with somebody's script in it. */
  spawnSandbox(): WorkerLike;
  /** Milliseconds until a run counts as hung. */
  watchdog: number;
}

/** Evaluating a network is allowed to take long; the user can stop it. */
const EVAL_LIMIT = 120_000;
const START_LIMIT = 60_000;
const SLOW_AFTER = 300;
/** Characters of what a program was forked from, beyond which it is not kept: links would get too long. */
const LONGEST_PARENT = 20_000;
/** Milliseconds without a keystroke until an edited script is run. */
const SCRIPT_PAUSE = 300;

export type Controller = ReturnType<typeof createController>;

export function createController(environment: Environment) {
  const { keeper } = environment;
  const [state, setState] = createSignal<State>({ ...initial, preferences: keeper.preferences() });

  function dispatch(action: Action): void {
    const before = state();
    const after = update(before, action);
    if (after === before) return;
    // What is drawn is drawn once, with the diff that came along and not with the one before first.
    batch(() => {
      // An offer to undo one thing must not undo the next as well.
      const outdated = after.document !== before.document && after.notice?.action === "undo";
      setState(outdated ? { ...after, notice: null } : after);
      if (after.document !== before.document) changed(before);
      if (
        after.good !== before.good ||
        after.step !== before.step ||
        after.view !== before.view ||
        after.answers !== before.answers
      ) {
        pulls.pull();
      }
      if (after.good !== before.good || after.step !== before.step) {
        follow.refresh();
        rewrites.refresh();
      }
    });
    if (after.preferences !== before.preferences) keeper.keepPreferences(after.preferences);
    if (
      after.document !== before.document ||
      after.step !== before.step ||
      after.view !== before.view ||
      after.trust !== before.trust ||
      after.example !== before.example
    ) {
      sharing.keepSoon();
    }
  }

  // ---- the engine

  const engines = new Engines({
    spawn: environment.spawn,
    spawnSandbox: environment.spawnSandbox,
    limit: (kind, scripted) => {
      const most = kind === "eval" ? EVAL_LIMIT : environment.watchdog;
      return scripted ? Math.min(most, state().preferences.patience * 1000) : most;
    },
    startLimit: START_LIMIT,
    slowAfter: SLOW_AFTER,
    onStatus: (status) => {
      dispatch({ type: "engine", status });
      if (status.phase !== "dead" || toSend(state()).document.script === "") return;
      dispatch({ type: "gave-up", message: stoppedScript(status) });
    },
    onRestart: (client) => void replay(client),
  });
  const holder = () => engines.of(state().good?.sent ?? emptyDocument);

  /** A document that broke the engine once is tried once more with a fresh one, then left alone until it is edited. */
  let broke: RunDocument | null = null;
  /** Runs are numbered: an engine may answer after another one that was asked later. */
  let asked = 0;
  let answered = 0;

  async function run(document: RunDocument): Promise<void> {
    const { step: id, view } = state();
    const { document: sent, rows } = toSend(state());
    const looking = view === "diff" || view === "before";
    // Not after a crash: whether the run or the look at it was the cause is found out one by one. Nor of a script.
    const look: Look | null =
      looking && broke !== document && sent.script === "" ? { step: id, view } : null;
    const number = ++asked;
    const client = engines.use(sent, state().good?.sent);
    const reply = await client.ask({ type: "run", document: sent, look }, "run");
    if (number < answered) return;
    if (reply.status === "answered") {
      broke = null;
      answered = number;
      pulls.expect(reply.value);
      dispatch({ type: "answered", document, sent, rows, run: reply.value });
      void sharing.checkClaim();
      engines.use(toSend(state()).document, state().good?.sent);
    } else if (reply.status === "stopped") {
      if (document !== state().document) {
        // A newer edit is already on its way.
      } else if (reply.reason === "cancelled") {
        dispatch({ type: "gave-up", message: "You stopped this run." });
      } else if (sent.script) {
        dispatch({ type: "gave-up", message: stoppedScript(reply) });
      } else if (broke === document) {
        const what = reply.reason === "hung" ? "did not finish" : "failed";
        dispatch({
          type: "gave-up",
          message: `The engine ${what} on this program twice (${reply.message}) and was restarted. Your program is safe; change it or a pass and it runs again.`,
        });
      } else {
        broke = document;
        void run(document);
      }
    }
  }

  /** A good run that could not be done again: its versions are lost, and asking once more would not bring them back. */
  let unplayable: Good | null = null;

  /** Puts a new engine into the state that the page shows: the last good run first, then what is being edited. */
  async function replay(client: EngineClient): Promise<void> {
    const { good, document, gaveUp } = state();
    const current = engines.of(toSend(state()).document) === client && !gaveUp;
    pulls.forget();
    if (
      good &&
      good !== unplayable &&
      holder() === client &&
      (good.document !== document || !current)
    ) {
      const reply = await client.ask({ type: "run", document: good.sent }, REPLAY);
      if (reply.status === "stopped") unplayable = good;
      if (reply.status !== "answered") return;
    }
    if (current && state().document === document && !client.running) void run(document);
    else pulls.pull();
  }

  let typing: ReturnType<typeof setTimeout> | undefined;

  function changed(before: State): void {
    const { document } = state();
    if (state().gaveUp) setState({ ...state(), gaveUp: "" });
    sharing.edited();
    clearTimeout(typing);
    if (!sharing.started()) return;
    // Every version of a script gets a sandbox of its own, so not every letter is run.
    if (before.document.script !== document.script) {
      typing = setTimeout(() => void run(document), SCRIPT_PAUSE);
    } else void run(document);
  }

  // ---- what the page looks at

  const steps = createMemo(() => state().good?.run.steps ?? []);
  const selected = createMemo(() => findStep(steps(), state().step));
  const step = createMemo<Step | undefined>(() => steps()[selected()]);
  const shown = createMemo<Shown[]>(() => {
    const { folded, preferences, filter, func } = state();
    return shownSteps(steps(), {
      changedOnly: preferences.changedOnly,
      nested: preferences.nested,
      text: filter,
      func,
      folded,
      selected: selected(),
    });
  });

  const pulls = createPulls({ state, steps, shown, selected, step, holder });
  const follow = createFollow({ state, step, holder });
  const rewrites = createRewrites({ state, step, selected, holder });

  async function evaluate(question: Question): Promise<Values | string> {
    const slot = `eval ${question.version}`;
    const reply = await holder().ask({ type: "eval", ...question }, slot);
    if (reply.status === "answered") return reply.value;
    return reply.status === "stopped" ? reply.message : "The program changed meanwhile.";
  }

  /** What a pass would do to the result of the run; null when there is no answer any more. */
  async function preview(call: string): Promise<Answers["preview"] | null> {
    const { good } = state();
    const version = Math.max(0, (good?.run.versions ?? 1) - 1);
    const reply = await holder().ask({ type: "preview", version, call }, "preview");
    return reply.status === "answered" && state().good === good ? reply.value : null;
  }

  /** What is there to be passed on, not to be shown: null when the engine did not say. */
  async function textOf(version: number): Promise<string | null> {
    const reply = await holder().ask({ type: "text", version, stable: false });
    return reply.status === "answered" ? reply.value : null;
  }

  /** The version after the shown step becomes the program. */
  async function fork(): Promise<void> {
    const at = step();
    if (!at) return;
    const { parent: _, ...document } = toShared(state(), at.id);
    const parent = await engines.plain.ask({ type: "write", document });
    const reply = await holder().ask({ type: "text", version: at.after, stable: false }, "fork");
    if (reply.status !== "answered") return;
    const whole = parent.status === "answered" && parent.value.length <= LONGEST_PARENT;
    choices.fork(reply.value, at.row, at.name, whole ? parent.value : "");
  }

  // ---- going through the steps

  function go(direction: 1 | -1, onlyChanged: boolean): void {
    const next = steps()[neighbour(steps(), shown(), selected(), direction, onlyChanged)];
    if (next) {
      unfoldTo(next);
      dispatch({ type: "step", id: next.id });
    }
  }

  function unfoldTo(target: Step): void {
    for (let up = target.parent; up !== null; ) {
      const parent: Step | undefined = steps()[up];
      if (!parent) return;
      if (state().folded.includes(parent.id)) {
        dispatch({ type: "fold", id: parent.id, folded: false });
      }
      up = parent.parent;
    }
  }

  // ---- keeping work and passing it on

  const sharing = createSharing({
    environment,
    state,
    dispatch,
    plain: () => engines.plain,
    stepId: () => step()?.id ?? state().step,
    undo: () => choices.undo(),
    hash: async () => {
      const reply = await holder().ask({ type: "hash" }, "hash");
      return reply.status === "answered" ? reply.value : "";
    },
  });
  const choices = createChoices({
    state,
    dispatch,
    draft: sharing.draft,
    restore: sharing.restoreDraft,
  });

  const lessons = createLessons(keeper);
  const say = (text: string) =>
    dispatch({ type: "notice", notice: { tone: "info", text, action: null, label: "" } });
  const importing = createImporting({
    state,
    plain: () => engines.plain,
    openProgram: choices.openProgram,
    openDocument: async (document, name) =>
      choices.openDocument(document, await sharing.trustIn(document.script, sharing.draft()), name),
    say,
    takeProgress: lessons.load,
  });

  /** The user has decided about the script that came in a link. */
  function decideScript(trust: "own" | "held"): void {
    const { document } = state();
    void decide(document.script, trust, keeper);
    dispatch({ type: "trust", trust });
    if (trust === "own") void run(document);
  }

  /** Runs the present document again after it was given up. */
  function again(): void {
    broke = null;
    engines.plain.revive();
    engines.of(toSend(state()).document).revive();
    dispatch({ type: "notice", notice: null });
    setState({ ...state(), gaveUp: "" });
    void run(state().document);
  }

  // ---- start

  /** Shows what was there at the last visit, or the first example, then whatever the address says. */
  async function start(): Promise<void> {
    await sharing.open(() => {
      dispatch({ type: "example", id: firstExample.id, source: firstExample.source });
      dispatch({
        type: "passes",
        passes: firstExample.passes.map((call) => ({ call, enabled: true })),
      });
      dispatch({ type: "opt-level", level: firstExample.optLevel });
    });
    // With the catalogue, the engine says which rows need a script that may not run.
    if (state().trust === "own") void run(state().document);
    const reply = await engines.plain.ask({ type: "catalogue" });
    if (reply.status === "answered") dispatch({ type: "catalogue", catalogue: reply.value });
    if (state().trust !== "own") void run(state().document);
  }

  return {
    state,
    dispatch,
    steps,
    selected,
    step,
    shown,
    diff: pulls.diff,
    near: pulls.near,
    graph: pulls.graph,
    before: pulls.before,
    after: pulls.after,
    diffKey: pulls.diffKey,
    textKey: pulls.textKey,
    followed: follow.followed,
    missed: follow.missed,
    lineIn: follow.lineIn,
    follow: (version: number, place: Place) => void follow.follow(version, place),
    unfollow: follow.unfollow,
    rewrites,
    preview,
    fork,
    /** For engines beside the one that is shown: without a script, and with one. */
    spawn: environment.spawn,
    spawnSandbox: environment.spawnSandbox,
    async operators(before: number, after: number): Promise<Answers["operators"]> {
      const reply = await holder().ask({ type: "operators", before, after }, "operators");
      return reply.status === "answered" ? reply.value : [];
    },
    evaluate,
    dump: () => holder().ask({ type: "dump" }, "dump"),
    go,
    share: sharing.share,
    linkNow: sharing.linkNow,
    reproducer: sharing.reproducer,
    copyText: sharing.copyText,
    textOf,
    /** The same for a file that is run elsewhere: of a scripted run it is read and printed by an engine without a script. */
    async inertText(version: number): Promise<string | null> {
      const text = await textOf(version);
      if (text === null || !state().good?.sent.script.trim()) return text;
      return (await reprinted(environment.spawn, [text]))[0] ?? null;
    },
    async diffOf({ before, after }: Step): Promise<Diff | null> {
      const reply = await holder().ask({ type: "diff", before, after });
      return reply.status === "answered" ? reply.value : null;
    },
    openLink: sharing.openLink,
    say,
    lessons,
    /** Opens a reproducer that came with the page: its script may run. */
    async openOwn(text: string, name: string): Promise<void> {
      const reply = await engines.plain.ask({ type: "read", text });
      const document = reply.status === "answered" ? reply.value.document : null;
      if (document) choices.openDocument(document, "own", name);
    },
    /** The program of a reproducer, without its head. */
    async programOf(text: string): Promise<string | null> {
      const reply = await engines.plain.ask({ type: "read", text });
      return reply.status === "answered" ? (reply.value.document?.source ?? null) : null;
    },
    async compare(version: number, source: string): Promise<Comparison | null> {
      const reply = await holder().ask({ type: "compare", version, source });
      return reply.status === "answered" ? reply.value : null;
    },
    /** Opens what the program was forked from. */
    toParent: () => void importing.importText(state().document.parent ?? "", "The parent"),
    importText: importing.importText,
    importFiles: importing.importFiles,
    openExample: choices.openExample,
    choosePipeline: choices.choosePipeline,
    openSample: choices.openSample,
    removePass: choices.removePass,
    decideScript,
    act: sharing.act,
    again,
    keep: sharing.keep,
    start,
    stop: () => engines.cancel(),
  };
}
