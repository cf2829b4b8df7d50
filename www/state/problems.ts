/** The list of problems as it is read: each thing that is wrong once, however many steps said so. Pure. */
import type { Problem } from "../engine/protocol";

export interface Listed {
  problem: Problem;
  /** Its place is in the script. */
  script: boolean;
  /** The origin of the message, if it is not the program itself. */
  tag: string;
}

/** Drops a place before or after a message, so that equal messages compare equal. */
const said = (text: string) =>
  text
    .replace(/^(line \d+(, column \d+)?|\d+:\d+): /, "")
    .replace(/ \(line \d+ of My passes\)$/, "")
    .trim();

/** Removes duplicates at one place, and messages without a place that repeat one with a place. */
export function onceEach(all: readonly Listed[]): Listed[] {
  const placed = new Set(
    all.filter(({ problem }) => problem.from !== null).map(({ problem }) => said(problem.message)),
  );
  const seen = new Set<string>();
  return all.filter(({ problem, script }) => {
    const message = said(problem.message);
    if (problem.from === null && placed.has(message)) return false;
    const key = `${problem.severity} ${problem.from === null ? "" : script} ${problem.from} ${message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
