/**
 * The engine's worker. It opens one session, says `ready`, and answers one request after the other.
 * An exception is a bug of the engine: it is reported, and the page then throws this worker away,
 * because a session that panicked half way is not to be trusted any more.
 */
import { open } from "passlab-session";
import type { Request } from "./protocol";

/** Messages of the worker itself, outside of the protocol. */
export type Boot = { type: "ready" } | { type: "unready"; message: string };

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

open().then(
  (session) => {
    self.onmessage = (event: MessageEvent<Request>) => {
      const { id, type } = event.data;
      try {
        self.postMessage({ id, type, value: session.handle(event.data) });
      } catch (error) {
        self.postMessage({ id, type: "failed", message: words(error) });
      }
    };
    self.postMessage({ type: "ready" } satisfies Boot);
  },
  (error) => self.postMessage({ type: "unready", message: words(error) } satisfies Boot),
);
