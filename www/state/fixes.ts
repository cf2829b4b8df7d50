/** What was perhaps meant: a problem that names it is mended by a click. Pure. */
import type { Problem } from "../engine/protocol";

export interface Fix {
  /** What takes the place of what is wrong. */
  word: string;
  from: number;
  to: number;
  /** The whole text with it. */
  text: string;
}

const MEANT = /did you mean [`'"‘“]([^`'"’”]+)[`'"’”]/i;
const QUOTED = /[`'"‘“]([^`'"’”\s]+)[`'"’”]/g;

/** The fix of a problem of a text; null where none is offered, or its place is not plain. */
export function fixOf(problem: Problem, text: string): Fix | null {
  const { from, to, message, notes } = problem;
  const word = [message, ...notes].map((line) => MEANT.exec(line)?.[1]).find(Boolean);
  if (!word || from === null || to === null) return null;
  const place = placeOf(text.slice(from, to), message, word);
  if (!place) return null;
  const [start, end] = [from + place.at, from + place.at + place.length];
  return { word, from: start, to: end, text: text.slice(0, start) + word + text.slice(end) };
}

/** Where in what is underlined the wrong name stands: all of it, or what the message quotes. */
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
