/** The rest of a PassContext: required and disabled passes, configuration, instruments. Closed until it is needed. */
import { createMemo, For, Show } from "solid-js";
import { splitNames } from "../state/calls";
import { useApp } from "./context";

const instruments: readonly { name: string; label: string }[] = [
  { name: "PassTiming", label: "Timing" },
  { name: "PrintBefore", label: "Print before" },
  { name: "PrintAfter", label: "Print after" },
  { name: "VerifyEach", label: "Verify each" },
];

export function ContextForm() {
  const app = useApp();
  const document = createMemo(() => app.state().document);
  const set = createMemo(() => {
    const { required, disabled, config, instruments: on } = document();
    return required.length + disabled.length + Object.keys(config).length + on.length;
  });
  const free = createMemo(() =>
    (app.state().catalogue?.config ?? []).filter((item) => !(item.key in document().config)),
  );

  return (
    <details class="foot context">
      <summary>
        Context
        <Show when={set() > 0}>
          <span class="count">{set()}</span>
        </Show>
      </summary>
      <div class="form">
        <fieldset>
          <legend>Instruments</legend>
          <div class="boxes">
            <For each={instruments}>
              {(item) => (
                <label class="box">
                  <input
                    type="checkbox"
                    checked={document().instruments.includes(item.name)}
                    onChange={(event) =>
                      app.dispatch({
                        type: "instrument",
                        name: item.name,
                        on: event.currentTarget.checked,
                      })
                    }
                  />
                  {item.label}
                </label>
              )}
            </For>
          </div>
        </fieldset>
        <label>
          <span>Required passes</span>
          <input
            type="text"
            placeholder="names, by commas"
            spellcheck={false}
            autocomplete="off"
            value={document().required.join(", ")}
            onChange={(event) =>
              app.dispatch({ type: "required", names: splitNames(event.currentTarget.value) })
            }
          />
        </label>
        <label>
          <span>Disabled passes</span>
          <input
            type="text"
            placeholder="names, by commas"
            spellcheck={false}
            autocomplete="off"
            value={document().disabled.join(", ")}
            onChange={(event) =>
              app.dispatch({ type: "disabled", names: splitNames(event.currentTarget.value) })
            }
          />
        </label>
        <For each={Object.keys(document().config)}>
          {(key) => (
            <div class="setting">
              <label>
                <span class="mono">{key}</span>
                <input
                  type="text"
                  class="mono"
                  spellcheck={false}
                  autocomplete="off"
                  value={document().config[key] ?? ""}
                  onChange={(event) =>
                    app.dispatch({ type: "config", key, value: event.currentTarget.value.trim() })
                  }
                />
              </label>
              <button
                type="button"
                aria-label={`Remove ${key}`}
                onClick={() => app.dispatch({ type: "config", key, value: null })}
              >
                ✕
              </button>
            </div>
          )}
        </For>
        <Show when={free().length > 0}>
          <label>
            <span>Add a setting</span>
            <select
              onChange={(event) => {
                const key = event.currentTarget.value;
                const item = free().find((one) => one.key === key);
                event.currentTarget.value = "";
                if (item) app.dispatch({ type: "config", key, value: item.default });
              }}
            >
              <option value="">Choose…</option>
              <For each={free()}>
                {(item) => (
                  <option value={item.key}>
                    {item.key} ({item.default || "unset"})
                  </option>
                )}
              </For>
            </select>
          </label>
        </Show>
      </div>
    </details>
  );
}
