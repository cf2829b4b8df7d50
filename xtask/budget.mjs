// Weighs dist/ as a browser would receive it (brotli, quality 11) and compares with budget.json.
// Also holds two things that a build loses silently: the engine is in the site, and no file is
// named by a path from the root of the host, so the site works under a sub-path.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(root, "dist");
const budget = JSON.parse(readFileSync(join(root, "budget.json"), "utf8"));
const complaints = [];

/** Paths of all files of the site, with forward slashes, relative to dist. */
const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(dist, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"))
  .sort();
const python = (file) => /(?:^|\/)(?:pyodide|python)[-._]/.test(file);
const text = (file) => readFileSync(join(dist, file), "utf8");

/** Returns what a file of the site weighs. Several are weighed at once: brotli has threads of its own. */
async function weigh(file) {
  const bytes = readFileSync(join(dist, file));
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  // CPython is large and not ours: a lower quality is an upper bound, in a tenth of the time.
  if (python(file) && !file.includes("python-modules")) params[constants.BROTLI_PARAM_QUALITY] = 9;
  return (await promisify(brotliCompress)(bytes, { params })).length;
}

/** Returns the files that `file` loads at once: tags of a page, static imports and workers of a script. */
function loads(file) {
  const found = [];
  const add = (pattern) => {
    for (const [, name] of text(file).matchAll(pattern)) {
      const path = posix.join(posix.dirname(file), name);
      if (existsSync(join(dist, path))) found.push(path);
    }
  };
  if (file.endsWith(".html")) {
    for (const [tag] of text(file).matchAll(/<(script|link)\b[^>]*>/g)) {
      const name = /\b(?:src|href)="([^"]+)"/.exec(tag)?.[1];
      if (!name) continue;
      if (name.startsWith("/")) complaints.push(`${file} names ${name} from the root of the host`);
      const path = posix.join(posix.dirname(file), name);
      if (/\.(js|css)$/.test(name) && existsSync(join(dist, path))) found.push(path);
    }
  } else if (file.endsWith(".js")) {
    add(/\b(?:from|import)\s*["'`](\.[^"'`]+)["'`]/g);
    add(/new Worker\((?:\s*new URL\()+\s*["'`]([^"'`]+\.js)["'`]/g);
  }
  return found;
}

const first = new Set(["index.html"]);
for (const file of first) for (const next of loads(file)) first.add(next);

const wasm = files.filter((file) => file.endsWith(".wasm") && !python(file));
if (wasm.length === 0) complaints.push("there is no .wasm in dist/: the engine was left out of the build");

// The half of the engine that every program needs, and the one that comes when it is called.
const second = (file) => file.includes("passlab_second");
const rows = [
  ["wasm", wasm.filter((file) => !second(file))],
  ["wasmOnDemand", wasm.filter(second)],
  ["firstScreen", [...first]],
  ["allScripts", files.filter((file) => file.endsWith(".js"))],
  // CPython and the package tvm: fetched with the first script in Python.
  ["python", files.filter(python)],
  // The files that a foreign page loads for its first embed, before the frame.
  ["embedLoader", ["embed.js", ...loads("embed.js")]],
];
const weighed = [...new Set(rows.flatMap(([, list]) => list))];
const weights = new Map(await Promise.all(weighed.map(async (file) => [file, await weigh(file)])));
for (const [name, list] of rows) {
  const weight = list.reduce((total, file) => total + weights.get(file), 0);
  const limit = budget[name];
  console.log(`${name.padEnd(12)} ${String(weight).padStart(7)} of ${limit} bytes`);
  for (const file of list) console.log(`  ${String(weights.get(file)).padStart(9)}  ${file}`);
  if (!(weight <= limit)) complaints.push(`${name}: ${weight} bytes are more than the ${limit} of budget.json`);
}
for (const complaint of complaints) console.error(`budget: ${complaint}`);
process.exitCode = complaints.length > 0 ? 1 : 0;
