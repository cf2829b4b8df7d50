// @ts-check
/**
 * CPython beside the engine: the same for the page's worker and for Node. The code that boots it hands in everything that
 * has to be loaded, because a worker without an origin can fetch nothing.
 */

/** The folder of the package `tvm` and its companions in Python's file system. */
export const HOME = "/lib/passlab";

/**
 * The engine, opened for a script: its memory stays lent, so that the functions for scripts work at any time.
 * @param {any} engine the module `passlab.js` of the engine
 * @param {WebAssembly.Module} first
 * @param {() => WebAssembly.Module} second
 */
export function openEngine(engine, first, second) {
  const exports = engine.initSync({ module: first });
  let there = false;
  /** @type {any} */ (globalThis).loadSecond = () => {
    if (there) return;
    new WebAssembly.Instance(second(), { first: exports });
    there = true;
  };
  const session = new engine.Session();
  session.begin_script("");
  return session;
}

/**
 * Puts the engine and the files of the package into a Python that was loaded.
 * @param {any} pyodide what `loadPyodide` gave
 * @param {any} engine the module `passlab.js`, opened
 * @param {Record<string, string>} files texts by their paths below {@link HOME}
 */
export function install(pyodide, engine, files) {
  pyodide.registerJsModule("_passlab", engine);
  const made = new Set();
  for (const [path, text] of Object.entries(files)) {
    const full = `${HOME}/${path}`;
    const folder = full.slice(0, full.lastIndexOf("/"));
    if (!made.has(folder)) {
      pyodide.FS.mkdirTree(folder);
      made.add(folder);
    }
    pyodide.FS.writeFile(full, text);
  }
  pyodide.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(HOME)})`);
}
