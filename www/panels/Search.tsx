/** Searches in the shown result, and for the steps that touch a text. */
import { Show } from "solid-js";
import { useApp } from "./context";
import type { Finder } from "./finder";

export function Search(props: { finder: Finder }) {
  const app = useApp();
  const finder = () => props.finder;
  let field!: HTMLInputElement;
  app.panels.offer({
    find() {
      field.focus();
      field.select();
    },
  });
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") finder().go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      finder().search("");
      app.panels.leaveEditor();
    } else return;
    event.preventDefault();
  };
  const touching = () => app.touching()?.text === finder().text();
  return (
    <search class="search" classList={{ used: finder().text() !== "" }}>
      <input
        type="search"
        aria-label="Search in the result"
        aria-keyshortcuts="f"
        placeholder="Search (f)"
        title="Search in what is shown; Enter goes to the next place, Shift Enter to the one before"
        autocomplete="off"
        spellcheck={false}
        ref={field}
        value={finder().text()}
        onInput={(event) => finder().search(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <Show when={finder().text()}>
        <span class="found-count" role="status" aria-label="Places">
          {finder().total() === 0 ? "nowhere" : `${finder().at()}/${finder().total()}`}
        </span>
        <button type="button" aria-label="Previous place" onClick={() => finder().go(-1)}>
          ↑
        </button>
        <button type="button" aria-label="Next place" onClick={() => finder().go(1)}>
          ↓
        </button>
        <button
          type="button"
          aria-pressed={touching()}
          title="List only the steps whose changes hold this text"
          onClick={() => app.seek(touching() ? "" : finder().text())}
        >
          Steps
        </button>
      </Show>
    </search>
  );
}
