/** The addresses of the two halves of the engine's WebAssembly, for modules that pass their bytes on. */
import first from "passlab-engine/passlab_bg.wasm?url";
import second from "passlab-engine/passlab_second.wasm?url";

export default [first, second];
