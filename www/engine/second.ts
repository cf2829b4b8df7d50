/**
 * Loads the second file of the engine (`xtask/src/split.rs`). The first calls `loadSecond` at the first call into the
 * second; it must be there when that returns, so the opener of the engine provides a way to get it synchronously.
 */

/** Tells the engine how to get its second half: called at most once, at the first call into it. */
export function provideSecond(first: unknown, second: () => WebAssembly.Module): void {
  let there = false;
  (globalThis as { loadSecond?: () => void }).loadSecond = () => {
    if (there) return;
    new WebAssembly.Instance(second(), { first: first as WebAssembly.ModuleImports });
    there = true;
  };
}
