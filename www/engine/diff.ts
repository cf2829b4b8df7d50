/** The rows of a diff out of the numbers that the engine sends: five for a row, and then its words. */
import { DIFF_KINDS, type Diff, type DiffRow } from "./protocol";

/** Unpacks a diff. Meaningless numbers, as a script could send them, give empty lines. */
export function rowsOf(diff: Diff | null): DiffRow[] {
  const rows: DiffRow[] = [];
  if (!diff) return rows;
  const { rows: numbers } = diff;
  const before = diff.before.split("\n");
  const after = diff.after.split("\n");
  const none: number[] = [];
  let at = 0;
  const words = (count: number) => {
    if (count === 0) return none;
    const found: number[] = [];
    for (const end = Math.min(at + count, numbers.length); at < end; at++)
      found.push(numbers[at] ?? 0);
    return found;
  };
  while (at + 5 <= numbers.length) {
    const left = numbers[at + 1] ?? 0;
    const right = numbers[at + 2] ?? 0;
    const leftWords = numbers[at + 3] ?? 0;
    const rightWords = numbers[at + 4] ?? 0;
    const kind = DIFF_KINDS[numbers[at] ?? 0] ?? "same";
    at += 5;
    rows.push({
      kind,
      left: left || null,
      right: right || null,
      leftText: before[left - 1] ?? "",
      rightText: after[right - 1] ?? "",
      leftWords: words(leftWords),
      rightWords: words(rightWords),
    });
  }
  return rows;
}

/** Packs rows, the inverse of `rowsOf`. */
export function packed(rows: readonly DiffRow[]): Uint32Array {
  return Uint32Array.from(
    rows.flatMap((row) => [
      DIFF_KINDS.indexOf(row.kind),
      row.left ?? 0,
      row.right ?? 0,
      row.leftWords.length,
      row.rightWords.length,
      ...row.leftWords,
      ...row.rightWords,
    ]),
  );
}
