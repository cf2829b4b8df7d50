/** How long the steps took. */
import { createMemo, For, Show } from "solid-js";
import { duration } from "../state/steps";
import { useApp } from "./context";

export function Timing() {
  const app = useApp();
  const steps = () => app.steps();
  const longest = createMemo(() => Math.max(1, ...steps().map((step) => step.micros)));
  const run = () => app.state().good?.run;
  return (
    <section class="region timing" aria-label="Timing">
      <p class="pad">
        The run took {duration((run()?.millis ?? 0) * 1000)} in the engine.
        <span class="quiet"> Times of a step include the steps nested in it.</span>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Time</th>
            <th scope="col">
              <span class="sr">Share of the longest</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={steps().filter((step) => step.outcome !== "skipped")}>
            {(step) => (
              <tr>
                <th scope="row" style={{ "--depth": step.depth }}>
                  {step.name}
                </th>
                <td class="number">{duration(step.micros)}</td>
                <td>
                  <span
                    class="measure"
                    style={{ width: `${Math.max(0.5, (100 * step.micros) / longest())}%` }}
                  />
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={run()?.timing}>
        <h3>PassTimingInstrument</h3>
        <pre tabIndex="0">{run()?.timing}</pre>
      </Show>
    </section>
  );
}
