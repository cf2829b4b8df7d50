/**
 * Builds the sandbox: its frame as a page whose policy names the hash of its one script, and its worker as one classic
 * script, because a module worker does not start from a blob in a frame without an origin.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { build, type Plugin } from "vite";
import type { Made } from "../made.ts";
import { smallLibrary } from "./library.ts";

const here = import.meta.dirname;

/** Returns the frame's page: no network, storage or other script; worker and user's module are the frame's blobs. */
function framePage(): string {
  const script = readFileSync(resolve(here, "frame.js"), "utf8");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}' 'wasm-unsafe-eval' blob:; worker-src blob:`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <title>Sandbox</title>
  </head>
  <body>
    <script>${script}</script>
  </body>
</html>
`;
}

/**
 * The glue can fetch the engine itself, from an address that it knows. The sandbox gives it bytes; left in, that address
 * would bring the whole engine along, as text.
 */
const withoutFetching: Plugin = {
  name: "passlab-no-fetching",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/passlab.js")) return undefined;
    const both = "export { initSync, __wbg_init as default };";
    if (!code.includes(both)) this.error(`${both} is not in the glue any more`);
    return code.replace(both, "export { initSync };");
  },
};

async function harnessScript(alias: Record<string, string>, minify: boolean): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "warn",
    resolve: { alias },
    plugins: [withoutFetching],
    publicDir: false,
    build: {
      write: false,
      target: "es2022",
      minify,
      // A script prints the class names of its nodes, and messages contain them.
      rolldownOptions: { output: { keepNames: true } },
      lib: { entry: resolve(here, "harness.ts"), formats: ["iife"], name: "harness" },
    },
  });
  const [first] = Array.isArray(result) ? result : [result];
  const chunk = first && "output" in first ? first.output[0] : undefined;
  if (chunk?.type !== "chunk") throw new Error("the sandbox's worker was not built");
  return chunk.code;
}

/** The modules of Python under `www/python` by their paths, and what CPython says of itself. */
function pythonModules(): string {
  const base = resolve(here, "../python");
  const paths = readdirSync(base, { recursive: true, encoding: "utf8" })
    .map((path) => join(base, path))
    .filter((path) => path.endsWith(".py") && !relative(base, path).startsWith("node"));
  const modules = paths
    .sort()
    .map((path) => [relative(base, path).replaceAll("\\", "/"), readFileSync(path, "utf8")]);
  const lock = resolve(here, "../../node_modules/pyodide/pyodide-lock.json");
  const { info } = JSON.parse(readFileSync(lock, "utf8"));
  return JSON.stringify({ info, modules: Object.fromEntries(modules) });
}

/** The files of CPython in the package `pyodide`. */
const PYTHON: Record<string, string> = {
  loader: "pyodide.mjs",
  asm: "pyodide.asm.mjs",
  wasm: "pyodide.asm.wasm",
  library: "python_stdlib.zip",
};

/** CPython and the package `tvm`: nothing loads them before the first script in Python. */
export const python: Record<string, Made> = {
  "passlab-python/modules": { name: "python-modules.json", make: pythonModules },
};
for (const [part, name] of Object.entries(PYTHON)) {
  const whole = () => readFileSync(resolve(here, "../../node_modules/pyodide", name));
  const make = part === "library" ? () => smallLibrary(whole()) : whole;
  python[`passlab-python/${part}`] = { name, make };
}

/** Builds the two files: nothing loads them before the first script is run. */
export function sandbox(alias: Record<string, string>): Record<string, Made> {
  return {
    "passlab-sandbox-frame": { name: "sandbox.html", make: framePage },
    "passlab-harness": { name: "harness.js", make: (minify) => harnessScript(alias, minify) },
  };
}
