/** Answers the requests to a session, in any kind of worker. */
import type { open } from "passlab-session";
import { findStep } from "./chosen";
import type { Ahead, Diff, Look, Request, Run } from "./protocol";

export type Session = Awaited<ReturnType<typeof open>>;

/** Makes the data that the page will show of this run. */
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
  const text = (version: number) => ask({ id: 0, type: "text", version, stable: true }) as string;
  return { before, after, diff: null, texts: [text(before), text(after)] };
}

/** Returns the answer to a request. An exception is a bug of the engine. */
export function answer(session: Session, request: Request): unknown {
  if (request.type !== "run") return session.handle(request);
  const { look, ...plain } = request;
  const run = session.handle(plain) as Run;
  if (!look || !run.ok) return run;
  return { ...run, ahead: ahead(session, run, look) };
}

/** Returns the message of an exception. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
