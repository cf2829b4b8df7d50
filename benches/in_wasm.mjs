// Times passes over a program of Relax in the engine that the page gets, opened in Node: benches/tvm.rs starts this
// and prints its column.
//
//     node benches/in_wasm.mjs PACKAGE PROGRAM PASS...
//
// PACKAGE is www/pkg, which `cargo xtask build` makes. Each line that comes out is `what<TAB>milliseconds`: the best of some
// runs, as the step of the pass says it. A pass that refuses the program has no line.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// The same rule as in benches/tvm.rs, with a little more time: here the program is read again before each run.
const [SECONDS, LEAST, MOST] = [0.5, 2, 500];

const [folder, program, ...passes] = process.argv.slice(2);
const glue = await import(pathToFileURL(join(resolve(folder), "passlab.js")).href);
const first = glue.initSync({ module: readFileSync(join(folder, "passlab_bg.wasm")) });
globalThis.loadSecond = () => {
  const second = new WebAssembly.Module(readFileSync(join(folder, "passlab_second.wasm")));
  new WebAssembly.Instance(second, { first });
};
const text = readFileSync(program, "utf-8");
const settings = { optLevel: 4, required: [], disabled: [], config: {}, instruments: [], script: "" };
const session = new glue.Session();
for (const call of passes) {
  let best = Infinity;
  const begin = performance.now();
  for (let runs = 0; runs < LEAST || (runs < MOST && performance.now() - begin < SECONDS * 1e3); runs++) {
    // A program that is not the one before is run again from the beginning.
    const source = text + "\n".repeat(runs % 2);
    const document = { source, passes: [{ call, enabled: true }], ...settings };
    const { steps } = session.handle({ id: 1, type: "run", document });
    const step = steps.find((step) => step.depth === 0);
    if (!step || step.outcome === "failed") break;
    best = Math.min(best, step.micros / 1e3);
  }
  if (best < Infinity) console.log(`${call}\t${best}`);
}
