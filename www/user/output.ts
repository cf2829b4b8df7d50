/** Collects the lines that a script prints to its console. */
import { cross } from "./engine";

const MAX_LINES = 10_000;
const MAX_LINE = 10_000;

let output: string[] = [];

export function forgetOutput(): void {
  output = [];
}

export function printed(): readonly string[] {
  return output;
}

function show(item: unknown): string {
  if (typeof item === "string") return item;
  const proto = typeof item === "object" && item !== null ? Object.getPrototypeOf(item) : null;
  if (proto && proto !== Object.prototype && !Array.isArray(item)) return String(item);
  try {
    const plain = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);
    return JSON.stringify(item, plain) ?? String(item);
  } catch {
    return Object.prototype.toString.call(item);
  }
}

/** Keeps a line; false when there are too many. */
function keep(line: string): boolean {
  if (output.length < MAX_LINES) output.push(line.slice(0, MAX_LINE));
  else if (output.length === MAX_LINES) output.push("... and more");
  else return false;
  return true;
}

export function print(...items: unknown[]): void {
  const line = items.map(show).join(" ").slice(0, MAX_LINE);
  if (keep(line)) cross().user_log(line);
}

/** Keeps the output of passes and instruments that the script called while it was loaded. */
export function printLater(): void {
  for (const text of cross().user_printed()) keep(text);
}

export const userConsole = Object.freeze({
  log: print,
  info: print,
  debug: print,
  warn: print,
  error: print,
});
