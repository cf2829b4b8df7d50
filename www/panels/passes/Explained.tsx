/** The long text about a pass, with its example. It is loaded when it is opened. */
import { createResource, createSignal, Show } from "solid-js";
import { explanation } from "../../engine/explanations";
import type { PassDoc } from "../../engine/protocol";
import { Prose } from "../prose";

export function Explained(props: { pass: PassDoc }) {
  const [open, setOpen] = createSignal(false);
  const [texts, { refetch }] = createResource(() => open() && props.pass, explanation);
  const failed = () => texts.state === "errored";
  const shown = () => (failed() ? undefined : texts());
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What it does</summary>
      <Show when={texts.loading}>
        <p class="quiet">Loading …</p>
      </Show>
      <Show when={failed()}>
        <p class="quiet" role="alert">
          The explanation could not be loaded.{" "}
          <button type="button" class="link" onClick={() => refetch()}>
            Try again
          </button>
        </p>
      </Show>
      <div class="doc">
        <Prose text={shown()?.doc ?? ""} />
      </div>
      <Show when={shown()?.exampleBefore}>
        <p class="quiet">Before</p>
        <pre tabIndex={0}>{shown()?.exampleBefore}</pre>
        <p class="quiet">After</p>
        <pre tabIndex={0}>{shown()?.exampleAfter}</pre>
      </Show>
    </details>
  );
}
