/** Checks the steps, finds the one to blame, makes the program small. */
import { createMemo, For, Show } from "solid-js";
import { type Verdict, verdictMark } from "../../state/checks";
import { countOf } from "../../state/steps";
import { useApp } from "../context";
import { Toggle } from "../Toggle";

export function CheckBar() {
  const app = useApp();
  const { checks } = app;
  const outcomes = createMemo(() => {
    const counts = new Map<Verdict, number>();
    for (const { outcome } of checks.found().values())
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    return [...counts];
  });
  const open = (reduce: boolean) => app.panels.open({ name: "culprit", reduce });
  return (
    <>
      <div class="row">
        <Toggle
          label="Check by running"
          title="Runs the program before and after each step, on the same inputs; a run may take 8 million operations"
          on={checks.running()}
          onChange={checks.setRunning}
        />
        <button type="button" aria-haspopup="dialog" onClick={() => open(false)}>
          Find the culprit
        </button>
        <button type="button" aria-haspopup="dialog" onClick={() => open(true)}>
          Reduce
        </button>
      </div>
      <Show when={checks.running()}>
        <div class="row">
          <span role="status" class="quiet grow">
            {checks.left() > 0
              ? `${countOf(checks.left(), "step")} to check`
              : `${countOf(checks.found().size, "step")} checked`}
          </span>
          <For each={outcomes()}>
            {([outcome, count]) => (
              <Toggle
                label={`${verdictMark[outcome]} ${count} ${outcome}`}
                title={`List only steps that are: ${outcome}`}
                on={checks.only() === outcome}
                onChange={(on) => checks.setOnly(on ? outcome : "")}
              />
            )}
          </For>
        </div>
      </Show>
    </>
  );
}
