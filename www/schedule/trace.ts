/** The text of a schedule: instructions of a trace, a line each. One that is switched off is a comment. */
import type { Instruction } from "../engine/protocol";

/** A line of the list of instructions. */
export interface Line {
  from: number;
  to: number;
  /** The instruction without the mark that switches it off. */
  code: string;
  on: boolean;
  /** It may change the program, and has a step. */
  changes: boolean;
}

/** The methods of a schedule, to be completed where one is typed. */
export const PRIMITIVES =
  `add_unit_loop annotate annotate_buffer_access bind blockize cache_index cache_inplace cache_read
  cache_write compute_at compute_inline decompose_padding decompose_reduction enter_postproc fuse fuse_reduction_epilogue
  get_child_blocks get_consumers get_loops get_output_blocks get_producers get_sblock loop_partition merge pad_einsum parallel
  read_at reindex reindex_cache_read reindex_cache_write reorder reorder_block_iter_var reverse_compute_at
  reverse_compute_inline rfactor rolling_buffer sample_categorical sample_compute_location sample_partitioned_tile
  sample_perfect_tile set_scope split storage_align tensorize transform_block_layout transform_layout unannotate unroll
  unsafe_hide_buffer_access unsafe_set_dtype vectorize work_on write_at`.split(/\s+/);

const OFF = /^[ \t]*#[ \t]*((?:[\w, [\]()]+=[ \t]*)?\w+\.\w+\(.*\)[ \t]*)$/gm;

/** The instructions that the engine read and those that are switched off, in the order of the text. */
export function linesOf(text: string, read: readonly Instruction[]): Line[] {
  const lines: Line[] = read.map(({ from, to, changes }) => ({
    from,
    to,
    code: text.slice(from, to),
    on: true,
    changes,
  }));
  for (const found of text.matchAll(OFF)) {
    const from = found.index + found[0].indexOf("#");
    if (lines.some((line) => line.on && line.from <= from && from < line.to)) continue;
    const code = (found[1] ?? "").trim();
    const to = found.index + found[0].trimEnd().length;
    lines.push({ from, to, code, on: false, changes: changesProgram(code) });
  }
  return lines.sort((a, b) => a.from - b.from);
}

/** True if an instruction may change the program; the others look for blocks and loops, or decide on numbers. */
export function changesProgram(code: string): boolean {
  const name = /\.(\w+)\(/.exec(code)?.[1] ?? "";
  return !/^(get_|sample_|work_on$|enter_postproc$|remove_rv$)/.test(name);
}

const write = (line: Line, on = line.on) =>
  on ? line.code : `# ${line.code.replaceAll("\n", " ")}`;

/** The text with another one in the place of a line. */
export const replaced = (text: string, line: Line, by: string): string =>
  text.slice(0, line.from) + by + text.slice(line.to);

export const toggled = (text: string, line: Line): string =>
  replaced(text, line, write(line, !line.on));

/** The text without a line, and without what was left of the row that it stood in. */
export function removed(text: string, line: Line): string {
  const before = text.slice(0, line.from).replace(/[ \t]*$/, "");
  const after = text.slice(line.to).replace(/^[ \t]*\n?/, "");
  return before + after;
}

/** A line stands before the one at another place, or at the end. */
export function moved(text: string, lines: readonly Line[], from: number, to: number): string {
  const order = [...lines];
  const [line] = order.splice(from, 1);
  if (!line || from === to) return text;
  order.splice(to, 0, line);
  // Text between instructions stays in its place.
  let made = "";
  let at = 0;
  lines.forEach((old, index) => {
    made += text.slice(at, old.from) + write(order[index] as Line);
    at = old.to;
  });
  return made + text.slice(at);
}

/** The text with instructions behind a line; without one at the beginning. */
export function inserted(text: string, after: Line | undefined, code: string): string {
  const lines = code.trim();
  if (!after) return `${lines}\n${text}`;
  const indent = /[ \t]*$/.exec(text.slice(0, after.from))?.[0] ?? "";
  const more = lines.replace(/^/gm, indent);
  return `${text.slice(0, after.to)}\n${more}${text.slice(after.to) || "\n"}`;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

/** The trace of `Schedule(trace="...")`; null where the call is written otherwise. */
export function traceOf(call: string): string | null {
  const found =
    /^\s*(?:\w+\.)*Schedule\s*\(\s*(?:trace\s*=\s*)?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*,?\s*\)\s*$/s.exec(
      call,
    );
  const literal = found?.[1];
  if (literal === undefined)
    return /^\s*(?:\w+\.)*Schedule(\s*\(\s*\))?\s*$/.test(call) ? "" : null;
  return literal
    .slice(1, -1)
    .replace(/\\(?:x([\da-f]{2})|u([\da-f]{4})|(.))/gis, (whole, x, u, char) => {
      if (x ?? u) return String.fromCharCode(Number.parseInt(x ?? u, 16));
      return ESCAPES[char] ?? ("\\'\"".includes(char) ? char : whole);
    });
}

/** The call of a trace. */
export function callOf(trace: string): string {
  return `Schedule(trace=${JSON.stringify(trace)})`;
}
