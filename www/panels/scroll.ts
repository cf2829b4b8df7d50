/** Tracks the scroll position as signals: for lists that draw only their visible part. */
import { createEffect, createSignal, onCleanup } from "solid-js";

/** Scrolling by less than this draws nothing anew. */
const STAGE = 100;

export function useScroll(element: () => HTMLElement | undefined) {
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(600);
  /** Takes over where it stands now, without waiting for the browser to say so. */
  const sync = () => {
    const scroller = element();
    if (scroller) setTop(Math.floor(scroller.scrollTop / STAGE) * STAGE);
  };
  createEffect(() => {
    const scroller = element();
    if (!scroller) return;
    scroller.addEventListener("scroll", sync, { passive: true });
    // The observer calls after layout, when sizes are known and reading them costs nothing.
    const observer = new ResizeObserver(() => setHeight(scroller.clientHeight + STAGE));
    observer.observe(scroller);
    onCleanup(() => {
      scroller.removeEventListener("scroll", sync);
      observer.disconnect();
    });
  });
  return { top, height, sync };
}
