/** Suggests the names that were perhaps meant; a click then mends the problem. Pure. */
import type { Problem } from "../engine/protocol";

export interface Fix {
  /** The replacement for the wrong name. */
  word: string;
  from: number;
  to: number;
  /** The whole text with it. */
  text: string;
}

const MEANT = /did you mean [`'"‘“]([^`'"’”]+)[`'"’”]/i;
const QUOTED = /[`'"‘“]([^`'"’”\s]+)[`'"’”]/g;

/** Returns the fix of a problem of a text; null where none is offered, or its place is not plain. */
export function fixOf(problem: Problem, text: string): Fix | null {
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
