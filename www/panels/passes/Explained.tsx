/** The long text about a pass, with its example. It is loaded when it is opened. */
import { createSignal, Show } from "solid-js";
import { explanation } from "../../engine/explanations";
import type { Explanation, PassDoc } from "../../engine/protocol";
import { Prose } from "../prose";

export function Explained(props: { pass: PassDoc }) {
  const [open, setOpen] = createSignal(false);
  const [texts, setTexts] = createSignal<Explanation>();
  const [failed, setFailed] = createSignal(false);
  const load = async () => {
    setFailed(false);
    try {
      setTexts(await explanation(props.pass));
    } catch {
      setFailed(true);
    }
  };
  const toggled = (now: boolean) => {
    setOpen(now);
    if (now && !texts()) void load();
  };
  return (
    <details open={open()} onToggle={(event) => toggled(event.currentTarget.open)}>
      <summary>What it does</summary>
      <Show when={open() && !texts() && !failed()}>
        <p class="quiet">Loading …</p>
      </Show>
      <Show when={failed()}>
        <p class="quiet" role="alert">
          The explanation could not be loaded.{" "}
          <button type="button" class="link" onClick={load}>
            Try again
          </button>
        </p>
      </Show>
      <div class="doc">
        <Prose text={texts()?.doc ?? ""} />
      </div>
      <Show when={texts()?.exampleBefore}>
        <p class="quiet">Before</p>
        <pre tabIndex={0}>{texts()?.exampleBefore}</pre>
        <p class="quiet">After</p>
        <pre tabIndex={0}>{texts()?.exampleAfter}</pre>
      </Show>
    </details>
  );
}
