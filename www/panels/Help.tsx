/** The `?` sheet: every key there is, made from the list of commands. The palette lists those without a key too. */
import { For, onMount } from "solid-js";
import { version } from "../../package.json";
import { commands, keyLabel, localKeys } from "./commands";
import { useApp } from "./context";
import "../styles/sheet.css";

const groups = ["Steps", "Result", "Program and passes", "Page"] as const;

export default function Help(props: { onClose(): void }) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  onMount(() => dialog.showModal());
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="help-title" onClose={props.onClose}>
      <div class="sheet-head">
        <h2 id="help-title">Keyboard</h2>
        <button type="button" onClick={() => dialog.close()}>
          Close
        </button>
      </div>
      <div class="sheet-groups">
        <For each={groups}>
          {(group) => (
            <section>
              <h3>{group}</h3>
              <dl>
                <For each={commands.filter((item) => item.group === group && item.keys.length > 0)}>
                  {(command) => (
                    <div>
                      <dt>
                        <For each={command.keys}>{(key) => <kbd>{keyLabel(key)}</kbd>}</For>
                      </dt>
                      <dd>{command.title}</dd>
                    </div>
                  )}
                </For>
              </dl>
            </section>
          )}
        </For>
        <section>
          <h3>Inside of a panel</h3>
          <dl>
            <For each={localKeys}>
              {(item) => (
                <div>
                  <dt>
                    <kbd>{item.keys}</kbd>
                  </dt>
                  <dd>{item.title}</dd>
                </div>
              )}
            </For>
          </dl>
        </section>
      </div>
      <p>This is passlab {version}: Relay after TVM 0.19, Relax and TIR after TVM 0.27.</p>
      <label class="box">
        <input
          type="checkbox"
          checked={app.state().preferences.letters}
          onChange={(event) =>
            app.dispatch({ type: "prefer", change: { letters: event.currentTarget.checked } })
          }
        />
        Single keys are shortcuts
      </label>
    </dialog>
  );
}
