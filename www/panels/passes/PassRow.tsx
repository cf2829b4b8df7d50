/** A row of the pass list: its handle, its switch, the button that opens its form, and its step between them. */
import { Show } from "solid-js";
import type { PassItem } from "../../engine/protocol";
import { callName } from "../../state/calls";
import { needsScript } from "../../state/trust";
import { useApp } from "../context";
import { CallName } from "./CallName";

export function PassRow(props: {
  id: number;
  pass: PassItem;
  y: number;
  /** There is no step beside it that has its name. */
  bare: boolean;
  own: boolean;
  dragged: boolean;
  onToggle(): void;
  onMove(by: 1 | -1, control: HTMLElement): void;
  onRemove(): void;
  onEdit(anchor: HTMLElement): void;
  onGrip(event: PointerEvent & { currentTarget: HTMLElement }): void;
}) {
  const app = useApp();
  const name = () => callName(props.pass.call);
  /** Not a pass of the engine, while there is a script that may not run. */
  const held = () =>
    app.state().trust !== "own" && needsScript(app.state().catalogue, props.pass.call);
  const top = () => ({ top: `${props.y}px` });
  const keys = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      props.onMove(event.key === "ArrowUp" ? -1 : 1, event.currentTarget);
    } else if (event.key === "Delete") {
      event.preventDefault();
      props.onRemove();
    }
  };
  return (
    <li role="listitem" class="contents" classList={{ dragged: props.dragged }}>
      <span class="grip" style={top()} aria-hidden="true" onPointerDown={props.onGrip}>
        ⠿
      </span>
      <span class="check" style={top()}>
        <input
          type="checkbox"
          data-row={props.id}
          aria-label={name()}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
          checked={props.pass.enabled}
          onChange={props.onToggle}
          onKeyDown={keys}
        />
      </span>
      <Show when={props.bare}>
        <span class="step idle" classList={{ off: !props.pass.enabled }} style={top()}>
          <CallName name={name()} call={props.pass.call} depth={0} />
          <Show when={props.own}>
            <span class="tag">yours</span>
          </Show>
          <span class="meta">{props.pass.enabled ? (held() ? "not run" : "") : "off"}</span>
        </span>
      </Show>
      <button
        type="button"
        class="more"
        style={top()}
        aria-label={`Edit ${name()}`}
        aria-haspopup="dialog"
        onClick={(event) => props.onEdit(event.currentTarget)}
        onKeyDown={keys}
      >
        ⋯
      </button>
    </li>
  );
}
