/** Shows the times of the steps: as a picture, as a table, and in TVM's format. */
import { createMemo, For, Show } from "solid-js";
import { flame } from "../state/flame";
import { duration } from "../state/steps";
import { useApp } from "./context";
import "../styles/timing.css";

/** Narrower blocks have no room for a name. */
const NAMED = 6;

export default function Timing() {
  const app = useApp();
  return (
    <section class="region timing" aria-label="Timing">
      <Show
        when={app.timed()}
        fallback={
          <p class="empty">These steps were run elsewhere, and nobody said how long they took.</p>
        }
      >
        <Times />
      </Show>
    </section>
  );
}

function Times() {
  const app = useApp();
  const run = () => app.state().good?.run;
  const blocks = createMemo(() => flame(app.steps()));
  const depth = createMemo(() => Math.max(0, ...blocks().map((block) => block.step.depth)));
  const percent = (share: number) => `${share.toFixed(share < 9.95 ? 1 : 0)}%`;
  return (
    <>
      <p class="pad">
        The run took {duration((run()?.millis ?? 0) * 1000)} in the engine.
        <span class="quiet"> The time of a step includes the steps nested in it.</span>
      </p>
      {/* The table says the same to those who do not see it. */}
      <div class="flame" aria-hidden="true" style={{ "--rows": depth() + 1 }}>
        <For each={blocks()}>
          {(block) => (
            <span
              class="block"
              classList={{ chosen: block.step.id === app.step()?.id }}
              style={{
                left: `${block.left}%`,
                width: `${block.width}%`,
                "--depth": block.step.depth,
              }}
              title={`${block.step.name}: ${duration(block.step.micros)}, ${percent(block.width)} of the run`}
            >
              {block.width >= NAMED ? block.step.name : ""}
            </span>
          )}
        </For>
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Time</th>
            <th scope="col">Own</th>
            <th scope="col">Of the run</th>
            <th scope="col">Of its parent</th>
          </tr>
        </thead>
        <tbody>
          <For each={blocks()}>
            {(block) => (
              <tr aria-current={block.step.id === app.step()?.id ? "true" : undefined}>
                <th scope="row" style={{ "--depth": block.step.depth }}>
                  {block.step.name}
                </th>
                <td class="number">{duration(block.step.micros)}</td>
                <td class="number">{duration(block.own)}</td>
                <td class="number">{percent(block.width)}</td>
                <td class="number">{percent(block.ofParent)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={run()?.timing}>
        <h3>PassTimingInstrument</h3>
        <pre tabIndex="0">{run()?.timing}</pre>
      </Show>
    </>
  );
}
