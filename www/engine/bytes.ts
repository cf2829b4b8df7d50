/** Where the engine's WebAssembly is, for those who hand its bytes on. */
export { default } from "passlab-engine/passlab_bg.wasm?url";
