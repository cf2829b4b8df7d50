/**
 * Joins the store, the engine and the browser: runs what is edited, pulls what is looked at, keeps what is
 * typed, opens links. The panels dispatch actions and read signals; they never talk to the engine themselves.
 */
import { batch, createMemo, createSignal } from "solid-js";
import {
  type EngineClient,
  type Kind,
  REPLAY,
  type Reply,
  type WorkerLike,
} from "../engine/client";
import type { Diff, EvalResult, Look, Run, RunDocument, Step } from "../engine/protocol";
import { firstExample } from "../examples";
import { createChoices } from "./choices";
import { Engines } from "./engines";
import {
  type Action,
  emptyDocument,
  type Good,
  initial,
  type Notice,
  type State,
  type Trust,
  toShared,
  update,
} from "./model";
import type { Draft, Keeper } from "./persist";
import { findStep, neighbour, type Shown, shownSteps } from "./steps";
import { decide, judgeScript, stoppedScript, toSend } from "./trust";
import { judge, linkOf, withLink } from "./url";

/** Something that is pulled from the engine for the selected step. */
export type Pulled<T> =
  | { state: "none" }
  | { state: "loading" }
  | { state: "ready"; key: string; value: T }
  | { state: "failed"; message: string };

export interface Environment {
  spawn(): WorkerLike;
  /** A worker for an engine with somebody's script in it. */
  spawnSandbox(): WorkerLike;
  keeper: Keeper;
  /** Milliseconds until a run counts as hung. */
  watchdog: number;
  location: Pick<Location, "hash" | "href">;
  history: Pick<History, "replaceState">;
  copy(text: string): Promise<void>;
}

/** Evaluating a network is allowed to take long; the user can stop it. */
const EVAL_LIMIT = 120_000;
const START_LIMIT = 60_000;
const SLOW_AFTER = 300;
const CACHE = 64;
/** Links beyond this are cut by some programs that people paste them into. */
const LONG_LINK = 8000;
const KEEP_AFTER = 250;
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
    batch(() => {
      // An offer to undo one thing must not undo the next as well.
      const outdated = after.document !== before.document && after.notice?.action === "undo";
      setState(outdated ? { ...after, notice: null } : after);
      if (after.document !== before.document) changed(before);
    });
    if (after.preferences !== before.preferences) keeper.keepPreferences(after.preferences);
    if (
      after.document !== before.document ||
      after.step !== before.step ||
      after.view !== before.view ||
      after.trust !== before.trust ||
      after.example !== before.example
    ) {
      keepSoon();
    }
    if (
      after.good !== before.good ||
      after.step !== before.step ||
      after.view !== before.view ||
      after.answers !== before.answers
    ) {
      pull();
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
      expect(reply.value);
      dispatch({ type: "answered", document, sent, rows, run: reply.value });
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
    pulls.clear();
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
    else pull();
  }

  let typing: ReturnType<typeof setTimeout> | undefined;

  function changed(before: State): void {
    const { document } = state();
    if (state().gaveUp) setState({ ...state(), gaveUp: "" });
    if (fragment && before.document !== document) {
      fragment = "";
      environment.history.replaceState(null, "", environment.location.href.replace(/#.*$/, ""));
    }
    clearTimeout(typing);
    if (!started) return;
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
    const { folded, preferences } = state();
    return shownSteps(steps(), {
      changedOnly: preferences.changedOnly,
      nested: preferences.nested,
      folded,
      selected: selected(),
    });
  });

  const pulls = new Map<string, unknown>();
  const flying = new Set<string>();
  const [diff, setDiff] = createSignal<Pulled<Diff>>({ state: "none" });
  const [before, setBefore] = createSignal<Pulled<string>>({ state: "none" });
  const [after, setAfter] = createSignal<Pulled<string>>({ state: "none" });

  function remember(key: string, value: unknown): void {
    pulls.set(key, value);
    if (pulls.size > CACHE) pulls.delete(pulls.keys().next().value as string);
  }

  /** Puts what came with a run where `pull` will look for it. */
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

  /** Questions that broke the engine, by the document they were about: they are not put again. */
  const refused = new WeakMap<RunDocument, Map<string, string>>();

  function refuse(about: RunDocument, question: string, message: string): void {
    const known = refused.get(about) ?? new Map<string, string>();
    known.set(question, message);
    refused.set(about, known);
  }

  /** Shows `key` from the cache or asks for it. What was shown stays until the answer is there: no flicker. */
  function want<T>(
    key: string,
    show: (value: Pulled<T>) => void,
    current: () => Pulled<T>,
    ask: () => Promise<Reply<Kind>>,
    wanted: () => string,
  ): void {
    if (pulls.has(key)) {
      const now = current();
      if (now.state !== "ready" || now.key !== key) {
        show({ state: "ready", key, value: pulls.get(key) as T });
      }
      return;
    }
    const about = state().good?.document;
    const question = key.replace(/ \d+/, "");
    const broken = about && refused.get(about)?.get(question);
    if (broken) {
      show({ state: "failed", message: broken });
      return;
    }
    if (current().state !== "ready") show({ state: "loading" });
    if (flying.has(key)) return;
    flying.add(key);
    void ask().then((reply) => {
      flying.delete(key);
      if (reply.status === "answered") remember(key, reply.value);
      else if (reply.status === "stopped" && about) refuse(about, question, reply.message);
      // Shows it, or asks again if it was dropped and is wanted still.
      if (wanted() === key) pull();
    });
  }

  const diffKey = () => {
    const { good } = state();
    const at = step();
    if (!good || !at || at.before === at.after) return "";
    return `diff ${good.number} ${at.before} ${at.after}`;
  };
  const textKey = (side: "before" | "after") => {
    const { good } = state();
    const at = step();
    return good && at ? `text ${good.number} ${at[side]}` : "";
  };

  function pull(): void {
    const { view } = state();
    const at = step();
    if (!at) return;
    batch(() => {
      if (view === "diff") {
        const key = diffKey();
        if (!key) setDiff({ state: "none" });
        else {
          want(
            key,
            setDiff,
            diff,
            () => holder().ask({ type: "diff", before: at.before, after: at.after }, "diff"),
            diffKey,
          );
        }
      } else if (view === "before") {
        for (const side of ["before", "after"] as const) {
          want(
            textKey(side),
            side === "before" ? setBefore : setAfter,
            side === "before" ? before : after,
            () => holder().ask({ type: "text", version: at[side], stable: false }, `text ${side}`),
            () => textKey(side),
          );
        }
      }
    });
    if (view === "diff") prefetchSoon();
  }

  let prefetching: ReturnType<typeof setTimeout> | undefined;
  /** Gets the diffs of the neighbouring changed steps while nothing else is to do: stepping then costs no wait. */
  function prefetchSoon(): void {
    clearTimeout(prefetching);
    prefetching = setTimeout(() => {
      const { good, document } = state();
      if (!good || good.document !== document || !holder().idle) return;
      for (const direction of [1, -1] as const) {
        const next = steps()[neighbour(steps(), shown(), selected(), direction, true)];
        if (!next || next.before === next.after) continue;
        const key = `diff ${good.number} ${next.before} ${next.after}`;
        const question = key.replace(/ \d+/, "");
        if (pulls.has(key) || flying.has(key) || refused.get(document)?.has(question)) continue;
        flying.add(key);
        void holder()
          .ask({ type: "diff", before: next.before, after: next.after }, `near ${direction}`)
          .then((reply) => {
            flying.delete(key);
            if (reply.status === "answered") remember(key, reply.value);
            else if (reply.status === "stopped") refuse(document, question, reply.message);
            if (diffKey() === key) pull();
          });
      }
    }, 120);
  }

  async function evaluate(
    version: number,
    func: string,
    seed: number,
  ): Promise<EvalResult | string> {
    const reply = await holder().ask({ type: "eval", version, func, seed }, `eval ${version}`);
    if (reply.status === "answered") return reply.value;
    return reply.status === "stopped" ? reply.message : "The program changed meanwhile.";
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

  // ---- keeping work

  /** The link that the page shows unchanged, or empty. */
  let fragment = "";
  let started = false;
  let keeping: ReturnType<typeof setTimeout> | undefined;
  let keepFailed = false;

  function draft(): Draft {
    const { document, example, step: id, view, trust } = state();
    return { document, example, step: id, view, link: fragment, trust };
  }

  function keep(): void {
    clearTimeout(keeping);
    if (!started) return;
    const kept = keeper.keepDraft(draft());
    if (!kept && !keepFailed) {
      notify({
        tone: "error",
        text: "This browser refuses to keep your work between visits. Use Share to keep it.",
        action: null,
        label: "",
      });
    }
    keepFailed = !kept;
  }

  function keepSoon(): void {
    clearTimeout(keeping);
    keeping = setTimeout(keep, KEEP_AFTER);
  }

  // ---- links

  function notify(notice: Notice | null): void {
    dispatch({ type: "notice", notice });
  }

  let recovered: Parameters<typeof toShared>[0] | null = null;

  /** Opens the link in the address. The user's own work is put aside first, never overwritten. */
  async function openLink(): Promise<void> {
    const link = linkOf(environment.location.hash);
    if (!link || link === fragment) return;
    const own = started ? draft() : keeper.draft();
    const reply = await engines.plain.ask({ type: "decode", link });
    const opened =
      reply.status === "answered"
        ? judge(reply.value)
        : {
            kind: "lost" as const,
            message: "This link could not be opened: the engine failed on it.",
          };
    if (opened.kind === "whole") {
      if (own && !own.link) keeper.keepBeforeLink(own);
      fragment = "";
      const trust = await trustIn(opened.document.script, own);
      dispatch({ type: "open", document: opened.document, trust });
      fragment = link;
      keepSoon();
      const others = own && !own.link && !own.example;
      notify(
        others
          ? {
              tone: "info",
              text: "Opened from a link. What you were working on is kept.",
              action: "restore",
              label: "Back to my program",
            }
          : null,
      );
      return;
    }
    const text = `${opened.message} Your own program is untouched.`;
    if (opened.kind === "recovered") {
      const trust = await trustIn(opened.document.script, own);
      recovered = update(state(), { type: "open", document: opened.document, trust });
      notify({ tone: "error", text, action: "open-recovered", label: "Open what could be read" });
    } else {
      notify({ tone: "error", text, action: null, label: "" });
    }
  }

  const trustIn = (script: string, own: Draft | null): Promise<Trust> =>
    judgeScript(script, started || !own ? state() : own, keeper);

  /** The user has decided about the script that came in a link. */
  function decideScript(trust: "own" | "held"): void {
    const { document } = state();
    void decide(document.script, trust, keeper);
    dispatch({ type: "trust", trust });
    if (trust === "own") void run(document);
  }

  /** Puts the state into the address and on the clipboard. */
  async function share(): Promise<string> {
    const reply = await engines.plain.ask({
      type: "encode",
      document: toShared(state(), step()?.id ?? state().step),
    });
    if (reply.status !== "answered") return "The link could not be made.";
    const href = withLink(environment.location.href, reply.value);
    fragment = linkOf(reply.value);
    // One's own link opens here without a question.
    if (state().trust === "own") void decide(state().document.script, "own", keeper);
    environment.history.replaceState(null, "", href);
    keepSoon();
    const size = `${href.length.toLocaleString("en")} characters`;
    const note = href.length > LONG_LINK ? `${size}: too long for some chats and mails` : size;
    try {
      await environment.copy(href);
      return `Link copied (${note}).`;
    } catch {
      return `The link is in the address bar (${note}).`;
    }
  }

  function restoreDraft(kept: Draft): void {
    dispatch({
      type: "restore",
      document: kept.document,
      example: kept.example,
      step: kept.step,
      view: kept.view,
      trust: kept.trust,
    });
  }

  function act(notice: Notice): void {
    notify(null);
    if (notice.action === "restore") {
      const kept = keeper.beforeLink();
      if (kept) restoreDraft(kept);
    } else if (notice.action === "open-recovered" && recovered) {
      keeper.keepBeforeLink(draft());
      const { document, step: id, view, trust } = recovered;
      dispatch({ type: "restore", document, example: "", step: id, view, trust });
    } else if (notice.action === "undo") {
      undo();
    }
  }

  const { undo, openExample, openSample, choosePipeline, removePass } = createChoices({
    state,
    dispatch,
    draft,
    restore: restoreDraft,
  });

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
    const kept = keeper.draft();
    const link = linkOf(environment.location.hash);
    if (kept && link && kept.link === link) {
      fragment = link;
      restoreDraft(kept);
    } else if (kept) {
      restoreDraft(kept);
    } else {
      dispatch({ type: "example", id: firstExample.id, source: firstExample.source });
      dispatch({
        type: "passes",
        passes: firstExample.passes.map((call) => ({ call, enabled: true })),
      });
      dispatch({ type: "opt-level", level: firstExample.optLevel });
    }
    const opening = openLink();
    if (link && link !== fragment) await opening;
    started = true;
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
    diff,
    before,
    after,
    diffKey,
    textKey,
    evaluate,
    dump: () => holder().ask({ type: "dump" }, "dump"),
    go,
    share,
    openLink,
    openExample,
    choosePipeline,
    openSample,
    removePass,
    decideScript,
    act,
    again,
    keep,
    start,
    stop: () => engines.cancel(),
  };
}
