/** Shows the calls of each operator before and after the step, as bars and in numbers. */
import { createMemo, createResource, For, Show } from "solid-js";
import type { Step } from "../engine/protocol";
import { useApp } from "./context";
import "../styles/operators.css";

export function Operators(props: { step: Step }) {
  const app = useApp();
  const key = () => `${app.state().good?.number} ${props.step.before} ${props.step.after}`;
  const [counts] = createResource(key, () => app.operators(props.step.before, props.step.after));
  // Puts the largest changes first.
  const rows = createMemo(() =>
    [...(counts.latest ?? [])].sort(
      (a, b) =>
        Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]) ||
        Math.max(b[1], b[2]) - Math.max(a[1], a[2]),
    ),
  );
  const most = () => Math.max(1, ...rows().map((row) => Math.max(row[1], row[2])));
  const change = (before: number, after: number) =>
    after === before ? "" : after > before ? `+${after - before}` : `−${before - after}`;
  return (
    <Show when={rows().length > 0}>
      <div class="operators">
        <h3>Calls of operators</h3>
        <table>
          <thead>
            <tr>
              <th scope="col">Operator</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
              <th scope="col">Change</th>
              <td />
            </tr>
          </thead>
          <tbody>
            <For each={rows()}>
              {([name, before, after]) => (
                <tr>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td class="number">{before}</td>
                  <td class="number">{after}</td>
                  <td class="number">{change(before, after)}</td>
                  <td class="bars" aria-hidden="true">
                    <span class="bar-before" style={{ width: `${(100 * before) / most()}%` }} />
                    <span class="bar-after" style={{ width: `${(100 * after) / most()}%` }} />
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </Show>
  );
}
