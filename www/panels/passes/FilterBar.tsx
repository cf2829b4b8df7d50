/** Filters the list: by name, by function, by outcome. */
import { createMemo, For, Show } from "solid-js";
import { useApp } from "../context";
import { Toggle } from "../Toggle";
import { CheckBar } from "./CheckBar";

export function FilterBar(props: { onLeave(): void }) {
  const app = useApp();
  const state = app.state;
  let filter!: HTMLInputElement;
  app.panels.offer({
    filter() {
      filter.focus();
      filter.select();
    },
  });

  /** The functions that steps changed, and the chosen one, which must stay to be deselected. */
  const functions = createMemo(
    () => {
      const names = new Set(app.steps().flatMap((step) => step.functions));
      if (state().func) names.add(state().func);
      return [...names].sort();
    },
    undefined,
    { equals: (a, b) => a.length === b.length && a.every((name, index) => name === b[index]) },
  );
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Escape") app.dispatch({ type: "filter", text: "" });
    props.onLeave();
  };

  return (
    <div class="pass-bar">
      <div class="row">
        <input
          type="search"
          class="filter"
          aria-label="Filter steps"
          aria-keyshortcuts="/"
          placeholder="Filter passes and steps"
          ref={filter}
          value={state().filter}
          onInput={(event) => app.dispatch({ type: "filter", text: event.currentTarget.value })}
          onKeyDown={keys}
        />
        <Show when={functions().length > 1}>
          <select
            aria-label="Function"
            title="Shows one function: its steps, its diff, its graph"
            value={state().func}
            onChange={(event) => app.dispatch({ type: "func", name: event.currentTarget.value })}
          >
            <option value="">All functions</option>
            <For each={functions()}>
              {(name) => (
                <option value={name} selected={name === state().func}>
                  @{name}
                </option>
              )}
            </For>
          </select>
        </Show>
      </div>
      <Touching />
      <div class="row">
        <Toggle
          label="Changed only"
          title="Show what changed something or failed (c)"
          on={state().preferences.changedOnly}
          onChange={(changedOnly) => app.dispatch({ type: "prefer", change: { changedOnly } })}
        />
        <Toggle
          label="Nested"
          title="Show steps that ran inside of a pass, or because one required them"
          on={state().preferences.nested}
          onChange={(nested) => app.dispatch({ type: "prefer", change: { nested } })}
        />
        <Toggle
          label="Phases"
          title="Group the passes by the phase of compilation that they belong to"
          on={state().preferences.phases}
          onChange={(phases) => app.dispatch({ type: "prefer", change: { phases } })}
        />
      </div>
      <CheckBar />
    </div>
  );
}

/** Says which expression the listed steps touch, and lists all again. */
function Touching() {
  const app = useApp();
  return (
    <Show when={app.touching()}>
      {(now) => (
        <p class="row touching" role="status">
          <span class="grow">
            {now().ids.size} {now().ids.size === 1 ? "step touches" : "steps touch"}{" "}
            <code>{now().text}</code>
            {now().left > 0 ? `, ${now().left} to look at` : ""}
          </span>
          <button
            type="button"
            class="icon"
            aria-label="List all steps"
            onClick={() => app.seek("")}
          >
            ✕
          </button>
        </p>
      )}
    </Show>
  );
}
