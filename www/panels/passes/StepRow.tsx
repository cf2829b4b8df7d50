/** A step in the list: its outcome, its name, its time, and the number of folded steps. */
import { Show } from "solid-js";
import type { Checked } from "../../engine/protocol";
import { verdictMark } from "../../state/checks";
import { duration, outcomeMark, type Shown, stepWords } from "../../state/steps";
import { CallName } from "./CallName";
import { metaOf } from "./layout";

export function StepRow(props: {
  item: Shown;
  y: number;
  /** Its call where it stands beside its row, else empty. */
  call: string;
  own: boolean;
  selected: boolean;
  tabStop: boolean;
  micros: number;
  /** The finding of a check by running. */
  checked: Checked | undefined;
  /** Its place among the steps that are listed, from 1, and their number. */
  position: number;
  count: number;
  onPick(): void;
  onFold(folded: boolean): void;
  onKeyDown(event: KeyboardEvent): void;
}) {
  const step = () => props.item.step;
  /** True if other steps are folded into it now. */
  const closed = () => props.item.folded || props.item.quiet > 0;
  return (
    <div
      role="option"
      class={`step ${step().outcome} ${step().role}`}
      aria-selected={props.selected}
      aria-posinset={props.position}
      aria-setsize={props.count}
      tabIndex={props.tabStop ? 0 : -1}
      data-step={props.item.index}
      style={{ top: `${props.y}px`, "--depth": step().depth }}
      title={step().reason || undefined}
      onClick={props.onPick}
      onKeyDown={props.onKeyDown}
    >
      <span class={`mark ${step().outcome}`} aria-hidden="true">
        {outcomeMark[step().outcome]}
      </span>
      <CallName name={step().name} call={props.call} depth={step().depth} />
      <Show when={props.own}>
        <span class="tag" aria-hidden="true">
          yours
        </span>
      </Show>
      <span class="sr">
        {stepWords(step(), closed())}
        {props.own ? ", your pass" : ""}
        {props.checked ? `, ${props.checked.text}` : ""}
      </span>
      <Show when={props.checked}>
        {(found) => (
          <span
            class="check-mark"
            classList={{ wrong: found().outcome === "different" }}
            aria-hidden="true"
            title={found().text}
          >
            {verdictMark[found().outcome]}
          </span>
        )}
      </Show>
      <Show when={props.item.parent}>
        {/* The arrow keys do the same; this is for the mouse. */}
        <span
          class="fold-mark"
          classList={{ folded: closed() }}
          aria-hidden="true"
          title={closed() ? `Show the ${props.item.quiet || ""} steps folded in here` : "Fold"}
          onClick={(event) => {
            event.stopPropagation();
            props.onFold(!closed());
          }}
        >
          {closed() ? `▸${props.item.quiet || ""}` : "▾"}
        </span>
      </Show>
      <span
        class="meta"
        classList={{ time: step().outcome === "changed" || step().outcome === "unchanged" }}
      >
        {metaOf(step(), duration, props.micros)}
      </span>
    </div>
  );
}
