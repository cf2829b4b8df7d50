/**
 * The pass list and the steps that it made, as one column. For assistive technology and tests they are two lists, **Passes**
 * and **Steps**, whose items are laid over each other line by line.
 */
import { createMemo, createSignal, For, Show } from "solid-js";
import type { PassItem } from "../../engine/protocol";
import { callName } from "../../state/calls";
import { useApp } from "../context";
import { useScroll } from "../scroll";
import { createDrag } from "./drag";
import { PassRow } from "./PassRow";
import { Phases } from "./Phases";
import { createPlaces, type Places } from "./places";
import { Steps } from "./Steps";

interface Props {
  onEdit(id: number, anchor: HTMLElement): void;
  onAdd(): void;
  /** Moves the focus away when the list becomes empty. */
  onEmpty(): void;
}

export function PassList(props: Props) {
  const app = useApp();
  const [list, setList] = createSignal<HTMLDivElement>();
  const { top, height, sync } = useScroll(list);
  const places = createPlaces(top, height);
  const { layout, rows } = places;
  const { drag, startDrag, dropLine } = createDrag(places, list);

  return (
    <div class="passes" ref={setList} classList={{ "is-stale": app.state().stale }}>
      <div class="passes-all" style={{ height: `${layout().height}px` }}>
        <Show when={layout().phases.length > 0}>
          <Phases phases={layout().phases} onFold={places.foldPhase} />
        </Show>
        <Rows
          onEdit={props.onEdit}
          onEmpty={props.onEmpty}
          places={places}
          list={list}
          dragged={drag()?.id}
          onGrip={startDrag}
        />
        <Steps places={places} list={list} sync={sync} />
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

/** Draws the rows in sight, with the controls of each. */
function Rows(
  props: Omit<Props, "onAdd"> & {
    places: Places;
    list(): HTMLElement | undefined;
    dragged: number | undefined;
    onGrip(event: PointerEvent & { currentTarget: HTMLElement }, id: number): void;
  },
) {
  const app = useApp();
  const remove = (id: number) => {
    const row = props.places.rowOf().get(id) ?? -1;
    app.removePass(row);
    const next = props.places.rows()[Math.min(row, props.places.rows().length - 1)];
    const box = props.list()?.querySelector<HTMLElement>(`[data-row="${next}"]`);
    if (box) box.focus();
    else props.onEmpty();
  };
  return (
    <ul role="list" aria-label="Passes" class="contents">
      <For each={props.places.rowIds()}>
        {(id) => {
          const pass = createMemo<PassItem>(
            () =>
              props.places.passes()[props.places.rowOf().get(id) ?? -1] ?? {
                call: "",
                enabled: false,
              },
          );
          const at = createMemo(() => props.places.layout().rows.get(id), undefined, {
            equals: (a, b) => a?.y === b?.y && !a?.shown === !b?.shown,
          });
          return (
            <PassRow
              id={id}
              pass={pass()}
              y={at()?.y ?? 0}
              bare={!at()?.shown}
              own={props.places.own().has(callName(pass().call))}
              dragged={props.dragged === id}
              onToggle={() =>
                app.dispatch({ type: "toggle", row: props.places.rowOf().get(id) ?? -1 })
              }
              onMove={(by, control) => {
                props.places.moveRow(id, by);
                // The row's elements moved with it; moving them may have taken the focus away.
                queueMicrotask(() => control.focus());
              }}
              onRemove={() => remove(id)}
              onEdit={(anchor) => props.onEdit(id, anchor)}
              onGrip={(event) => props.onGrip(event, id)}
            />
          );
        }}
      </For>
    </ul>
  );
}
