/// <reference types="vite/client" />

/** The engine that the worker opens: `www/engine/wasm.ts`, or `mock.ts` when built with VITE_MOCK=1. */
declare module "passlab-session" {
  export function open(): Promise<{
    handle(request: import("./engine/protocol").Request): unknown;
  }>;
}

/** What `wasm-bindgen` makes of the Rust side (`src/wasm`); the files stand in `www/pkg` after a build. */
declare module "passlab-engine/passlab.js" {
  export default function init(options: { module_or_path: string | URL }): Promise<unknown>;
  export class Session {
    constructor();
    /** The request without its id; the answer is the value of `Answers[type]`. Throws only for a bug of the engine. */
    handle(request: unknown): unknown;
  }
}

declare module "passlab-engine/passlab_bg.wasm?url" {
  const url: string;
  export default url;
}
