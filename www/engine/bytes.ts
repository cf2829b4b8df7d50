/** Where the two halves of the engine's WebAssembly are, for those who hand their bytes on. */
import first from "passlab-engine/passlab_bg.wasm?url";
import second from "passlab-engine/passlab_second.wasm?url";

export default [first, second];
