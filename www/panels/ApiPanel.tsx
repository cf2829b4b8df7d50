/** Lists the names that a script can use: by group, with their effects; a search covers names and descriptions. */
import api from "passlab-api";
import { createMemo, createResource, createSignal, For, Show } from "solid-js";
import { fetched } from "../state/texts";
import type { ApiEntry } from "../user/docs";
import { foundIn, groupsOf } from "./api-groups";

export function ApiPanel(props: { onClose(): void }) {
  const [text, setText] = createSignal("");
  const [entries] = createResource(() => fetched<ApiEntry[]>(api).catch(() => []));
  const groups = createMemo(() => groupsOf(entries() ?? []));
  const found = createMemo(() => foundIn(groups(), text()));
  return (
    <section class="api" aria-label="API">
      <div class="bar">
        <input
          type="search"
          aria-label="Search in the API"
          placeholder="Search in the API"
          ref={(field) => queueMicrotask(() => field.focus())}
          value={text()}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && props.onClose()}
        />
        <button type="button" class="icon" aria-label="Close the API" onClick={props.onClose}>
          ✕
        </button>
      </div>
      <div class="api-list" tabIndex="0" role="group" aria-label="Names of the API">
        <Show when={entries()} fallback={<p class="quiet pad">Loading…</p>}>
          <For each={found()} fallback={<p class="quiet pad">Nothing of that name.</p>}>
            {({ head, members }) => (
              <details open={text().trim() !== ""}>
                <summary>
                  <code>{head.name}</code> <span class="quiet">{head.doc.split(". ")[0]}</span>
                </summary>
                <div class="api-doc">
                  <For each={[head, ...members]}>
                    {(entry) => (
                      <>
                        <code>{entry.signature}</code>
                        <p>{entry.doc}</p>
                      </>
                    )}
                  </For>
                </div>
              </details>
            )}
          </For>
        </Show>
      </div>
    </section>
  );
}
