/** The names of the package `tvm` with their signatures and docs, read from its source: what the editor completes and explains. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ApiEntry } from "./docs.ts";

/** A class or function with its parameters, which may go over lines, and the first line of what is said of it. */
const DEFINITION =
  /^(?<indent> {0,4})(?<kind>class|def) (?<name>[A-Za-z]\w*)(?:\((?<given>[^()]*(?:\([^()]*\)[^()]*)*)\))?(?: -> [^:]+)?:\s*\n\s*"""(?<doc>.+?)(?:"""|\n)/gm;

/** The names of a text of Python: top-level functions and classes, and methods as `Class.method`. */
export function namesInPython(text: string): ApiEntry[] {
  const found: ApiEntry[] = [];
  let owner = "";
  for (const { groups = {}, index } of text.matchAll(DEFINITION)) {
    const { indent = "", kind, given = "", doc = "" } = groups;
    const own = groups.name ?? "";
    if (indent === "") owner = kind === "class" ? own : "";
    else if (kind === "class" || owner === "") continue;
    const name = indent === "" ? own : `${owner}.${own}`;
    const params = given.replace(/\s+/g, " ").replace(/^ ?(?:self|cls)(?:, ?|$)/, "");
    const isProperty = /@property\s*$/.test(text.slice(Math.max(0, index - 40), index));
    const shown =
      kind === "class" || isProperty ? name : `${name}(${params.replace(/,? $/, "").trim()})`;
    found.push({
      name,
      signature: kind === "class" ? `class ${own}(${params.trim()})` : shown,
      doc,
    });
  }
  return found;
}

/** The public names of the package. One that stands in several modules comes once for each way to call it. */
export function pythonApi(): ApiEntry[] {
  const base = resolve(import.meta.dirname, "../python/tvm");
  const paths = readdirSync(base, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".py") && !/(^|\/)_[^_/]/.test(path))
    .sort();
  const known = new Map<string, ApiEntry>();
  for (const path of paths)
    for (const entry of namesInPython(readFileSync(join(base, path), "utf8")))
      known.set(entry.signature, known.get(entry.signature) ?? entry);
  return [...known.values()];
}
