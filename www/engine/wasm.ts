import init, { Session } from "passlab-engine/passlab.js";
import url from "passlab-engine/passlab_bg.wasm?url";

/** Loads the engine's WebAssembly and opens a session in it. */
export async function open(): Promise<Session> {
  await init({ module_or_path: url });
  return new Session();
}
