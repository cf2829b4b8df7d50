/** Instruments as calls, their log as text, and the findings of passes. Pure. */
import type { InstrumentDoc, LogEntry, Problem, Step } from "../engine/protocol";
import { callArguments, callName } from "./calls";

/** The names of instruments in drafts and links of the first versions. */
const aliases: Record<string, string> = {
  PassTiming: "PassTimingInstrument",
  PrintBefore: "PrintBeforeAll",
  PrintAfter: "PrintAfterAll",
};

/** Returns the instrument that a call makes. */
export function instrumentName(call: string): string {
  const name = callName(call);
  return aliases[name] ?? name;
}

/** Returns the arguments of a call as they are written: `a, b=[1, 2]` has two. A missing name is empty. */
export function splitArguments(call: string): { name: string; text: string }[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = "";
  let from = 0;
  const inner = callArguments(call);
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at] ?? "";
    if (quote) {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    else if (char === "," && depth === 0) {
      parts.push(inner.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(inner.slice(from));
  return parts
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const named = part.match(/^([A-Za-z_]\w*)\s*=(?!=)\s*(.*)$/s);
      return named ? { name: named[1] ?? "", text: named[2] ?? "" } : { name: "", text: part };
    });
}

/** Returns the value of each parameter in a call, as a Python literal. */
export function argumentsOf(doc: InstrumentDoc, call: string): string[] {
  const values = doc.params.map((param) => param.default);
  splitArguments(call).forEach(({ name, text }, place) => {
    const index = name ? doc.params.findIndex((param) => param.name === name) : place;
    if (index >= 0 && index < values.length) values[index] = text;
  });
  return values;
}

/** Returns the shortest call with these values. */
export function callWith(doc: InstrumentDoc, values: readonly string[]): string {
  const written = doc.params
    .map((param, index) => ({ param, value: values[index]?.trim() || param.default }))
    .filter(({ param, value }) => value !== param.default)
    .map(({ param, value }) => `${param.name}=${value}`);
  return written.length > 0 ? `${doc.name}(${written.join(", ")})` : doc.name;
}

/** Converts a Python list of strings to names with commas; `fromNames` converts back. */
export function toNames(literal: string): string {
  return [...literal.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g)]
    .map((hit) => hit[1] ?? hit[2] ?? "")
    .join(", ");
}

export function fromNames(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
}

const marks: Record<LogEntry["kind"], string> = {
  call: "› ",
  refused: "– ",
  failed: "✕ ",
  printed: "",
};

/** Returns the log as text: calls of hooks are indented by the nesting of passes, printed text is not changed. */
export function logText(log: readonly LogEntry[], steps: readonly Step[], hooks: boolean): string {
  const lines: string[] = [];
  for (const entry of log) {
    if (entry.kind === "call" && !hooks) continue;
    const depth = entry.step === null ? 0 : (steps[entry.step]?.depth ?? 0) + 1;
    const indent = entry.kind === "printed" ? "" : "  ".repeat(depth);
    lines.push(`${indent}${marks[entry.kind]}${entry.text.replace(/\n+$/, "")}`);
  }
  return lines.join("\n");
}

/** Returns the problems that the steps reported, each once: a pass that fails inside another one fails that one too. */
export function passProblems(steps: readonly Step[]): { problem: Problem; step: Step }[] {
  const found: { problem: Problem; step: Step }[] = [];
  for (const step of steps) {
    const above = step.parent === null ? undefined : steps[step.parent];
    for (const problem of step.problems) {
      if (problem.severity === "error" && above?.outcome === "failed") continue;
      found.push({ problem, step });
    }
  }
  return found;
}
