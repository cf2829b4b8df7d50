/** Every command by name: type a few letters, Enter does it. Loaded when it is first opened. */
import { createEffect, createMemo, createSignal, For, on, onMount, Show } from "solid-js";
import { choices, matching } from "./choices";
import { keyLabel } from "./commands";
import { useApp } from "./context";
import "../styles/palette.css";

/** The most entries drawn: longer lists are not read, and typing narrows them down. */
const MOST = 60;

export default function Palette(props: { onClose(): void }) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  let list!: HTMLDivElement;
  const [typed, setTyped] = createSignal("");
  const [active, setActive] = createSignal(0);
  const all = createMemo(() => choices(app));
  const found = createMemo(() => matching(all(), typed()));
  const shown = createMemo(() => found().slice(0, MOST));
  onMount(() => dialog.showModal());
  createEffect(on(typed, () => setActive(0)));
  createEffect(
    on(active, (index) => list.children[index]?.scrollIntoView({ block: "nearest" }), {
      defer: true,
    }),
  );

  const run = (index: number) => {
    const choice = shown()[index];
    if (!choice) return;
    // Closing gives the focus back; the command may then take it elsewhere.
    dialog.close();
    choice.run(app);
  };
  const keys = (event: KeyboardEvent) => {
    const last = shown().length - 1;
    if (event.key === "ArrowDown") setActive(active() >= last ? 0 : active() + 1);
    else if (event.key === "ArrowUp") setActive(active() <= 0 ? last : active() - 1);
    else if (event.key === "PageDown") setActive(Math.min(last, active() + 8));
    else if (event.key === "PageUp") setActive(Math.max(0, active() - 8));
    else if (event.key === "Enter") run(active());
    else return;
    event.preventDefault();
  };

  const counted = () => (found().length === 1 ? "1 command" : `${found().length} commands`);

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Commands"
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog) dialog.close();
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={shown().length > 0 ? `palette-${active()}` : undefined}
        placeholder="What would you like to do?"
        autocomplete="off"
        spellcheck={false}
        value={typed()}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <div role="listbox" id="palette-list" aria-label="Commands" class="found" ref={list}>
        <For each={shown()}>
          {(choice, index) => (
            <div
              role="option"
              id={`palette-${index()}`}
              aria-selected={index() === active()}
              onPointerMove={() => setActive(index())}
              onClick={() => run(index())}
            >
              <span class="title">{choice.title}</span>
              <span class="quiet">{choice.group}</span>
              <For each={choice.keys}>{(key) => <kbd>{keyLabel(key)}</kbd>}</For>
            </div>
          )}
        </For>
      </div>
      <p class="foot quiet" role="status">
        <Show when={found().length > 0} fallback="Nothing of that name.">
          <Show when={found().length > MOST} fallback={counted()}>
            {`${MOST} of ${counted()}; type to narrow them down`}
          </Show>
        </Show>
      </p>
    </dialog>
  );
}
