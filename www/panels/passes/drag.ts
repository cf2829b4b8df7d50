/** Drags a row of the pass list, and tells the line where it would be dropped. */
import { createSignal } from "solid-js";
import { useApp } from "../context";
import { dropAt } from "./layout";
import type { Places } from "./places";

export function createDrag({ rows, rowOf, layout }: Places, list: () => HTMLElement | undefined) {
  const app = useApp();
  const [drag, setDrag] = createSignal<{ id: number; to: number } | null>(null);
  const startDrag = (event: PointerEvent & { currentTarget: HTMLElement }, id: number) => {
    const scroller = list();
    if (event.button !== 0 || !scroller) return;
    event.preventDefault();
    const grip = event.currentTarget;
    grip.setPointerCapture(event.pointerId);
    const track = (next: PointerEvent) => {
      const y = next.clientY - scroller.getBoundingClientRect().top + scroller.scrollTop;
      setDrag({ id, to: dropAt(layout(), rows(), y) });
    };
    const end = (next: PointerEvent) => {
      grip.removeEventListener("pointermove", track);
      grip.removeEventListener("pointerup", end);
      grip.removeEventListener("pointercancel", end);
      const target = drag();
      setDrag(null);
      if (!target || next.type === "pointercancel") return;
      const from = rowOf().get(id) ?? -1;
      app.dispatch({ type: "move", from, to: target.to > from ? target.to - 1 : target.to });
    };
    grip.addEventListener("pointermove", track);
    grip.addEventListener("pointerup", end);
    grip.addEventListener("pointercancel", end);
  };
  const dropLine = () => {
    const target = drag();
    const id = target ? rows()[target.to] : undefined;
    const at = id === undefined ? undefined : layout().rows.get(id);
    return at?.y ?? layout().height - 8;
  };
  return { drag, startDrag, dropLine };
}
