/** Runs the document as it is edited: chooses the engine, takes the answer, and recovers from a crash. */
import { type EngineClient, REPLAY, type WorkerLike } from "../engine/client";
import type { Look, Run, RunDocument } from "../engine/protocol";
import { Engines } from "./engines";
import { emptyDocument, type Good } from "./model";
import type { Store } from "./store";
import { type Judge, stoppedScript, toSend } from "./trust";

export interface EngineRoom {
  spawn(): WorkerLike;
  /** Starts a worker for an engine that runs a user's script. */
  spawnSandbox(script: string): WorkerLike;
  /** Milliseconds until a run counts as hung. */
  watchdog: number;
}

/** Evaluating a network is allowed to take long; the user can stop it. */
const EVAL_LIMIT = 120_000;
const START_LIMIT = 60_000;
const SLOW_AFTER = 300;
/** Milliseconds without a keystroke until an edited script is run. */
const SCRIPT_PAUSE = 300;

/**
 * Milliseconds until a request counts as hung. A script may take as long as the user says, in seconds (`patience`), and
 * its engine with it.
 */
export function limitOf(kind: string, patience: number | null, watchdog: number): number {
  if (patience !== null) return patience * 1000;
  return kind === "eval" ? EVAL_LIMIT : watchdog;
}

interface Running {
  store: Store;
  room: EngineRoom;
  judge: Judge;
  /** Called before a run is shown. */
  expect(run: Run): void;
  /** Called after a run is shown. */
  arrived(): void;
  /** Called after an engine restarted: questions about its versions are void, and asked again once `again` is true. */
  renewed(again: boolean): void;
}

/** Runs documents, and shows their answers in order. */
function createRunning(
  { store: { state, dispatch }, judge, expect, arrived }: Running,
  engines: Engines,
) {
  /** A document that broke the engine once is tried once more with a fresh one, then left alone until it is edited. */
  let broke: RunDocument | null = null;
  /** Runs are numbered: an engine may answer after another one that was asked later. */
  let asked = 0;
  let answered = 0;

  /** Judges a script by its text before it runs: a refused one may have been typed again or brought back. */
  async function judged(document: RunDocument): Promise<boolean> {
    const trust = await judge.judge(document.script, "own");
    if (state().document !== document) return false;
    if (trust !== "own") dispatch({ type: "trust", trust });
    return true;
  }

  async function run(document: RunDocument): Promise<void> {
    const known = state().trust !== "own" || judge.verdict(document.script) === "own";
    if (!known && !(await judged(document))) return;
    const { step: id, view } = state();
    const { document: sent, rows } = toSend(state());
    const looking = view === "diff" || view === "before";
    // Not after a crash: whether the run or the look at it was the cause is found out one by one. Nor of a script.
    const look: Look | undefined =
      looking && broke !== document && sent.script === "" ? { step: id, view } : undefined;
    const number = ++asked;
    const client = engines.use(sent, state().good?.sent);
    const reply = await client.ask({ type: "run", document: sent, look }, "run");
    if (number < answered) return;
    if (reply.status === "answered") {
      broke = null;
      answered = number;
      expect(reply.value);
      dispatch({ type: "answered", document, sent, rows, run: reply.value });
      arrived();
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

  return {
    run,
    /** Forgets that a document broke the engine. */
    forgive(): void {
      broke = null;
    },
  };
}

export function createRuns(given: Running) {
  const {
    store: { state, dispatch },
    room,
    renewed,
  } = given;
  const engines = new Engines({
    spawn: room.spawn,
    spawnSandbox: room.spawnSandbox,
    limit: (kind, scripted) =>
      limitOf(kind, scripted ? state().preferences.patience : null, room.watchdog),
    startLimit: START_LIMIT,
    slowAfter: SLOW_AFTER,
    onStatus: (status) => {
      dispatch({ type: "engine", status });
      if (status.phase !== "dead" || toSend(state()).document.script === "") return;
      dispatch({ type: "gave-up", message: stoppedScript(status) });
    },
    onRestart: (client) => void replay(client),
  });
  /** Returns the engine that has the versions of the shown run. */
  const holder = () => engines.of(state().good?.sent ?? emptyDocument);

  const { run, forgive } = createRunning(given, engines);

  /** A good run that could not be done again: its versions are lost, and asking once more would not bring them back. */
  let unplayable: Good | null = null;

  /** Puts a new engine into the state that the page shows: the last good run first, then the edited document. */
  async function replay(client: EngineClient): Promise<void> {
    const { good, document, gaveUp } = state();
    const current = engines.of(toSend(state()).document) === client && !gaveUp;
    renewed(false);
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
    else renewed(true);
  }

  let typing: ReturnType<typeof setTimeout> | undefined;

  return {
    /** Returns the engine for documents without a script, links and the catalogue. */
    plain: () => engines.plain,
    holder,
    now: () => void run(state().document),
    /** Called when the document has changed. */
    edited(before: RunDocument): void {
      const { document } = state();
      clearTimeout(typing);
      // Every version of a script gets a sandbox of its own, so not every letter is run.
      if (before.script !== document.script) {
        typing = setTimeout(() => void run(document), SCRIPT_PAUSE);
      } else void run(document);
    },
    /** Runs the present document again after it was given up. */
    again(): void {
      forgive();
      engines.plain.revive();
      engines.of(toSend(state()).document).revive();
      dispatch({ type: "again" });
      void run(state().document);
    },
    stop: () => engines.cancel(),
  };
}
