/** Heads of the phases in the list of passes; one goes to its first step that changed the program, and folds. */
import { Index } from "solid-js";
import type { Shown } from "../../state/steps";
import { useApp } from "../context";

/** Passes in a row that belong together. */
export interface Phase {
  /** Pixels from the top of the list. */
  y: number;
  name: string;
  /** Distinguishes it from others with its name. */
  key: string;
  /** True if its passes are shown. */
  open: boolean;
  steps: Shown[];
}

export function Phases(props: { phases: readonly Phase[]; onFold(key: string): void }) {
  const app = useApp();
  const changed = ({ steps }: Phase) => steps.filter(({ step }) => step.outcome === "changed");
  const words = (phase: Phase) =>
    phase.steps.length > 0 ? `${changed(phase).length} of ${phase.steps.length} changed` : "";
  const go = (phase: Phase) => {
    const target = changed(phase)[0] ?? phase.steps[0];
    if (target) app.dispatch({ type: "step", id: target.step.id });
  };
  return (
    <div role="group" aria-label="Phases" class="contents">
      <Index each={props.phases}>
        {(phase) => (
          <div class="phase" style={{ top: `${phase().y}px` }}>
            <button
              type="button"
              aria-expanded={phase().open}
              aria-label={`Passes of ${phase().name}`}
              onClick={() => props.onFold(phase().key)}
            >
              {phase().open ? "▾" : "▸"}
            </button>
            <button type="button" onClick={() => go(phase())}>
              {phase().name} <span class="quiet">{words(phase())}</span>
            </button>
          </div>
        )}
      </Index>
    </div>
  );
}
