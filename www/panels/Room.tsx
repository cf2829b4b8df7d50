/** The button that gives a pane all the room, or takes it back. A narrow window shows one pane at a time anyway. */
import type { Pane } from "../state/model";
import { useApp } from "./context";

export function Room(props: { pane: Pane; label: string }) {
  const app = useApp();
  const whole = () => app.state().whole === props.pane;
  return (
    <button
      type="button"
      class="icon whole"
      aria-label={`${whole() ? "Share the room again" : "All the room for"} ${props.label}`.replace(
        /again .*/,
        "again",
      )}
      title={whole() ? "Share the room again (z)" : `All the room for ${props.label} (z)`}
      aria-pressed={whole()}
      onClick={() => app.dispatch({ type: "whole", pane: whole() ? null : props.pane })}
    >
      {whole() ? "⤡" : "⤢"}
    </button>
  );
}
