/**
 * One engine for all embeds of a page: a shared worker with a session for each. When the engine fails, the worker ends, and
 * whoever asks again gets a new one.
 */
import { open } from "passlab-session";
import { answer, type Session, words } from "../engine/answer";
import type { Request } from "../engine/protocol";

type Scope = typeof self & { onconnect: ((event: MessageEvent) => void) | null; close(): void };

/** The engine is loaded once; sessions after the first are made by its constructor. */
const engine = open();
let first: Session | null = null;
void engine.then((session) => {
  first = session;
});

async function session(): Promise<Session> {
  const opened = await engine;
  if (first) {
    first = null;
    return opened;
  }
  return new (opened.constructor as new () => Session)();
}

(self as unknown as Scope).onconnect = async (event) => {
  const port = event.ports[0];
  if (!port) return;
  try {
    const own = await session();
    port.onmessage = ({ data }: MessageEvent<Request | { type: "leave" }>) => {
      if (data.type === "leave") {
        (own as { free?(): void }).free?.();
        port.close();
        return;
      }
      try {
        port.postMessage({ id: data.id, type: data.type, value: answer(own, data) });
      } catch (error) {
        port.postMessage({ id: data.id, type: "failed", message: words(error) });
        (self as unknown as Scope).close();
      }
    };
    port.postMessage({ type: "ready" });
  } catch (error) {
    port.postMessage({ type: "unready", message: words(error) });
  }
};
