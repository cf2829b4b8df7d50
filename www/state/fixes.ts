/** Repairs of problems: those that the engine knows, and names that were perhaps meant. Pure. */
import type { Fix, Problem } from "../engine/protocol";

/** Returns a text after a repair. `values` stand in the place of the likely values of the names that it asks for. */
export function edited(text: string, fix: Fix, values: readonly string[]): string {
  const fill = (insert: string) =>
    fix.asks.reduce((line, [name, likely], at) => {
      const value = (values[at] ?? likely).replaceAll(/\s+/g, " ").trim();
      return line.replace(`${name}=${likely}\n`, () => `${name}=${value}\n`);
    }, insert);
  let [end, done] = [0, ""];
  for (const [from, to, insert] of fix.edits) {
    // The text was edited since.
    if (to > text.length) return text;
    done += text.slice(end, from) + fill(insert);
    end = to;
  }
  return done + text.slice(end);
}

/** A name that was perhaps meant. */
export interface Meant {
  /** The replacement for the wrong name. */
  word: string;
  from: number;
  to: number;
  /** The whole text with it. */
  text: string;
}

const MEANT = /did you mean [`'"‘“]([^`'"’”]+)[`'"’”]/i;
const QUOTED = /[`'"‘“]([^`'"’”\s]+)[`'"’”]/g;

/** Returns the name that was meant in a text; null where none is offered, or its place is not plain. */
export function fixOf(problem: Problem, text: string): Meant | null {
  const { from, to, message, notes } = problem;
  const word = [message, ...notes].map((line) => MEANT.exec(line)?.[1]).find(Boolean);
  if (!word || from === null || to === null) return null;
  const place = placeOf(text.slice(from, to), message, word);
  if (!place) return null;
  const [start, end] = [from + place.at, from + place.at + place.length];
  return { word, from: start, to: end, text: text.slice(0, start) + word + text.slice(end) };
}

/** Finds the wrong name in the underlined text: all of it, or the part that the message quotes. */
function placeOf(
  underlined: string,
  message: string,
  word: string,
): { at: number; length: number } | null {
  if (/^[%@]?[\w.]+$/.test(underlined)) return { at: 0, length: underlined.length };
  for (const [, name = ""] of message.matchAll(QUOTED)) {
    const at = underlined.indexOf(name);
    if (name !== word && at >= 0) return { at, length: name.length };
  }
  return null;
}
