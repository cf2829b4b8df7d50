/**
 * Places every row of the pass list and every step. A row is a pass to toggle, move and configure, with the step that
 * it made beside it; steps that ran for it have lines of their own. Pure: `PassList.tsx` draws it.
 */
import type { PassItem, Step } from "../../engine/protocol";
import { callName } from "../../state/calls";
import { phaseOf } from "../../state/phases";
import type { Shown } from "../../state/steps";
import type { Phase } from "./Phases";

/** Heights of lines in pixels: of a row, and of a step that ran aside. */
export const ROW = 28;
export const ASIDE = 24;
/** Room above the first line. */
export const TOP = 4;

export interface Place {
  /** Pixels from the top of the list. */
  y: number;
  height: number;
}

export interface Layout {
  /** By the number of the row; without a step where it has none yet, or it is off. */
  rows: ReadonlyMap<number, Place & { shown: Shown | null }>;
  /** By the index of the step; `listed` stands beside its row. */
  steps: ReadonlyMap<number, Place & { listed: boolean }>;
  phases: readonly Phase[];
  height: number;
}

export interface Question {
  shown: readonly Shown[];
  /** The numbers of the rows, in order, and their passes. */
  rows: readonly number[];
  passes: readonly PassItem[];
  /** The row for each value of a step's `row`. */
  owners: readonly number[];
  /** Leaves out rows without a step to be shown, unless their name contains `text`. */
  filtered: boolean;
  text: string;
  phases: boolean;
  /** Keys of phases of which only the selected step is shown. */
  closed: ReadonlySet<string>;
  /** Index of the step that is shown in the result. */
  selected: number;
}

export function layoutOf(question: Question): Layout {
  const { shown, rows, passes, owners, closed } = question;
  const rowsAt = new Map<number, Place & { shown: Shown | null }>();
  const stepsAt = new Map<number, Place & { listed: boolean }>();
  const phases: Phase[] = [];
  const byRow = new Map<number, Shown[]>();
  const loose: Shown[] = [];
  const there = new Set(rows);
  for (const item of shown) {
    const id = owners[item.step.row];
    if (id === undefined || !there.has(id)) {
      loose.push(item);
      continue;
    }
    const group = byRow.get(id);
    if (group) group.push(item);
    else byRow.set(id, [item]);
  }
  let y = TOP;
  const put = (height: number): Place => {
    const place = { y, height };
    y += height;
    return place;
  };
  const heightOf = ({ step }: Shown) => (step.role === "listed" ? ROW : ASIDE);
  const wanted = question.text.toLowerCase();
  for (const item of loose) stepsAt.set(item.index, { ...put(heightOf(item)), listed: false });
  rows.forEach((id, row) => {
    const group = byRow.get(id) ?? [];
    const name = callName(passes[row]?.call ?? "");
    const named = wanted !== "" && name.toLowerCase().includes(wanted);
    if (question.filtered && group.length === 0 && !named) return;
    if (question.phases) {
      const title = phaseOf(name);
      let phase = phases.at(-1);
      if (phase?.name === title) phase.steps.push(...group);
      else {
        // A phase may come again.
        const key = `${title} ${phases.filter((before) => before.name === title).length}`;
        phase = { y: put(ROW).y, name: title, key, open: !closed.has(key), steps: [...group] };
        phases.push(phase);
      }
      if (!phase.open) {
        const selected = group.find((item) => item.index === question.selected);
        if (selected) stepsAt.set(selected.index, { ...put(heightOf(selected)), listed: false });
        return;
      }
    }
    const listed = group.find((item) => item.step.role === "listed") ?? null;
    for (const item of group) {
      const place = put(heightOf(item));
      stepsAt.set(item.index, { ...place, listed: item === listed });
      if (item === listed) rowsAt.set(id, { ...place, shown: item });
    }
    if (!listed) rowsAt.set(id, { ...put(ROW), shown: null });
  });
  return { rows: rowsAt, steps: stepsAt, phases, height: y + 8 };
}

/** Lines beyond which only those in sight are drawn: fewer can be searched by the browser and read out as a whole. */
const ALL = 300;
const OVERSCAN = 300;

/** True if a place is drawn when the list is scrolled to `top` and `height` pixels of it are visible. */
export function inSight(lines: number, top: number, height: number): (place: Place) => boolean {
  if (lines <= ALL) return () => true;
  return (place) => place.y + place.height >= top - OVERSCAN && place.y <= top + height + OVERSCAN;
}

/** Returns the index, in the present order, of the row before which a row dropped at a height goes. */
export function dropAt(layout: Layout, rows: readonly number[], y: number): number {
  let to = 0;
  rows.forEach((id, row) => {
    const place = layout.rows.get(id);
    if (place && y > place.y + place.height / 2) to = row + 1;
  });
  return to;
}

/** Returns the words about a step's time, or about why it did not run. */
export function metaOf(step: Step, duration: (micros: number) => string, micros: number): string {
  if (step.outcome === "skipped") {
    return /opt[ _-]?level/i.test(step.reason) ? `O${step.optLevel}` : "skipped";
  }
  if (step.outcome === "failed") return "failed";
  if (step.outcome === "not-reached") return "";
  return duration(micros);
}
