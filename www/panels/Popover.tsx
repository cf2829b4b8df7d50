/** A small panel beside the button that opens it: closes by Escape, by a click elsewhere, and gives the focus back. */
import { type JSX, onCleanup, onMount } from "solid-js";
import "../styles/popover.css";

export function Popover(props: {
  anchor: HTMLElement;
  label: string;
  onClose(): void;
  children: JSX.Element;
  wide?: boolean;
}) {
  let panel!: HTMLDivElement;

  const place = () => {
    const at = props.anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = panel;
    const left = Math.max(8, Math.min(at.left, window.innerWidth - width - 8));
    const below = at.bottom + 4;
    const top = below + height > window.innerHeight - 8 ? Math.max(8, at.top - height - 4) : below;
    panel.style.left = `${left}px`;
    panel.style.top = `${top}px`;
  };

  onMount(() => {
    panel.showPopover();
    place();
    const observer = new ResizeObserver(place);
    observer.observe(panel);
    const first =
      panel.querySelector<HTMLElement>("[data-first]") ??
      panel.querySelector<HTMLElement>("input, button");
    first?.focus();
    onCleanup(() => {
      observer.disconnect();
      const lost =
        document.activeElement === document.body || panel.contains(document.activeElement);
      if (lost && props.anchor.isConnected) props.anchor.focus();
    });
  });

  return (
    <div
      class="popover"
      classList={{ wide: props.wide }}
      popover="auto"
      role="dialog"
      aria-label={props.label}
      ref={panel}
      onToggle={(event) => {
        if (event.newState === "closed") props.onClose();
      }}
    >
      {props.children}
    </div>
  );
}
