/** Places in the text of the program. */
import { cross } from "./engine";

/** A range in the text, as TVM's `Span` has it: lines and columns from 1; the end is one past the last character. */
export class Span {
  constructor(
    readonly line: number,
    readonly column: number,
    readonly endLine: number,
    readonly endColumn: number,
    /** First byte and the one behind the last, for the engine. */
    readonly start: number,
    readonly end: number,
  ) {}
  toString(): string {
    return `${this.line}:${this.column}`;
  }
}

/** Returns the place that a node descends from. */
export function spanOf(id: number): Span | null {
  const [start = 0, end = 0, line, column = 0, endLine = 0, endColumn = 0] = cross().user_span(id);
  return line === undefined ? null : new Span(line, column, endLine, endColumn, start, end);
}
