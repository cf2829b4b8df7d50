/** Parses typed tensor elements, takes slices and computes summaries of tensors. Pure. */
import type { ValuePart } from "../engine/protocol";

/** Rows and columns of a table, or cells along a side of a heat map, beyond which the rest is not drawn. */
export const MOST_ROWS = 64;
export const MOST_COLUMNS = 32;
export const MOST_CELLS = 256;

const WORDS: Record<string, number> = {
  true: 1,
  false: 0,
  nan: NaN,
  inf: Infinity,
  "-inf": -Infinity,
};

/** Returns the number of elements of a shape. */
export const sizeOf = (shape: readonly number[]): number =>
  shape.reduce((all, one) => all * one, 1);

/**
 * Parses typed elements, ignoring brackets, in row-major order: all of them, or one for all. Returns a message as a
 * text if they are wrong.
 */
export function parseElements(text: string, shape: readonly number[]): number[] | string {
  const words = text.split(/[\s,;[\]()]+/).filter(Boolean);
  const elements: number[] = [];
  for (const word of words) {
    const known = WORDS[word.toLowerCase()];
    const element = known === undefined ? Number(word.replace(/f(16|32|64)?$/, "")) : known;
    if (known === undefined && Number.isNaN(element)) return `“${word}” is no number.`;
    elements.push(element);
  }
  const wanted = sizeOf(shape);
  if (elements.length === wanted || elements.length === 1) return elements;
  return `${elements.length} numbers were given, ${wanted} are wanted (or one for all).`;
}

/** Returns an element in at most `digits` digits. */
export function number(x: number, digits = 5): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text =
    Number.isInteger(x) && Math.abs(x) < 1e9 ? String(x) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

/** The shown matrix: the last two axes, of the slice at `at` along the others. */
export interface Slice {
  rows: number;
  columns: number;
  /** Undefined where the elements were too many to be sent. */
  element(row: number, column: number): number | undefined;
}

export function sliceOf(
  { shape, data }: Pick<ValuePart, "shape" | "data">,
  at: readonly number[],
): Slice {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.length > 1 ? (shape.at(-2) ?? 1) : 1;
  let plane = 0;
  shape.slice(0, -2).forEach((extent, axis) => {
    plane = plane * extent + Math.min(at[axis] ?? 0, Math.max(0, extent - 1));
  });
  const first = plane * rows * columns;
  return { rows, columns, element: (row, column) => data[first + row * columns + column] };
}

export interface Facts {
  least: number;
  most: number;
  mean: number;
  /** Places of the least and the most, and how many elements are no numbers. */
  leastAt: number;
  mostAt: number;
  odd: number;
}

/** Summarises the finite elements of a tensor; null if there are none. */
export function factsOf(data: readonly number[]): Facts | null {
  const facts: Facts = {
    least: Infinity,
    most: -Infinity,
    mean: 0,
    leastAt: -1,
    mostAt: -1,
    odd: 0,
  };
  let sum = 0;
  data.forEach((x, place) => {
    if (!Number.isFinite(x)) {
      facts.odd++;
      return;
    }
    sum += x;
    if (x < facts.least) [facts.least, facts.leastAt] = [x, place];
    if (x > facts.most) [facts.most, facts.mostAt] = [x, place];
  });
  const finite = data.length - facts.odd;
  return finite === 0 ? null : { ...facts, mean: sum / finite };
}

/** Returns the indices of a place in row-major order. */
export function indexOf(place: number, shape: readonly number[]): number[] {
  let rest = place;
  const index = [...shape];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis] || 1;
    index[axis] = rest % extent;
    rest = Math.floor(rest / extent);
  }
  return index;
}

/** Says in a sentence how two tensors differ. */
export function comparison(before: ValuePart, after: ValuePart): string {
  const shapes = [before, after].map((one) => `${one.dtype}[${one.shape.join(", ")}]`);
  if (shapes[0] !== shapes[1]) return `≠ ${shapes[0]} became ${shapes[1]}.`;
  if (before.data.length === 0) return before.text === after.text ? "✓ equal" : "≠ different";
  let [most, place] = [0, -1];
  before.data.forEach((x, at) => {
    const y = after.data[at] ?? NaN;
    const apart = Object.is(x, y) || x === y ? 0 : Math.abs(x - y);
    if (apart > most || (Number.isNaN(apart) && !Number.isNaN(most))) [most, place] = [apart, at];
  });
  if (place < 0) return "✓ all elements are equal";
  const where = before.shape.length > 0 ? ` at [${indexOf(place, before.shape).join(", ")}]` : "";
  return `≠ at most ${number(most, 3)} apart${where}`;
}

/** Viridis in five steps: lighter is more, for those who see no colours, too. */
const COLOURS: readonly (readonly [number, number, number])[] = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];
export const legend = `linear-gradient(90deg, ${COLOURS.map((rgb) => `rgb(${rgb})`).join(", ")})`;

/** Returns the colour of a share between 0 and 1. */
export function colour(share: number): [number, number, number] {
  const place = Math.max(0, Math.min(1, share)) * (COLOURS.length - 1);
  const from = COLOURS[Math.floor(place)] ?? [0, 0, 0];
  const to = COLOURS[Math.ceil(place)] ?? from;
  const part = place - Math.floor(place);
  const mix = (axis: 0 | 1 | 2) => Math.round(from[axis] + (to[axis] - from[axis]) * part);
  return [mix(0), mix(1), mix(2)];
}
