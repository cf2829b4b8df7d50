/**
 * The engine comes in two files (`xtask/src/split.rs`). The first calls `loadSecond` when something is called that stands
 * in the second; it must be there when that returns, so whoever opens the engine says how to get it at once.
 */

/** Tells the engine how to get its second half: called at most once, as soon as something in it is called. */
export function provideSecond(first: unknown, second: () => WebAssembly.Module): void {
  let there = false;
  (globalThis as { loadSecond?: () => void }).loadSecond = () => {
    if (there) return;
    new WebAssembly.Instance(second(), { first: first as WebAssembly.ModuleImports });
    there = true;
  };
}
