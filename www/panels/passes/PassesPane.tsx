/** The middle pane: the passes with their steps, the filter, and the context that they run in. */
import { createMemo, createSignal, Show } from "solid-js";
import { callName, matchingPipeline } from "../../state/calls";
import { countOf } from "../../state/steps";
import { useApp } from "../context";
import { late } from "../late";
import { Part } from "../Part";
import { Room } from "../Room";
import { ContextFoot } from "./ContextFoot";
import { FilterBar } from "./FilterBar";
import { PassList } from "./PassList";

const AddPass = late(() => import("./AddPass"));
const EditPass = late(() => import("./EditPass"));

export function PassesPane() {
  const app = useApp();
  const state = app.state;
  let addButton!: HTMLButtonElement;
  let body!: HTMLDivElement;
  const [adding, setAdding] = createSignal(false);
  const [editing, setEditing] = createSignal<{ id: number; anchor: HTMLElement } | null>(null);
  const add = () => setAdding(true);
  /** Moves the focus out of an editor or the filter. */
  const leave = () => {
    const option = body.querySelector<HTMLElement>('[role="option"][tabIndex="0"]');
    (option ?? addButton).focus();
  };
  app.panels.offer({ add, leaveEditor: leave });
  const missing = createMemo(
    () => matchingPipeline(state().catalogue, state().document)?.missing ?? [],
  );
  const remove = (id: number) => {
    setEditing(null);
    app.removePass(state().rows.indexOf(id));
    leave();
  };

  return (
    <>
      <div class="pane-head">
        <h2>Passes</h2>
        <Counts />
        <Show when={state().stale}>
          <span class="stale" title="These steps belong to the last program without errors">
            ⚠ stale
          </span>
        </Show>
        <button
          type="button"
          ref={addButton}
          aria-haspopup="dialog"
          aria-expanded={adding()}
          onClick={add}
        >
          Add pass
        </button>
        <Room pane="passes" label="the passes" />
      </div>
      <FilterBar onLeave={leave} />
      <div class="pass-body" ref={body}>
        <PassList
          onEdit={(id, anchor) => setEditing({ id, anchor })}
          onAdd={add}
          onEmpty={() => addButton.focus()}
        />
      </div>
      <Show when={missing().length > 0}>
        <details class="foot">
          <summary>{notYet(missing().length)}</summary>
          <p class="quiet">{missing().map(callName).join(", ")}</p>
        </details>
      </Show>
      <ContextFoot />
      <Show when={adding()}>
        <Part>
          <AddPass anchor={addButton} onClose={() => setAdding(false)} />
        </Part>
      </Show>
      <Show when={editing()} keyed>
        {(target) => (
          <Part>
            <EditPass
              id={target.id}
              anchor={target.anchor}
              onClose={() => setEditing((now) => (now === target ? null : now))}
              onMove={(by) => {
                const from = state().rows.indexOf(target.id);
                app.dispatch({ type: "move", from, to: from + by });
              }}
              onRemove={() => remove(target.id)}
            />
          </Part>
        )}
      </Show>
    </>
  );
}

/** Shows the number of steps, and how many of them changed something. */
function Counts() {
  const app = useApp();
  const changed = createMemo(() => app.steps().filter((step) => step.outcome === "changed").length);
  return (
    <span class="quiet grow">
      <Show when={app.steps().length > 0}>
        {countOf(app.steps().length, "step")}, {changed()} changed
      </Show>
    </span>
  );
}

const notYet = (count: number) =>
  `${count} ${count === 1 ? "pass" : "passes"} of this pipeline not in passlab yet`;
