/**
 * Runs in the sandbox's worker before the user's code: the engine, opened from the bytes that the page sent, the API
 * that scripts are written against, and the loop that answers questions. Answers are text, so that nothing but data
 * leaves the worker; the page checks even those, because code in here can write whatever it likes.
 *
 * Takes the globals that it needs before user code runs, so that code which replaces a global breaks only itself.
 * Removes the ways to the frame: a flood would be stopped there, but the frames of a site may share a process, and the
 * one of the last good result would wait until all of it is cleared away.
 */
import { open } from "passlab-sandbox-session";
import type { Request } from "../engine/protocol";
import type { PythonParts } from "./python";

/** The parts that the page hands in before the first question. */
interface Parts {
  engine: ArrayBuffer[];
  /** CPython, for scripts that are written in it. */
  python: PythonParts | null;
}

const post = self.postMessage.bind(self) as (data: string | ArrayBuffer, moved?: object[]) => void;
const { stringify } = JSON;
const { from } = Array;
const Packed = Uint32Array;

// Nor does a worker of their own start, which would outlive every question unseen.
for (const way of ["postMessage", "reportError", "close", "Worker", "SharedWorker"]) {
  for (let at: object | null = self; at; at = Object.getPrototypeOf(at))
    Reflect.deleteProperty(at, way);
}

// Errors outside of a run are not sent: they answer no question.
for (const kind of ["error", "unhandledrejection"]) {
  self.addEventListener(kind, (event) => event.preventDefault());
}

function say(message: object): void {
  post(stringify(message));
}

/** Converts packed numbers to a list in text. */
function asText(value: unknown): unknown {
  const rows = (value as { rows?: unknown } | null)?.rows;
  return rows instanceof Packed ? { ...(value as object), rows: from(rows) } : value;
}

function words(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something that cannot be put into words was thrown";
  }
}

self.onmessage = async (first: MessageEvent<Parts>) => {
  try {
    const session = await open(first.data.engine, first.data.python, (memory) =>
      post(memory, [memory]),
    );
    self.onmessage = async ({ data }: MessageEvent<Request | "rest">) => {
      if (data === "rest") {
        say({ type: "rest" });
        return;
      }
      const { id, type } = data;
      try {
        say({ id, type, value: asText(await session.handle(data)) });
      } catch (error) {
        say({ id, type: "failed", message: words(error) });
      }
    };
    say({ type: "ready" });
  } catch (error) {
    say({ type: "unready", message: words(error) });
  }
};
