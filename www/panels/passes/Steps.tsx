/** Draws the steps in the list of passes: a list box of those in sight. */
import { createEffect, createMemo, createSelector, createSignal, For, on } from "solid-js";
import type { Step } from "../../engine/protocol";
import { gone, looksAlike, type Shown } from "../../state/steps";
import { useApp } from "../context";
import { TOP } from "./layout";
import type { Places } from "./places";
import { StepRow } from "./StepRow";
import { useTimes } from "./times";

interface Props {
  places: Places;
  /** The element that scrolls. */
  list(): HTMLElement | undefined;
  /** Takes over its scroll position. */
  sync(): void;
}

export function Steps(props: Props) {
  const app = useApp();
  const measured = useTimes(app.steps);
  const timeOf = (step: Step) => (app.timed() ? measured(step) : -1);
  const byId = createMemo(() => new Map(app.shown().map((item) => [item.step.id, item])));
  const positions = createMemo(
    () => new Map(app.shown().map((item, index) => [item.step.id, index + 1])),
  );
  const { isTabStop, isSelected } = createTabStop(props);

  const fold = (item: Shown, folded: boolean) =>
    app.dispatch({ type: "fold", id: item.step.id, folded });
  const stepKeys = (event: KeyboardEvent, item: Shown) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      const id = props.places.owners()[item.step.row];
      if (id !== undefined && props.places.rowOf().has(id))
        props.places.moveRow(id, event.key === "ArrowUp" ? -1 : 1);
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = app.shown();
    const pick = (at: Shown | undefined) => at && app.dispatch({ type: "step", id: at.step.id });
    if (event.key === "ArrowDown") app.go(1, false);
    else if (event.key === "ArrowUp") app.go(-1, false);
    else if (event.key === "Home") pick(shown[0]);
    else if (event.key === "End") pick(shown.at(-1));
    else if (event.key === "ArrowLeft" && item.parent) fold(item, true);
    else if (event.key === "ArrowRight" && item.parent) fold(item, false);
    else if (event.key === "Enter" || event.key === " ") {
      app.dispatch({ type: "pane", pane: "result" });
    } else return;
    event.preventDefault();
  };

  return (
    <div role="listbox" aria-label="Steps" class="contents">
      <For each={props.places.stepIds()}>
        {(id) => {
          const item = createMemo(() => byId().get(id) ?? gone, gone, { equals: looksAlike });
          const at = createMemo(() => props.places.layout().steps.get(item().index), undefined, {
            equals: (a, b) => a?.y === b?.y && a?.listed === b?.listed,
          });
          const call = () => {
            const owner = at()?.listed ? props.places.owners()[item().step.row] : undefined;
            return (
              props.places.passes()[
                owner === undefined ? -1 : (props.places.rowOf().get(owner) ?? -1)
              ]?.call ?? ""
            );
          };
          return (
            <StepRow
              item={item()}
              y={at()?.y ?? 0}
              call={call()}
              own={props.places.own().has(item().step.name)}
              selected={isSelected(id)}
              tabStop={isTabStop(id)}
              micros={timeOf(item().step)}
              checked={app.checks.found().get(id)}
              position={positions().get(id) ?? 0}
              count={app.shown().length}
              onPick={() => app.dispatch({ type: "step", id })}
              onFold={(folded) => fold(item(), folded)}
              onKeyDown={(event) => stepKeys(event, item())}
            />
          );
        }}
      </For>
    </div>
  );
}

/** Tells which step is selected, and which one the Tab key goes to. */
function createTabStop(props: Props) {
  const app = useApp();
  // The selected step stays in sight, and has the focus if the list has it. It becomes the tab stop only after that: an
  // element with the focus that loses its tab stop makes the browser lay out the page at once.
  const [tabStop, setTabStop] = createSignal("");
  const isTabStop = createSelector(tabStop);
  const selectedId = createMemo(() => app.step()?.id ?? "");
  const isSelected = createSelector(selectedId);
  const place = createMemo(() => props.places.layout().steps.get(app.selected())?.y ?? null);
  createEffect(
    on([selectedId, place], ([id, y]) => {
      const had = document.activeElement?.getAttribute("role") === "option";
      // In the next frame: asking for a place now would force a layout in the middle of the changes.
      requestAnimationFrame(() => {
        const scroller = props.list();
        if (!scroller || y === null) return setTabStop(id);
        if (y - TOP < scroller.scrollTop) scroller.scrollTop = y - TOP;
        else if (y + 32 > scroller.scrollTop + scroller.clientHeight)
          scroller.scrollTop = y + 32 - scroller.clientHeight;
        props.sync();
        const option = scroller.querySelector<HTMLElement>('[role="option"][aria-selected="true"]');
        const lost = had && document.activeElement === document.body;
        const elsewhere =
          document.activeElement?.getAttribute("role") === "option" &&
          scroller.contains(document.activeElement) &&
          document.activeElement !== option;
        if (option && (lost || elsewhere)) option.focus();
        setTabStop(id);
      });
    }),
  );
  return { isTabStop, isSelected };
}
