/** The engine as the sandbox opens it: from bytes, because a frame without an origin can load nothing, and with the API. */
import * as engine from "passlab-engine/passlab.js";
import type { Request } from "../engine/protocol";
import { answer, installUserApi } from "../user";
import type { Engine } from "../user/engine";

export function open(bytes: ArrayBuffer) {
  engine.initSync({ module: new WebAssembly.Module(bytes) });
  installUserApi(engine as unknown as Engine);
  const session = new engine.Session();
  return { handle: (request: Request) => answer(session, request) };
}
