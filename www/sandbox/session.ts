/** The engine as the sandbox opens it: from bytes, because a frame without an origin can load nothing, and with the API. */
import * as engine from "passlab-engine/passlab.js";
import type { Request } from "../engine/protocol";
import { provideSecond } from "../engine/second";
import { answer, installUserApi } from "../user";
import type { Engine } from "../user/engine";
import { openPython, type PythonParts } from "./python";

export async function open(
  [first, second]: ArrayBuffer[],
  python: PythonParts | null,
  keep: (memory: ArrayBuffer) => void,
) {
  const exports = engine.initSync({ module: new WebAssembly.Module(first as ArrayBuffer) });
  // At once: later the user's code could define `loadSecond`.
  provideSecond(exports, () => new WebAssembly.Module(second as ArrayBuffer));
  engine.load_second();
  installUserApi(engine as unknown as Engine);
  const session = new engine.Session();
  if (python) return { handle: await openPython(python, keep, engine, session) };
  return { handle: (request: Request) => answer(session, request) };
}
