/**
 * The pass list and the steps that it made, as one column: a row is a pass to toggle, move and configure, and
 * beside it stands what it did. For assistive technology and tests they are two lists, **Passes** and **Steps**,
 * whose items are laid into one grid.
 */
import {
  createEffect,
  createMemo,
  createSelector,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  Show,
} from "solid-js";
import type { PassItem, Step } from "../engine/protocol";
import { callArguments, callName, matchingPipeline } from "../state/calls";
import { scriptPasses } from "../state/model";
import { phaseOf } from "../state/phases";
import { duration, gone, looksAlike, outcomeMark, type Shown, stepWords } from "../state/steps";
import { needsScript } from "../state/trust";
import { ContextFoot } from "./ContextFoot";
import { panelCommands } from "./commands";
import { useApp } from "./context";
import { late } from "./late";
import { Part } from "./Part";
import { type Phase, Phases } from "./Phases";
import { Toggle } from "./Toggle";

const AddPass = late(() => import("./AddPass"));
const EditPass = late(() => import("./EditPass"));

interface Place {
  /** Line in the grid, from 1. */
  line: number;
}

/** Milliseconds without a new run after which the times beside the steps are those of the last one. */
const TIMES_SETTLE = 300;

/** Where every row and every step stands in the grid. */
interface Layout {
  rows: Map<number, Place & { shown: Shown | null }>;
  steps: Map<number, Place & { listed: boolean }>;
  phases: Phase[];
  lines: number;
}

export function PassesPane() {
  const app = useApp();
  const state = app.state;
  let addButton!: HTMLButtonElement;
  let list!: HTMLDivElement;
  let filter!: HTMLInputElement;
  const [adding, setAdding] = createSignal(false);
  const [editing, setEditing] = createSignal<{ id: number; anchor: HTMLElement } | null>(null);
  const [drag, setDrag] = createSignal<{ id: number; to: number } | null>(null);

  /** Keys of phases of which only the selected step is shown. */
  const [closed, setClosed] = createSignal<ReadonlySet<string>>(new Set());

  // What a row shows follows from few things, and most of them outlive an edit and its run: a row is drawn anew when one of
  // these has changed, and not with all else that does.
  const rows = createMemo(() => state().rows);
  const passes = createMemo(() => state().document.passes);
  /** The rows that the steps belong to. */
  const owners = createMemo(() => state().good?.rows ?? []);
  const inPhases = createMemo(() => state().preferences.phases);

  const layout = createMemo<Layout>(() => {
    const shown = app.shown();
    const result: Layout = { rows: new Map(), steps: new Map(), phases: [], lines: 0 };
    const byRow = new Map<number, Shown[]>();
    const loose: Shown[] = [];
    for (const item of shown) {
      const id = owners()[item.step.row];
      if (id === undefined || !rows().includes(id)) {
        loose.push(item);
      } else {
        const group = byRow.get(id);
        if (group) group.push(item);
        else byRow.set(id, [item]);
      }
    }
    let line = 0;
    for (const item of loose) result.steps.set(item.index, { line: ++line, listed: false });
    rows().forEach((id, row) => {
      const group = byRow.get(id) ?? [];
      if (inPhases()) {
        const name = phaseOf(callName(passes()[row]?.call ?? ""));
        const { phases } = result;
        let phase = phases.at(-1);
        if (phase?.name === name) phase.steps.push(...group);
        else {
          // A phase may come again.
          const key = `${name} ${phases.filter((before) => before.name === name).length}`;
          phase = { line: ++line, name, key, open: !closed().has(key), steps: [...group] };
          phases.push(phase);
        }
        if (!phase.open) {
          const selected = group.find((item) => item.index === app.selected());
          if (selected) result.steps.set(selected.index, { line: ++line, listed: false });
          return;
        }
      }
      const listed = group.find((item) => item.step.role === "listed") ?? null;
      for (const item of group) {
        result.steps.set(item.index, { line: ++line, listed: item === listed });
        if (item === listed) result.rows.set(id, { line, shown: item });
      }
      if (!listed) result.rows.set(id, { line: ++line, shown: null });
    });
    result.lines = line;
    return result;
  });

  const ids = createMemo(() => app.shown().map((item) => item.step.id), undefined, {
    equals: (a, b) => a.length === b.length && a.every((id, index) => id === b[index]),
  });
  const byId = createMemo(() => new Map(app.shown().map((item) => [item.step.id, item])));

  const counts = createMemo(() => {
    const steps = app.steps();
    return {
      all: steps.length,
      changed: steps.filter((step) => step.outcome === "changed").length,
    };
  });
  // Numbers that flicker at every keystroke are not read, and drawing them takes time from what is: they follow when no
  // new run comes for a moment.
  const [times, setTimes] = createSignal<ReadonlyMap<string, number>>(new Map());
  createEffect(
    on(app.steps, (steps) => {
      const settle = () => setTimes(new Map(steps.map(({ id, micros }) => [id, micros])));
      const timer = setTimeout(settle, times().size === 0 ? 0 : TIMES_SETTLE);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  const timeOf = (step: Step) => times().get(step.id) ?? step.micros;

  const pipeline = createMemo(() => matchingPipeline(state().catalogue, state().document));
  const own = createMemo(() => new Set(scriptPasses(state()).map((pass) => pass.name)), undefined, {
    equals: (a, b) => a.size === b.size && [...a].every((name) => b.has(name)),
  });
  /** Not a pass of the engine, while there is a script that may not run. */
  const held = (call: string) => state().trust !== "own" && needsScript(state().catalogue, call);

  /** The functions that steps changed; the one that is chosen stays, or nobody could choose another. */
  const functions = createMemo(() => {
    const names = new Set(app.steps().flatMap((step) => step.functions));
    if (state().func) names.add(state().func);
    return [...names].sort();
  });

  const openAdd = () => setAdding(true);
  const leave = () => {
    const option = list.querySelector<HTMLElement>('[role="option"][tabIndex="0"]');
    (option ?? addButton).focus();
  };
  onMount(() => {
    const toFilter = () => {
      filter.focus();
      filter.select();
    };
    panelCommands.addEventListener("filter", toFilter);
    onCleanup(() => panelCommands.removeEventListener("filter", toFilter));
    panelCommands.addEventListener("add", openAdd);
    panelCommands.addEventListener("leave-editor", leave);
    onCleanup(() => {
      panelCommands.removeEventListener("add", openAdd);
      panelCommands.removeEventListener("leave-editor", leave);
    });
  });

  // The selected step stays in sight, and the focus goes with it when it is in the list. Tab comes to it only after that:
  // what has the focus and can no longer be tabbed to makes the browser lay out the page at once.
  const [tabStop, setTabStop] = createSignal("");
  const isTabStop = createSelector(tabStop);
  const selectedId = createMemo(() => app.step()?.id ?? "");
  const isSelected = createSelector(selectedId);
  createEffect(
    on([selectedId, ids], () => {
      // In the next frame: asking for a place now would force a layout in the middle of the changes.
      requestAnimationFrame(() => {
        const option = list.querySelector<HTMLElement>('[role="option"][aria-selected="true"]');
        if (!option) return setTabStop(selectedId());
        // Not by scrollIntoView: Chromium takes that for the place from which Tab goes on.
        const all = list.getBoundingClientRect();
        const one = option.getBoundingClientRect();
        if (one.top < all.top) list.scrollTop += one.top - all.top;
        else if (one.bottom > all.bottom) list.scrollTop += one.bottom - all.bottom;
        const active = document.activeElement;
        if (active?.getAttribute("role") === "option" && active !== option) option.focus();
        setTabStop(selectedId());
      });
    }),
  );

  const moveRow = (id: number, by: 1 | -1) => {
    const from = state().rows.indexOf(id);
    app.dispatch({ type: "move", from, to: from + by });
  };
  const move = (id: number, by: 1 | -1, control: HTMLElement) => {
    moveRow(id, by);
    // The row's elements moved with it; moving them may have taken the focus away.
    queueMicrotask(() => control.focus());
  };

  const rowKeys = (event: KeyboardEvent & { currentTarget: HTMLElement }, id: number) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      move(id, event.key === "ArrowUp" ? -1 : 1, event.currentTarget);
    } else if (event.key === "Delete") {
      event.preventDefault();
      remove(id);
    }
  };

  const remove = (id: number) => {
    const row = state().rows.indexOf(id);
    setEditing(null);
    app.removePass(row);
    const boxes = list.querySelectorAll<HTMLElement>('input[type="checkbox"]');
    (boxes[Math.min(row, boxes.length - 1)] ?? addButton).focus();
  };

  const startDrag = (event: PointerEvent & { currentTarget: HTMLElement }, id: number) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const grip = event.currentTarget;
    grip.setPointerCapture(event.pointerId);
    const track = (next: PointerEvent) => {
      const boxes = [...list.querySelectorAll<HTMLElement>("[data-row]")];
      let to = 0;
      boxes.forEach((box, row) => {
        const at = box.getBoundingClientRect();
        // What is folded away has no height, and goes with what stands before it.
        if (at.height > 0 && next.clientY > at.top + at.height / 2) to = row + 1;
      });
      setDrag({ id, to });
    };
    const end = (next: PointerEvent) => {
      grip.removeEventListener("pointermove", track);
      grip.removeEventListener("pointerup", end);
      grip.removeEventListener("pointercancel", end);
      const target = drag();
      setDrag(null);
      if (!target || next.type === "pointercancel") return;
      const from = state().rows.indexOf(id);
      app.dispatch({ type: "move", from, to: target.to > from ? target.to - 1 : target.to });
    };
    grip.addEventListener("pointermove", track);
    grip.addEventListener("pointerup", end);
    grip.addEventListener("pointercancel", end);
  };

  const stepKeys = (event: KeyboardEvent, item: Shown) => {
    if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      const id = state().good?.rows[item.step.row];
      const from = id === undefined ? -1 : state().rows.indexOf(id);
      if (from >= 0) {
        app.dispatch({ type: "move", from, to: from + (event.key === "ArrowUp" ? -1 : 1) });
      }
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

  const fold = (item: Shown, folded: boolean) =>
    app.dispatch({ type: "fold", id: item.step.id, folded });

  const dropLine = () => {
    const target = drag();
    if (!target) return 0;
    const rows = state().rows;
    const id = rows[target.to];
    const place = id === undefined ? undefined : layout().rows.get(id);
    return place ? place.line : layout().lines + 1;
  };

  return (
    <>
      <div class="pane-head">
        <h2>Passes</h2>
        <span class="quiet grow">
          <Show when={counts().all > 0}>
            {counts().all} steps, {counts().changed} changed
          </Show>
        </span>
        <Show when={state().stale}>
          <span class="stale" title="These steps belong to the last program without errors">
            ⚠ stale
          </span>
        </Show>
        <button
          type="button"
          ref={addButton}
          aria-haspopup="dialog"
          aria-expanded={adding()}
          onClick={openAdd}
        >
          Add pass
        </button>
      </div>
      <div class="bar">
        <input
          type="search"
          class="filter"
          aria-label="Filter steps"
          aria-keyshortcuts="/"
          placeholder="Filter"
          ref={filter}
          value={state().filter}
          onInput={(event) => app.dispatch({ type: "filter", text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" && event.key !== "Enter") return;
            event.preventDefault();
            if (event.key === "Escape") app.dispatch({ type: "filter", text: "" });
            leave();
          }}
        />
        <Show when={functions().length > 1}>
          <select
            aria-label="Function"
            title="Steps that changed this function"
            value={state().func}
            onChange={(event) => app.dispatch({ type: "func", name: event.currentTarget.value })}
          >
            <option value="">All functions</option>
            <For each={functions()}>
              {(name) => (
                <option value={name} selected={name === state().func}>
                  @{name}
                </option>
              )}
            </For>
          </select>
        </Show>
        <Toggle
          label="Changed only"
          on={state().preferences.changedOnly}
          onChange={(changedOnly) => app.dispatch({ type: "prefer", change: { changedOnly } })}
        />
        <Toggle
          label="Nested"
          title="Show steps that ran inside of a pass, or because one required them"
          on={state().preferences.nested}
          onChange={(nested) => app.dispatch({ type: "prefer", change: { nested } })}
        />
        <Toggle
          label="Phases"
          title="Group the passes by the phase of compilation that they belong to"
          on={state().preferences.phases}
          onChange={(phases) => app.dispatch({ type: "prefer", change: { phases } })}
        />
      </div>
      <div class="passes" ref={list} classList={{ "is-stale": state().stale }}>
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
          <For each={rows()}>
            {(id) => {
              const row = () => rows().indexOf(id);
              const pass = createMemo<PassItem>(
                () => passes()[row()] ?? { call: "", enabled: false },
              );
              const name = () => callName(pass().call);
              const place = createMemo(() => layout().rows.get(id), undefined, {
                equals: (a, b) => a?.line === b?.line && !a?.shown === !b?.shown,
              });
              const style = () => ({ "grid-row": String(place()?.line ?? 1) });
              return (
                <li
                  role="listitem"
                  class="contents"
                  hidden={!place()}
                  classList={{ dragged: drag()?.id === id }}
                >
                  <span
                    class="grip"
                    style={style()}
                    data-row={id}
                    aria-hidden="true"
                    onPointerDown={(event) => startDrag(event, id)}
                  >
                    ⠿
                  </span>
                  <span class="check" style={style()}>
                    <input
                      type="checkbox"
                      aria-label={name()}
                      aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
                      checked={pass().enabled}
                      onChange={() => app.dispatch({ type: "toggle", row: row() })}
                      onKeyDown={(event) => rowKeys(event, id)}
                    />
                  </span>
                  <Show when={!place()?.shown}>
                    <span class="step idle" classList={{ off: !pass().enabled }} style={style()}>
                      <CallName name={name()} call={pass().call} depth={0} />
                      <Show when={own().has(name())}>
                        <span class="tag">yours</span>
                      </Show>
                      <span class="meta">
                        {pass().enabled ? (held(pass().call) ? "not run" : "") : "off"}
                      </span>
                    </span>
                  </Show>
                  <button
                    type="button"
                    class="more"
                    style={style()}
                    aria-label={`Edit ${name()}`}
                    aria-haspopup="dialog"
                    onClick={(event) => setEditing({ id, anchor: event.currentTarget })}
                    onKeyDown={(event) => rowKeys(event, id)}
                  >
                    ⋯
                  </button>
                </li>
              );
            }}
          </For>
        </ul>
        <div role="listbox" aria-label="Steps" class="contents">
          {/* By id, not by object: a row outlives a run, and the focus with it. */}
          <For each={ids()}>
            {(id) => {
              const item = createMemo(() => byId().get(id) ?? gone, gone, { equals: looksAlike });
              const step = () => item().step;
              const place = createMemo(() => layout().steps.get(item().index), undefined, {
                equals: (a, b) => a?.line === b?.line && a?.listed === b?.listed,
              });
              const call = () => {
                if (!place()?.listed) return "";
                const owner = owners()[step().row];
                const row = owner === undefined ? -1 : rows().indexOf(owner);
                return passes()[row]?.call ?? "";
              };
              return (
                <div
                  role="option"
                  hidden={!place()}
                  class={`step ${step().outcome} ${step().role}`}
                  aria-selected={isSelected(id)}
                  tabIndex={isTabStop(id) ? 0 : -1}
                  data-step={item().index}
                  style={{ "grid-row": String(place()?.line ?? 1), "--depth": step().depth }}
                  title={step().reason || undefined}
                  onClick={() => app.dispatch({ type: "step", id: step().id })}
                  onKeyDown={(event) => stepKeys(event, item())}
                >
                  <span class={`mark ${step().outcome}`} aria-hidden="true">
                    {outcomeMark[step().outcome]}
                  </span>
                  <CallName name={step().name} call={call()} depth={step().depth} />
                  <Show when={own().has(step().name)}>
                    <span class="tag" aria-hidden="true">
                      yours
                    </span>
                  </Show>
                  <span class="sr">
                    {stepWords(step(), item().folded)}
                    {own().has(step().name) ? ", your pass" : ""}
                  </span>
                  <Show when={item().parent}>
                    {/* The arrow keys do the same; this is for the mouse. */}
                    <span
                      class="fold-mark"
                      classList={{ folded: item().folded }}
                      aria-hidden="true"
                      onClick={(event) => {
                        event.stopPropagation();
                        fold(item(), !item().folded);
                      }}
                    >
                      {item().folded ? "▸" : "▾"}
                    </span>
                  </Show>
                  <span class="meta">{metaOf(step(), timeOf(step()))}</span>
                </div>
              );
            }}
          </For>
        </div>
        <Show when={drag()}>
          <span
            class="drop"
            classList={{ end: dropLine() > layout().lines }}
            style={{ "grid-row": String(Math.min(dropLine(), Math.max(1, layout().lines))) }}
          />
        </Show>
        <Show when={state().rows.length === 0}>
          <p class="empty">
            No passes yet. Choose a pipeline above, or{" "}
            <button type="button" class="link" onClick={openAdd}>
              add a pass
            </button>
            .
          </p>
        </Show>
      </div>
      <Show when={(pipeline()?.missing.length ?? 0) > 0}>
        <details class="foot">
          <summary>{notYet(pipeline()?.missing.length ?? 0)}</summary>
          <p class="quiet">{pipeline()?.missing.map(callName).join(", ")}</p>
        </details>
      </Show>
      <ContextFoot />
      <Show when={adding()}>
        <Part>
          <AddPass anchor={addButton} onClose={() => setAdding(false)} />
        </Part>
      </Show>
      <Show when={editing()} keyed>
        {(target) => (
          <Part>
            <EditPass
              id={target.id}
              anchor={target.anchor}
              onClose={() => setEditing((now) => (now === target ? null : now))}
              onMove={(by) => moveRow(target.id, by)}
              onRemove={() => remove(target.id)}
            />
          </Part>
        )}
      </Show>
    </>
  );
}

const notYet = (count: number) =>
  `${count} ${count === 1 ? "pass" : "passes"} of this pipeline not in passlab yet`;

/** Characters of a name that fit into a row at every width of the page, and how many an indentation takes. */
const SHORT = 14;
const INDENTATION = 3;

/** The name of a pass and the arguments of its call; clipped only where it may be wider than its row. */
function CallName(props: { name: string; call: string; depth: number }) {
  const given = () => {
    const inner = callArguments(props.call);
    return inner ? `(${inner})` : "";
  };
  const length = () => props.name.length + given().length + INDENTATION * props.depth;
  return (
    <span class="name" classList={{ long: length() > SHORT }}>
      {props.name}
      <span class="arguments">{given()}</span>
    </span>
  );
}

/** What stands at the end of a step's row: its time, or why it did not run. */
function metaOf(step: Step, micros: number): string {
  if (step.outcome === "skipped") {
    return /opt[ _-]?level/i.test(step.reason) ? `O${step.optLevel}` : "skipped";
  }
  if (step.outcome === "failed") return "failed";
  if (step.outcome === "not-reached") return "";
  return duration(micros);
}
