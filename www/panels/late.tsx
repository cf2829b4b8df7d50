/**
 * Loads the code of small panels when they are first opened. A panel takes the focus; if the user has moved the focus
 * by the time the code arrives, the panel no longer opens.
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
    // A panel whose code cannot be loaded says so itself.
    void Panel.preload().then(open, open);
    return (
      <Show when={here()}>
        <Panel {...props} />
      </Show>
    );
  };
}

/** Returns a test that the focus is still on the same element; a removed element has not passed it to another. */
export function focusStays(): () => boolean {
  const focus = document.activeElement;
  return () => document.activeElement === focus || document.activeElement === document.body;
}

/** Fetches the code of all such panels, because keys typed right after the one that opens a panel are meant for it. */
export function fetchPanels(): void {
  for (const panel of panels) void panel.preload();
}
