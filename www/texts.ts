/** Texts that the page fetches when they are asked for, each kind as one file: fewer to fetch, and they compress better. */
import { readdirSync, readFileSync } from "node:fs";
import { parse, resolve } from "node:path";
import type { Made } from "./made.ts";
import { API } from "./user/docs.ts";
import { pythonApi } from "./user/python-docs.ts";
import { samples } from "./user/samples/list.ts";

const SOURCE = /\.(relay|py|js|md|json)$/;

/** The texts of the files in a folder, by their names without the ending. */
function folder(path: string): Record<string, string> {
  const at = resolve(import.meta.dirname, path);
  const names = readdirSync(at).filter((name) => SOURCE.test(name));
  return Object.fromEntries(
    names.map((name) => [parse(name).name, readFileSync(resolve(at, name), "utf8")]),
  );
}

function lessons(): Record<string, Record<string, string>> {
  const entries = readdirSync(resolve(import.meta.dirname, "lessons"), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, folder(`lessons/${name}`)]));
}

export const texts: Record<string, Made> = {
  "passlab-examples": {
    name: "examples.json",
    make: () => JSON.stringify(folder("examples")),
  },
  "passlab-lessons": { name: "lessons.json", make: () => JSON.stringify(lessons()) },
  "passlab-samples": {
    name: "samples.json",
    make: () => JSON.stringify({ list: samples, scripts: folder("user/samples") }),
  },
  "passlab-api": { name: "api.json", make: () => JSON.stringify(API) },
  "passlab-api-python": { name: "api-python.json", make: () => JSON.stringify(pythonApi()) },
};
