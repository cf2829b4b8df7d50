/** The foot of the list of passes: the fields of a run's context beside the opt level. */
import { createMemo, createSignal, lazy, Show } from "solid-js";
import { useApp } from "../context";
import { Part } from "../Part";

const ContextForm = lazy(() => import("./ContextForm"));

/** The other fields of a PassContext, closed until they are needed. */
export function ContextFoot() {
  const app = useApp();
  const [opened, setOpened] = createSignal(false);
  const set = createMemo(() => {
    const { required, disabled, config, instruments } = app.state().document;
    return required.length + disabled.length + Object.keys(config).length + instruments.length;
  });
  return (
    <details class="foot context" onToggle={() => setOpened(true)}>
      <summary>
        Context
        <Show when={set() > 0}>
          <span class="count">{set()}</span>
        </Show>
      </summary>
      <Show when={opened()}>
        <Part waiting="Loading…">
          <ContextForm />
        </Part>
      </Show>
    </details>
  );
}
