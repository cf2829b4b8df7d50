/** Draws a row of tabs, through which the arrow keys go. */
import { For, type JSX } from "solid-js";

export function Tabs<T extends { id: string; label: string }>(props: {
  label: string;
  class?: string;
  /** Begins the id of each tab. */
  prefix: string;
  tabs: readonly T[];
  isChosen(tab: T): boolean;
  /** Returns the id of the element that a tab shows. */
  controls(tab: T): string;
  onChoose(tab: T): void;
  /** Draws the part behind the label of a tab. */
  children?(tab: T): JSX.Element;
}) {
  const keys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const { tabs } = props;
    const next = tabs[(tabs.findIndex(props.isChosen) + by + tabs.length) % tabs.length];
    if (!next) return;
    props.onChoose(next);
    document.getElementById(props.prefix + next.id)?.focus();
  };
  return (
    <div role="tablist" aria-label={props.label} class={props.class ?? "tabs"}>
      <For each={props.tabs}>
        {(tab) => (
          <button
            type="button"
            role="tab"
            id={props.prefix + tab.id}
            aria-selected={props.isChosen(tab)}
            aria-controls={props.controls(tab)}
            tabIndex={props.isChosen(tab) ? 0 : -1}
            onClick={() => props.onChoose(tab)}
            onKeyDown={keys}
          >
            {tab.label}
            {props.children?.(tab)}
          </button>
        )}
      </For>
    </div>
  );
}
