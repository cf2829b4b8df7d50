/**
 * The library that the user's own passes are written against, and the code that runs them. The worker of the sandbox
 * bundles this with the engine's glue, and then does two things: `installUserApi(engine)` once, when the engine is
 * there, and `answer(session, request)` for every request. Scripts are loaded, and their report put together, in there.
 */
import type { Request, Run } from "../engine/protocol";
import { API_OBJECTS } from "./api";
import { type Engine, setEngine } from "./engine";
import { printed } from "./output";
import { guardedHost, hearRejections, loadScript, noteFailures, settle } from "./script";

/** The engine's session, as the glue exports it. */
export interface ScriptSession {
  handle(request: unknown): unknown;
  begin_script(source: string): void;
  script_loaded(passes: unknown, instruments: unknown): void;
}

/** Makes the API global (`ExprMutator`, `functionPass`, ...) in this worker. To be called once. */
export function installUserApi(engine: Engine): void {
  setEngine(engine);
  engine.user_host(guardedHost as (...args: never[]) => unknown);
  Object.assign(globalThis, API_OBJECTS);
  hearRejections();
  // The user's line stands behind the engine's frames.
  Error.stackTraceLimit = 50;
}

/**
 * Answers a request of the protocol: like `session.handle`, and for a run whose document has a script, the script is
 * loaded before and its report stands in the answer. Requests must not overlap: wait for one before the next.
 */
export async function answer(session: ScriptSession, request: Request): Promise<unknown> {
  if (request.type !== "run" || !request.document.script) return session.handle(request);
  session.begin_script(request.document.source);
  const { forEngine, ...script } = await loadScript(request.document.script);
  session.script_loaded(...forEngine);
  const run = session.handle(request) as Run;
  noteFailures(run);
  // A promise that a pass left pending may reject only after the pass.
  await settle();
  return { ...run, script: { ...script, output: [...printed()] } };
}

export { loadScript };
