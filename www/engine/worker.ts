/**
 * The engine's worker. It opens a session, says `ready`, and answers one request after the other. As a shared worker it does
 * so for each of the embeds of a page, with one engine.
 *
 * An exception is a bug of the engine: it is reported, and the page then throws this worker away, because a session that
 * panicked half way cannot be trusted any more. A shared worker ends itself, and the next request starts a new one.
 */
import { open, prepare } from "passlab-session";
import { answer, type Session, words } from "./answer";
import type { Request } from "./protocol";

/** Messages of the worker itself, outside of the protocol. */
export type Boot = { type: "ready" } | { type: "unready"; message: string };

/** The last message of a user of a shared worker. */
export interface Leave {
  type: "leave";
}

/** A port, or the worker itself. */
type Line = Pick<MessagePort, "onmessage" | "postMessage" | "close">;
type Scope = typeof self & { onconnect?: ((event: MessageEvent) => void) | null };

/** The pause after the first answer before the worker prepares the parts that a program of Relay never uses. */
const PAUSE = 1500;

const scope = self as Scope;
const engine = open();
let first: Session | null = null;
engine.then(
  (session) => {
    first = session;
  },
  () => {},
);

/** Opens a session. The engine is loaded once; sessions after the first are made by its constructor. */
async function session(): Promise<Session> {
  const opened = await engine;
  if (first) {
    first = null;
    return opened;
  }
  return new (opened.constructor as new () => Session)();
}

/** Answers the requests on a line, and reports the first question and failures. */
async function serve(line: Line, told: { asked?(): void; broke?(): void }): Promise<void> {
  try {
    const own = await session();
    let asked = false;
    line.onmessage = ({ data }: MessageEvent<Request | Leave>) => {
      if (data.type === "leave") {
        (own as { free?(): void }).free?.();
        line.close();
        return;
      }
      if (!asked) told.asked?.();
      asked = true;
      const { id, type } = data;
      try {
        line.postMessage({ id, type, value: answer(own, data) });
      } catch (error) {
        line.postMessage({ id, type: "failed", message: words(error) });
        told.broke?.();
      }
    };
    line.postMessage({ type: "ready" } satisfies Boot);
  } catch (error) {
    line.postMessage({ type: "unready", message: words(error) } satisfies Boot);
  }
}

if ("onconnect" in scope) {
  scope.onconnect = ({ ports: [port] }) => {
    if (port) void serve(port, { broke: () => scope.close() });
  };
} else {
  void serve(scope as unknown as Line, { asked: () => setTimeout(prepare, PAUSE) });
}
