import init, { Session } from "passlab-engine/passlab.js";
import firstUrl from "passlab-engine/passlab_bg.wasm?url";
import secondUrl from "passlab-engine/passlab_second.wasm?url";
import { provideSecond } from "./second";

/** The second half, once it came while the engine had nothing to do. */
let ahead: WebAssembly.Module | null = null;

/** Fetches the second half while the engine waits for it: a program needs it now. */
function atOnce(): WebAssembly.Module {
  if (ahead) return ahead;
  const request = new XMLHttpRequest();
  request.open("GET", secondUrl, false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error("the second part of the engine could not be loaded");
  return new WebAssembly.Module(request.response);
}

/** Loads the engine's WebAssembly and opens a session in it. */
export async function open(): Promise<Session> {
  provideSecond(await init({ module_or_path: firstUrl }), atOnce);
  return new Session();
}

/** Brings the second half before it is called. That this fails says nothing: it is tried again when it is needed. */
export async function prepare(): Promise<void> {
  try {
    ahead ??= await WebAssembly.compileStreaming(fetch(secondUrl));
  } catch {}
}
