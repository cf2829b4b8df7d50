/** The view over the picture of a graph: its visible part, scrolling, and the scale. */
import { createEffect, createSignal, on, onCleanup, onMount } from "solid-js";
import { type Part, TILE } from "./drawing";
import { NODE, type Scene } from "./scene";

const ZOOMS = [0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];
/** The height in pixels of the bar that covers the foot of the picture. */
const FOOT = 56;

export type Camera = ReturnType<typeof createCamera>;

export function createCamera(scene: () => Scene, element: () => HTMLElement) {
  const [zoom, setZoom] = createSignal(1);
  /** Draws, and scrolls to the first change unless there was a view before. */
  const [part, setPart] = createSignal<Part>(
    { left: 0, top: 0, right: 2 * TILE, bottom: 2 * TILE },
    {
      equals: (a, b) =>
        a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom,
    },
  );
  /** The visible part, in the units of the picture. */
  const [sight, setSight] = createSignal<Part>({ left: 0, top: 0, right: 0, bottom: 0 });
  const look = () => {
    const view = element();
    const scale = zoom();
    const left = view.scrollLeft / scale;
    const top = view.scrollTop / scale;
    const before = (at: number) => (Math.floor(at / TILE) - 0.5) * TILE;
    const after = (at: number) => (Math.ceil(at / TILE) + 0.5) * TILE;
    setSight({
      left,
      top,
      right: left + view.clientWidth / scale,
      bottom: top + view.clientHeight / scale,
    });
    setPart({
      left: before(left),
      top: before(top),
      right: after(left + view.clientWidth / scale),
      bottom: after(top + view.clientHeight / scale),
    });
  };
  onMount(() => {
    const observer = new ResizeObserver(look);
    observer.observe(element());
    onCleanup(() => observer.disconnect());
  });
  createEffect(on(zoom, () => requestAnimationFrame(look), { defer: true }));

  const scrollTo = (left: number, top: number) => {
    const view = element();
    view.scrollLeft = left;
    view.scrollTop = top;
  };
  return {
    zoom,
    setZoom,
    part,
    sight,
    look,
    scrollTo,
    /** Scrolls to a node, unless it is visible. */
    show(index: number): void {
      const target = scene().shapes[index];
      if (!target) return;
      const view = element();
      const scale = zoom();
      const [left, top] = [target.x * scale, target.y * scale];
      const [width, height] = [NODE.width * scale, NODE.height * scale];
      const seen =
        left >= view.scrollLeft &&
        top >= view.scrollTop &&
        left + width <= view.scrollLeft + view.clientWidth &&
        top + height <= view.scrollTop + view.clientHeight - FOOT;
      if (seen) return;
      scrollTo(
        left + width / 2 - view.clientWidth / 2,
        top + height / 2 - (view.clientHeight - FOOT) / 2,
      );
    },
    /** Returns the scale at which all of it is visible, or all of its width. */
    scaleToFit(height: boolean): number {
      const { clientWidth, clientHeight } = element();
      const scales = [clientWidth / scene().width];
      if (height) scales.push(clientHeight / scene().height);
      const best = Math.min(1, ...scales.filter(Number.isFinite));
      return Math.max(ZOOMS[0] as number, Math.floor(best * 100) / 100);
    },
    /** Goes to the next scale; a point of the view stays, its middle unless another is given. */
    zoomBy(by: 1 | -1, x = element().clientWidth / 2, y = element().clientHeight / 2): void {
      const view = element();
      const old = zoom();
      const next =
        by > 0
          ? ZOOMS.find((scale) => scale > old)
          : [...ZOOMS].reverse().find((scale) => scale < old);
      if (!next) return;
      // Keeps the point under the pointer in its place.
      const [left, top] = [view.scrollLeft + x, view.scrollTop + y].map((at) => (at * next) / old);
      setZoom(next);
      scrollTo((left ?? 0) - x, (top ?? 0) - y);
    },
  };
}
