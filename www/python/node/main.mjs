// @ts-check
/**
 * `cargo xtask python`: files of Python in Node, on the Python and the engine of the page.
 *
 *     main.mjs FILE...                               runs them one after the other
 *     main.mjs --pytest [--json OUT] [-k EXPR] FILE...  runs the tests in them
 *     main.mjs --table [--check|--update] [FILTER]   TVM's own tests, see `table.mjs`
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { loadPyodide } from "pyodide";
import { install, openEngine } from "../host.mjs";
import { pytestFolder } from "./packages.mjs";
import { table } from "./table.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const cwd = process.env.PASSLAB_CWD ?? process.cwd();

/** @returns {Record<string, string>} the texts of all modules of Python that the page has. */
function modules() {
  /** @type {Record<string, string>} */
  const files = {};
  const base = resolve(here, "..");
  /** @param {string} dir */
  const walk = (dir) => {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory() && !["node", "__pycache__"].includes(entry.name)) walk(path);
      else if (entry.name.endsWith(".py"))
        files[relative(base, path).replaceAll("\\", "/")] = readFileSync(path, "utf8");
    }
  };
  walk(base);
  return files;
}

async function boot() {
  // V8 of Node 20 ends the process with "unreachable code" when it leaves optimised code at an inlined call of the engine that
  // throws; long runs come there.
  setFlagsFromString("--no-turbo-inline-js-wasm-calls");
  const pkg = join(root, "www/pkg");
  const engine = await import(join(pkg, "passlab.js"));
  const wasm = (/** @type {string} */ name) =>
    new WebAssembly.Module(readFileSync(join(pkg, name)));
  openEngine(engine, wasm("passlab_bg.wasm"), () => wasm("passlab_second.wasm"));
  const pyodide = await loadPyodide({
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  install(pyodide, engine, modules());
  // The files of the machine, where they are, so that paths in messages are those that were given.
  for (const top of readdirSync("/"))
    if (
      !["dev", "proc", "sys", "lib", "lib64", "tmp", "home", "usr", "bin", "sbin", "etc"].includes(
        top,
      )
    ) {
      try {
        pyodide.FS.mkdirTree(`/${top}`);
        pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: `/${top}` }, `/${top}`);
      } catch {}
    }
  const tmp = "/tmp";
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: tmp }, tmp);
  return pyodide;
}

/** @param {string[]} args */
async function main(args) {
  if (args[0] === "--table") return table(args.slice(1), root);
  let json = null;
  let filter = null;
  let pytest = false;
  const files = [];
  for (let at = 0; at < args.length; at++) {
    const arg = /** @type {string} */ (args[at]);
    if (arg === "--pytest") pytest = true;
    else if (arg === "--json") json = resolve(cwd, args[++at] ?? "");
    else if (arg === "-k") filter = args[++at] ?? "";
    else if (arg.startsWith("-")) throw new Error(`there is no option ${arg}`);
    else files.push(arg);
  }
  if (files.length === 0) {
    process.stderr.write("cargo xtask python [--pytest [--json OUT] [-k EXPR]] FILE...\n");
    return 2;
  }
  const given = files.map((file) => [file, resolve(cwd, file)]);
  const pyodide = await boot();
  pyodide.globals.set(
    "_given",
    pyodide.toPy({ files: given, json, filter, site: pytest ? pytestFolder(root) : "" }),
  );
  pyodide.runPython(readFileSync(join(here, pytest ? "tests.py" : "files.py"), "utf8"));
  return pyodide.globals.get("_status");
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error?.stack ?? error}\n`);
  return 1;
});
// Handles that a script left open do not keep the process.
process.exit();
