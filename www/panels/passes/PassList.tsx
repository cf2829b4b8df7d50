/**
 * The pass list and the steps that it made, as one column. For assistive technology and tests they are two lists, **Passes**
 * and **Steps**, whose items are laid over each other line by line.
 */
import { createEffect, createMemo, createSelector, createSignal, For, on, Show } from "solid-js";
import type { PassItem, Step } from "../../engine/protocol";
import { callName } from "../../state/calls";
import { scriptPasses } from "../../state/model";
import { gone, looksAlike, type Shown } from "../../state/steps";
import { useApp } from "../context";
import { useScroll } from "../scroll";
import { dropAt, inSight, type Layout, layoutOf, TOP } from "./layout";
import { PassRow } from "./PassRow";
import { Phases } from "./Phases";
import { StepRow } from "./StepRow";
import { useTimes } from "./times";

export function PassList(props: {
  onEdit(id: number, anchor: HTMLElement): void;
  onAdd(): void;
  /** Moves the focus away when the list becomes empty. */
  onEmpty(): void;
}) {
  const app = useApp();
  const state = app.state;
  const [list, setList] = createSignal<HTMLDivElement>();
  const { top, height, sync } = useScroll(list);
  const [drag, setDrag] = createSignal<{ id: number; to: number } | null>(null);
  const [closed, setClosed] = createSignal<ReadonlySet<string>>(new Set());

  // A row depends on few values, and most of them outlive an edit and its run: a row is drawn anew only when one of
  // these has changed.
  const rows = createMemo(() => state().rows);
  const passes = createMemo(() => state().document.passes);
  /** The rows that the steps belong to. */
  const owners = createMemo(() => state().good?.rows ?? []);
  const inPhases = createMemo(() => state().preferences.phases);
  const text = createMemo(() => state().filter);
  const filtered = createMemo(
    () => text() !== "" || state().func !== "" || state().preferences.changedOnly,
  );
  const layout = createMemo<Layout>(() =>
    layoutOf({
      shown: app.shown(),
      rows: rows(),
      passes: passes(),
      owners: owners(),
      filtered: filtered(),
      text: text(),
      phases: inPhases(),
      closed: closed(),
      selected: app.selected(),
    }),
  );
  const measured = useTimes(app.steps);
  const timeOf = (step: Step) => (app.timed() ? measured(step) : -1);
  const own = createMemo(() => new Set(scriptPasses(state()).map((pass) => pass.name)), undefined, {
    equals: (a, b) => a.size === b.size && [...a].every((name) => b.has(name)),
  });

  const sameList = <T,>(a: readonly T[], b: readonly T[]) =>
    a.length === b.length && a.every((item, index) => item === b[index]);
  const seen = createMemo(() => {
    const { rows: at, steps } = layout();
    return inSight(at.size + steps.size, top(), height());
  });
  const rowIds = createMemo(
    () =>
      rows().filter((id) => {
        const place = layout().rows.get(id);
        return place && seen()(place);
      }),
    undefined,
    { equals: sameList },
  );
  const byId = createMemo(() => new Map(app.shown().map((item) => [item.step.id, item])));
  const positions = createMemo(
    () => new Map(app.shown().map((item, index) => [item.step.id, index + 1])),
  );
  // By id, not by object: a row outlives a run, and the focus with it.
  const stepIds = createMemo(
    () =>
      app.shown().flatMap((item) => {
        const place = layout().steps.get(item.index);
        return place && seen()(place) ? [item.step.id] : [];
      }),
    undefined,
    { equals: sameList },
  );
  const rowOf = createMemo(() => new Map(rows().map((id, row) => [id, row])));

  // The selected step stays in sight, and has the focus if the list has it. It becomes the tab stop only after that: an
  // element with the focus that loses its tab stop makes the browser lay out the page at once.
  const [tabStop, setTabStop] = createSignal("");
  const isTabStop = createSelector(tabStop);
  const selectedId = createMemo(() => app.step()?.id ?? "");
  const isSelected = createSelector(selectedId);
  const place = createMemo(() => layout().steps.get(app.selected())?.y ?? null);
  createEffect(
    on([selectedId, place], ([id, y]) => {
      const had = document.activeElement?.getAttribute("role") === "option";
      // In the next frame: asking for a place now would force a layout in the middle of the changes.
      requestAnimationFrame(() => {
        const scroller = list();
        if (!scroller || y === null) return setTabStop(id);
        if (y - TOP < scroller.scrollTop) scroller.scrollTop = y - TOP;
        else if (y + 32 > scroller.scrollTop + scroller.clientHeight)
          scroller.scrollTop = y + 32 - scroller.clientHeight;
        sync();
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

  const moveRow = (id: number, by: 1 | -1) => {
    const from = rowOf().get(id) ?? -1;
    app.dispatch({ type: "move", from, to: from + by });
  };
  const remove = (id: number) => {
    const row = rowOf().get(id) ?? -1;
    app.removePass(row);
    const next = rows()[Math.min(row, rows().length - 1)];
    const box = list()?.querySelector<HTMLElement>(`[data-row="${next}"]`);
    if (box) box.focus();
    else props.onEmpty();
  };
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

  const fold = (item: Shown, folded: boolean) =>
    app.dispatch({ type: "fold", id: item.step.id, folded });
  const stepKeys = (event: KeyboardEvent, item: Shown) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      const id = owners()[item.step.row];
      if (id !== undefined && rowOf().has(id)) moveRow(id, event.key === "ArrowUp" ? -1 : 1);
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
    <div class="passes" ref={setList} classList={{ "is-stale": state().stale }}>
      <div class="passes-all" style={{ height: `${layout().height}px` }}>
        <Show when={layout().phases.length > 0}>
          <Phases
            phases={layout().phases}
            onFold={(key) =>
              setClosed((before) => {
                const after = new Set(before);
                if (!after.delete(key)) after.add(key);
                return after;
              })
            }
          />
        </Show>
        <ul role="list" aria-label="Passes" class="contents">
          <For each={rowIds()}>
            {(id) => {
              const pass = createMemo<PassItem>(
                () => passes()[rowOf().get(id) ?? -1] ?? { call: "", enabled: false },
              );
              const at = createMemo(() => layout().rows.get(id), undefined, {
                equals: (a, b) => a?.y === b?.y && !a?.shown === !b?.shown,
              });
              return (
                <PassRow
                  id={id}
                  pass={pass()}
                  y={at()?.y ?? 0}
                  bare={!at()?.shown}
                  own={own().has(callName(pass().call))}
                  dragged={drag()?.id === id}
                  onToggle={() => app.dispatch({ type: "toggle", row: rowOf().get(id) ?? -1 })}
                  onMove={(by, control) => {
                    moveRow(id, by);
                    // The row's elements moved with it; moving them may have taken the focus away.
                    queueMicrotask(() => control.focus());
                  }}
                  onRemove={() => remove(id)}
                  onEdit={(anchor) => props.onEdit(id, anchor)}
                  onGrip={(event) => startDrag(event, id)}
                />
              );
            }}
          </For>
        </ul>
        <div role="listbox" aria-label="Steps" class="contents">
          <For each={stepIds()}>
            {(id) => {
              const item = createMemo(() => byId().get(id) ?? gone, gone, { equals: looksAlike });
              const at = createMemo(() => layout().steps.get(item().index), undefined, {
                equals: (a, b) => a?.y === b?.y && a?.listed === b?.listed,
              });
              const call = () => {
                const owner = at()?.listed ? owners()[item().step.row] : undefined;
                return passes()[owner === undefined ? -1 : (rowOf().get(owner) ?? -1)]?.call ?? "";
              };
              return (
                <StepRow
                  item={item()}
                  y={at()?.y ?? 0}
                  call={call()}
                  own={own().has(item().step.name)}
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
        <Show when={drag()}>
          <span class="drop" style={{ top: `${dropLine()}px` }} />
        </Show>
      </div>
      <Show when={rows().length === 0}>
        <p class="empty">
          No passes yet. Choose a pipeline above, or{" "}
          <button type="button" class="link" onClick={props.onAdd}>
            add a pass
          </button>
          .
        </p>
      </Show>
      <Show when={rows().length > 0 && layout().rows.size + layout().steps.size === 0}>
        <p class="empty">
          No pass or step answers the filter.{" "}
          <button type="button" class="link" onClick={() => app.showAll()}>
            Show all
          </button>
        </p>
      </Show>
    </div>
  );
}
