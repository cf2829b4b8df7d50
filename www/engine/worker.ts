/**
 * The engine's worker. It opens one session, says `ready`, and answers one request after the other.
 * An exception is a bug of the engine: it is reported, and the page then throws this worker away,
 * because a session that panicked half way is not to be trusted any more.
 */
import { open, prepare } from "passlab-session";
import { answer, words } from "./answer";
import type { Request } from "./protocol";

/** Messages of the worker itself, outside of the protocol. */
export type Boot = { type: "ready" } | { type: "unready"; message: string };

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
