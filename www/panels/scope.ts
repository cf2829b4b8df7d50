/** Finds the function around each line of a module's text, and the part of a diff about one function. Pure. */
import type { DiffRow } from "../engine/protocol";

/** Match `def @main(` of Relay at the margin, `def main(` of TVMScript in its class, the end of a function of Relay. */
const RELAY = /^def @([\w.]+)/;
const SCRIPT = /^ {4}def (\w+)\(/;

/** Returns the function around each line of a module's text, from 1; empty outside of functions. */
export function functionsOf(lines: readonly string[]): string[] {
  const owners: string[] = [""];
  let now = "";
  lines.forEach((line, index) => {
    const relay = RELAY.exec(line);
    if (relay) now = relay[1] ?? "";
    // The decorators above a function of TVMScript are part of it.
    else if (/^ {4}@/.test(line)) now = nameBelow(lines, index);
    else if (SCRIPT.test(line)) now = SCRIPT.exec(line)?.[1] ?? "";
    else if (/^(#\[metadata\]|# Metadata|type |extern )/.test(line)) now = "";
    owners.push(now);
    if (line === "}") now = "";
  });
  return owners;
}

/** Returns the function whose decorator stands in a line. */
function nameBelow(lines: readonly string[], from: number): string {
  for (const line of lines.slice(from, from + 20)) {
    const hit = SCRIPT.exec(line);
    if (hit) return hit[1] ?? "";
  }
  return "";
}

/** Returns the rows of a diff that stand in a function, before or after. All of them for none. */
export function rowsIn(rows: readonly DiffRow[], func: string): readonly DiffRow[] {
  if (!func) return rows;
  const [before, after]: [string[], string[]] = [[], []];
  for (const { left, right, leftText, rightText } of rows) {
    if (left !== null) before[left - 1] = leftText;
    if (right !== null) after[right - 1] = rightText;
  }
  const [old, fresh] = [functionsOf(filled(before)), functionsOf(filled(after))];
  return rows.filter(
    ({ left, right }) =>
      (left !== null && old[left] === func) || (right !== null && fresh[right] === func),
  );
}

const filled = (lines: readonly (string | undefined)[]) => Array.from(lines, (line) => line ?? "");
