/// <reference types="vite/client" />

/** The engine that the worker opens: `www/engine/wasm.ts`. */
declare module "passlab-session" {
  export function open(): Promise<{
    handle(request: import("./engine/protocol").Request): unknown;
  }>;
  /** Gets ready what may be needed later. */
  export function prepare(): Promise<void>;
}

/** The same engine as the sandbox's worker opens it: `www/sandbox/session.ts`. */
declare module "passlab-sandbox-session" {
  export function open(
    engine: ArrayBuffer[],
    python: import("./sandbox/python").PythonParts | null,
    keep: (memory: ArrayBuffer) => void,
  ): Promise<{
    handle(request: import("./engine/protocol").Request): unknown;
  }>;
}

/** Addresses: of the engine's WebAssembly, and of the files that the build makes (`www/made.ts`). */
declare module "passlab-engine-bytes" {
  const urls: string[];
  export default urls;
}
declare module "passlab-harness" {
  const url: string;
  export default url;
}
declare module "passlab-sandbox-frame" {
  const url: string;
  export default url;
}
declare module "passlab-python/*" {
  const url: string;
  export default url;
}
declare module "passlab-examples" {
  const url: string;
  export default url;
}
declare module "passlab-lessons" {
  const url: string;
  export default url;
}
declare module "passlab-samples" {
  const url: string;
  export default url;
}
declare module "passlab-api-python" {
  const url: string;
  export default url;
}
declare module "passlab-api" {
  const url: string;
  export default url;
}

/** The module that `wasm-bindgen` makes of the Rust side (`src/wasm`); the files stand in `www/pkg` after a build. */
declare module "passlab-engine/passlab.js" {
  export default function init(options: { module_or_path: string | URL }): Promise<unknown>;
  export function initSync(options: { module: WebAssembly.Module }): unknown;
  /** Sees to it that the second half is there (`www/engine/second.ts`). */
  export function load_second(): void;
  export class Session {
    constructor();
    /** The request without its id; the answer is the value of `Answers[type]`. Throws only for a bug of the engine. */
    handle(request: unknown): unknown;
    /** Opens a program and lends its memory to the functions `user_*`, which `www/user/engine.ts` describes. */
    begin_script(source: string): void;
    /** Takes the memory back, and what the script made. */
    script_loaded(passes: unknown, instruments: unknown): void;
  }
}

declare module "passlab-engine/passlab_bg.wasm?url" {
  const url: string;
  export default url;
}
declare module "passlab-engine/passlab_second.wasm?url" {
  const url: string;
  export default url;
}
