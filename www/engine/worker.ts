/**
 * The engine's worker. It opens one session, says `ready`, and answers one request after the other.
 * An exception is a bug of the engine: it is reported, and the page then throws this worker away,
 * because a session that panicked half way is not to be trusted any more.
 */
import { open, prepare } from "passlab-session";
import { findStep } from "../state/steps";
import type { Ahead, Diff, Look, Request, Run } from "./protocol";

/** Messages of the worker itself, outside of the protocol. */
export type Boot = { type: "ready" } | { type: "unready"; message: string };

type Session = Awaited<ReturnType<typeof open>>;

/** Makes what the page will look at once it has this run. */
function ahead(session: Session, run: Run, look: Look): Ahead | undefined {
  const step = run.steps[findStep(run.steps, look.step)];
  if (!step) return undefined;
  const { before, after } = step;
  const ask = (request: Request) => session.handle(request);
  if (look.view === "diff") {
    if (before === after) return undefined;
    return {
      before,
      after,
      diff: ask({ id: 0, type: "diff", before, after }) as Diff,
      texts: null,
    };
  }
  const text = (version: number) => ask({ id: 0, type: "text", version, stable: false }) as string;
  return { before, after, diff: null, texts: [text(before), text(after)] };
}

function answer(session: Session, request: Request): unknown {
  if (request.type !== "run") return session.handle(request);
  const { look, ...plain } = request;
  const run = session.handle(plain) as Run;
  if (!look || !run.ok) return run;
  return { ...run, ahead: ahead(session, run, look) };
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** So long after its first answer the worker gets ready what a program of Relay never asks for. */
const PAUSE = 1500;

open().then(
  (session) => {
    let asked = false;
    self.onmessage = (event: MessageEvent<Request>) => {
      if (!asked) setTimeout(prepare, PAUSE);
      asked = true;
      const { id, type } = event.data;
      try {
        self.postMessage({ id, type, value: answer(session, event.data) });
      } catch (error) {
        self.postMessage({ id, type: "failed", message: words(error) });
      }
    };
    self.postMessage({ type: "ready" } satisfies Boot);
  },
  (error) => self.postMessage({ type: "unready", message: words(error) } satisfies Boot),
);
