/**
 * Small panels whose code comes when they are first opened. A panel takes the focus; when that has gone elsewhere by the
 * time the code is there, somebody types elsewhere, and the panel no longer opens.
 */
import { type Component, createSignal, lazy, Show } from "solid-js";

const panels: { preload(): Promise<unknown> }[] = [];

/** The panel whose code `load` brings. */
export function late<P extends { onClose(): void }>(
  load: () => Promise<{ default: Component<P> }>,
): Component<P> {
  const Panel = lazy(load);
  panels.push(Panel);
  return (props) => {
    const stayed = focusStays();
    const [here, setHere] = createSignal(false);
    const open = () => (stayed() ? setHere(true) : props.onClose());
    // When it does not come, the panel itself says so.
    void Panel.preload().then(open, open);
    return (
      <Show when={here()}>
        <Panel {...props} />
      </Show>
    );
  };
}

/** Whether the focus is still where it is now; an element that is gone has not given it to another. */
export function focusStays(): () => boolean {
  const focus = document.activeElement;
  return () => document.activeElement === focus || document.activeElement === document.body;
}

/** Fetches the code of all such panels: what is typed right after the key that opens one is meant for the panel. */
export function fetchPanels(): void {
  for (const panel of panels) void panel.preload();
}
