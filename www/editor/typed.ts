/**
 * Infers the type of an expression in a script from the text and the documentation of the API: precisely enough to
 * complete and explain the members after a dot. Runs nothing. Pure.
 */
import type { ApiEntry } from "../user/docs";

/** The members of a class with their types; empty for an undocumented type. */
export type Classes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The documented types of the API. */
export interface Api {
  classes: Classes;
  /** The result types of functions, by name. */
  results: ReadonlyMap<string, string>;
  /** Types of the parameters of hooks and of the functions that passes are made of, by name and place. */
  params: ReadonlyMap<string, readonly string[]>;
}

/** Cuts at commas that stand in no bracket. */
function parts(text: string): string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if ("([{<".includes(char)) depth++;
    else if (")]}".includes(char) || (char === ">" && text[at - 1] !== "=")) depth--;
    else if (char === "," && depth === 0) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
  }
  found.push(text.slice(from));
  return found.map((part) => part.trim()).filter(Boolean);
}

/** Returns the text between the first of two brackets and its partner. */
function within(text: string, open: string, close: string): string {
  const from = text.indexOf(open);
  if (from < 0) return "";
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === open) depth++;
    else if (text[at] === close && --depth === 0) return text.slice(from + 1, at);
  }
  return "";
}

/** Splits `op?: Expr = x` into name and type. */
function typed(part: string): [string, string] {
  const hit = /^(\w+)\??\s*(?::\s*([^=]+?))?\s*(?:=.*)?$/.exec(part);
  return [hit?.[1] ?? "", hit?.[2]?.trim() ?? ""];
}

export function apiOf(entries: readonly ApiEntry[]): Api {
  const classes = new Map<string, Map<string, string>>();
  const results = new Map<string, string>();
  const params = new Map<string, string[]>();
  const membersOf = (name: string) => {
    const known = classes.get(name) ?? new Map<string, string>();
    classes.set(name, known);
    return known;
  };
  for (const { name, signature } of entries) {
    const dot = name.lastIndexOf(".");
    const result = /\)\s*:\s*([\w.[\]<>]+)/.exec(signature)?.[1] ?? "";
    const args = parts(within(signature, "(", ")")).map(typed);
    const body = signature.includes("{") ? /\{([^{}]*)\}\s*$/.exec(signature)?.[1] : undefined;
    if (dot > 0 && /^[A-Z]/.test(name.slice(name.lastIndexOf(".", dot - 1) + 1))) {
      const member = name.slice(dot + 1);
      const type = signature.includes("(") ? result : (typed(signature)[1] ?? "");
      membersOf(name.slice(0, dot)).set(member, type);
      // Hooks of one name take the same everywhere.
      if (signature.includes("(") && !params.has(member))
        params.set(
          member,
          args.map(([, type]) => type),
        );
      continue;
    }
    const f = /f: \(([^)]*)\) =>/.exec(signature)?.[1];
    if (f) {
      const types = parts(f).map((part) => typed(part)[1]);
      params.set(name, types);
      const method = /method is (\w+)/.exec(signature)?.[1];
      if (method) params.set(method, types);
    }
    if (/^(new |class |abstract class )/.test(signature) && body !== undefined) {
      const given = new Map(args);
      for (const part of parts(body)) {
        const called = /^(\w+)\(/.exec(part)?.[1];
        const [member, type] = called ? [called, ""] : typed(part);
        if (member) membersOf(name).set(member, type || given.get(member) || "");
      }
    } else if (result) results.set(name, result);
  }
  const everywhere: [string, string[]][] = [
    ["runBeforePass", ["IRModule", "PassInfo"]],
    ["runAfterPass", ["IRModule", "PassInfo"]],
    ["shouldRun", ["IRModule", "PassInfo"]],
    ["transformFunction", ["Func", "IRModule", "PassContext"]],
    ["transformModule", ["IRModule", "PassContext"]],
  ];
  for (const [name, types] of everywhere) if (!params.has(name)) params.set(name, types);
  if (!classes.has("PassInfo")) {
    classes.set(
      "PassInfo",
      new Map([
        ["name", "string"],
        ["optLevel", "number"],
        ["required", "string[]"],
      ]),
    );
  }
  const func = classes.get("Function");
  if (func) classes.set("Func", func);
  return { classes, results, params };
}

/** The expression that ends at a place: names, dots, indices and calls. */
const RECEIVER =
  /(?:new\s+)?[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[[^[\]]*\]|\((?:[^()]|\([^()]*\))*\))*$/;

const FURTHEST = 4000;
/** An expression that leads to another one is followed so often. */
const DEEPEST = 6;

/** Returns the type of the expression that ends at `at`; null for one that cannot be told. */
export function typeBefore(text: string, at: number, api: Api, depth = 0): string | null {
  if (depth > DEEPEST) return null;
  const before = text.slice(Math.max(0, at - FURTHEST), at);
  const expression = RECEIVER.exec(before.slice(-300))?.[0];
  if (!expression) return null;
  const made = /^new\s+([\w$]+)\(/.exec(expression)?.[1];
  if (made) return made;
  const steps =
    expression.match(/^[\w$]+|\??\.[\w$]+|\[[^[\]]*\]|\((?:[^()]|\([^()]*\))*\)/g) ?? [];
  const [head = "", ...rest] = steps;
  const start = at - expression.length;
  let type: string | null;
  let skip = 0;
  if (rest[0]?.startsWith("(")) {
    type = api.results.get(head) ?? null;
    skip = 1;
  } else if ((head === "super" || head === "this") && /^\.visit/.test(rest[0] ?? "")) {
    // A hook of a mutator returns an expression.
    type = rest[1]?.startsWith("(") ? "Expr" : null;
    skip = 2;
  } else type = typeOfName(text, start, head, api, depth);
  for (const step of rest.slice(skip)) {
    if (type === null) return null;
    if (step.startsWith("[")) type = /^(.+)\[\]$/.exec(type)?.[1] ?? null;
    else if (step.startsWith("(")) continue;
    else {
      const member = step.replace(/^\??\./, "");
      type = api.classes.get(type)?.get(member) || null;
    }
  }
  return type?.replace(/ \| null$/, "") ?? null;
}

function typeOfName(
  text: string,
  at: number,
  name: string,
  api: Api,
  depth: number,
): string | null {
  const before = text.slice(Math.max(0, at - FURTHEST), at);
  if (name === "this" || name === "super") {
    return [...before.matchAll(/class\s+[\w$]*\s*(?:extends\s+([\w$.]+))?/g)].at(-1)?.[1] ?? null;
  }
  if (!/^[\w$]+$/.test(name)) return null;
  const word = name.replaceAll("$", "\\$");
  // The nearest of: a test of its kind, its declaration, a parameter of its name.
  const tests = [...before.matchAll(new RegExp(`\\b${word}\\s+instanceof\\s+([\\w$.]+)`, "g"))].at(
    -1,
  );
  const declared = [
    ...before.matchAll(new RegExp(`\\b(?:const|let|var)\\s+${word}\\s*=\\s*([^;\\n]+)`, "g")),
  ].at(-1);
  const params = [
    ...before.matchAll(/([\w$]+)\s*\(([\w$\s,]*)\)\s*(\{|=>)|\(([\w$\s,]*)\)\s*=>|([\w$]+)\s*=>/g),
  ]
    .filter((hit) => namesOf(hit).includes(name))
    .at(-1);
  const nearest = [tests, declared, params].reduce((best, hit) =>
    (hit?.index ?? -1) > (best?.index ?? -1) ? hit : best,
  );
  if (!nearest) return null;
  if (nearest === tests) return tests?.[1] ?? null;
  if (nearest === declared) {
    const end = Math.max(0, at - FURTHEST) + nearest.index + nearest[0].trimEnd().length;
    return typeBefore(text, end, api, depth + 1);
  }
  const place = namesOf(nearest).indexOf(name);
  const method = nearest[3] === "{" ? nearest[1] : undefined;
  if (method) return api.params.get(method)?.[place] || null;
  // A function as the argument of a pass maker.
  const maker = [...before.slice(0, nearest.index).matchAll(/\b(\w+)\(\s*(?:\{|\()/g)]
    .filter((hit) => api.params.has(hit[1] ?? ""))
    .at(-1)?.[1];
  return (maker && api.params.get(maker)?.[place]) || null;
}

const namesOf = (hit: RegExpMatchArray | RegExpExecArray): string[] =>
  (hit[2] ?? hit[4] ?? hit[5] ?? "").split(",").map((name) => name.trim());
