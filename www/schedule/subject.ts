/** The subject of the tab: the loops before and after the selected step, and the row of the list that holds the schedule. */
import type { Run, RunDocument, Step } from "../engine/protocol";
import { callName } from "../state/calls";
import { traceOf } from "./trace";

export interface Subject {
  /** Tells subjects apart. */
  key: string;
  /** The version that the trace is applied to, the trace, and how many of its changing instructions are done before and after. */
  version: number;
  trace: string;
  before: number;
  after: number;
  /** The version before the step, where no trace is applied. */
  old: number;
  /** The row of the pass `Schedule`; -1 where a click adds one. */
  row: number;
  /** The steps of the schedule's instructions, in order, and the id of the schedule's own step. */
  stages: Step[];
  schedule: string;
}

const ALL = 1_000_000;

/** The subject of a step. */
export function subjectOf(run: Run, document: RunDocument, step: Step): Subject {
  const { steps } = run;
  let at = steps.indexOf(step);
  while (at >= 0 && steps[at]?.parent !== null) at = steps[at]?.parent ?? -1;
  const top = steps[at];
  const call = top && document.passes[top.row]?.call;
  const trace = call && callName(call).split(".").at(-1) === "Schedule" ? traceOf(call) : null;
  if (!top || trace === null || top.role !== "listed") {
    const { before, after } = step;
    return {
      key: step.id,
      version: after,
      trace: "",
      before: 0,
      after: 0,
      old: before,
      row: -1,
      stages: [],
      schedule: "",
    };
  }
  const stages = steps.filter((one) => one.parent === at);
  const place = stages.indexOf(step);
  const [before, after] = place < 0 ? [0, ALL] : [place, place + 1];
  const { row, id } = top;
  return {
    key: step.id,
    version: top.before,
    trace,
    before,
    after,
    old: top.before,
    row,
    stages,
    schedule: id,
  };
}
