/** The instructions of a schedule: each is a step to look at, can be switched off, moved, edited and taken out. */
import { createEffect, createSignal, For, on, Show } from "solid-js";
import type { Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import { type Line, moved, PRIMITIVES, removed, replaced, toggled } from "./trace";

export function Instructions(props: {
  text: string;
  lines: readonly Line[];
  /** The last one that is applied to what is shown. */
  last: Line | undefined;
  stages: readonly Step[];
  /** There is a schedule; else a click on a loop makes one. */
  has: boolean;
  locked: boolean;
  onShow(id: string): void;
  onWrite(trace: string, stage: number | null): void;
  /** Puts instructions behind the one that is shown. */
  onAdd(code: string): void;
}) {
  const app = useApp();
  const [editing, setEditing] = createSignal(-1);
  const [dragged, setDragged] = createSignal(-1);
  const [over, setOver] = createSignal(-1);
  let list!: HTMLOListElement;
  /** The number of an instruction among those that have a step. */
  const stageOf = (index: number) =>
    props.lines.slice(0, index).filter((line) => line.on && line.changes).length;
  const stepOf = (index: number) => {
    const line = props.lines[index];
    return line?.on && line.changes ? props.stages[stageOf(index)] : undefined;
  };
  const current = (line: Line) =>
    app.step()?.id !== undefined && stepOf(props.lines.indexOf(line)) === app.step();
  const focus = (index: number) =>
    list.querySelectorAll<HTMLElement>("button.code")[index]?.focus();
  /** The place of the instruction that gets the focus once the engine has answered; -1 for none. */
  let next = -1;
  createEffect(
    on(
      () => props.lines,
      () => {
        if (next >= 0) focus(Math.min(next, props.lines.length - 1));
        next = -1;
      },
      { defer: true },
    ),
  );
  const move = (from: number, to: number) => {
    if (props.locked || to < 0 || to >= props.lines.length || from === to) return;
    props.onWrite(moved(props.text, props.lines, from, to), null);
    next = to;
  };
  const remove = (index: number) => {
    const line = props.lines[index];
    if (!line || props.locked) return;
    props.onWrite(removed(props.text, line), null);
    next = Math.max(0, index - 1);
  };
  const keys = (event: KeyboardEvent, index: number) => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (by && event.altKey) move(index, index + by);
    else if (by) focus(index + by);
    else if (event.key === "Delete") remove(index);
    else if (event.key === "F2") setEditing(index);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <section class="instructions" aria-label="Schedule instructions">
      <h3>Instructions</h3>
      <Show when={!props.has}>
        <p class="quiet">
          None yet: what is done to a loop or block writes itself into a pass Schedule behind this
          step.
        </p>
      </Show>
      <ol aria-label="Instructions" ref={list}>
        <For each={props.lines}>
          {(line, index) => (
            <li
              classList={{
                query: !line.changes,
                off: !line.on,
                failed: stepOf(index())?.outcome === "failed",
                over: over() === index(),
              }}
              aria-current={current(line) ? "step" : undefined}
              draggable={editing() < 0 && !props.locked}
              onDragStart={() => setDragged(index())}
              onDragEnd={() => {
                setDragged(-1);
                setOver(-1);
              }}
              onDragOver={(event) => {
                if (dragged() < 0) return;
                event.preventDefault();
                setOver(index());
              }}
              onDrop={(event) => {
                event.preventDefault();
                move(dragged(), index());
              }}
            >
              <Show
                when={editing() === index()}
                fallback={
                  <>
                    <input
                      type="checkbox"
                      aria-label={`Apply ${line.code}`}
                      checked={line.on}
                      disabled={props.locked}
                      onChange={() => props.onWrite(toggled(props.text, line), null)}
                    />
                    <button
                      type="button"
                      class="code"
                      title={stepOf(index())?.reason || line.code}
                      onKeyDown={(event) => keys(event, index())}
                      onDblClick={() => setEditing(index())}
                      onClick={() => {
                        const step = stepOf(index());
                        if (step) props.onShow(step.id);
                      }}
                    >
                      {line.code}
                    </button>
                    <button
                      type="button"
                      class="icon"
                      aria-label={`Move up ${line.code}`}
                      title="Move up (Alt+↑)"
                      disabled={props.locked || index() === 0}
                      onClick={() => move(index(), index() - 1)}
                    >
                      ↑
                    </button>
                    <button
                      type="button"
                      class="icon"
                      aria-label={`Edit ${line.code}`}
                      title="Edit (F2)"
                      disabled={props.locked}
                      onClick={() => setEditing(index())}
                    >
                      ✎
                    </button>
                    <button
                      type="button"
                      class="icon"
                      aria-label={`Remove ${line.code}`}
                      title="Remove (Delete)"
                      disabled={props.locked}
                      onClick={() => remove(index())}
                    >
                      ×
                    </button>
                  </>
                }
              >
                <form
                  onSubmit={(event) => {
                    event.preventDefault();
                    const input = event.currentTarget.elements.namedItem(
                      "code",
                    ) as HTMLInputElement;
                    setEditing(-1);
                    next = index();
                    if (input.value !== line.code)
                      props.onWrite(
                        replaced(props.text, line, input.value),
                        line.changes ? stageOf(index()) : null,
                      );
                  }}
                  onKeyDown={(event) => {
                    if (event.key !== "Escape") return;
                    event.stopPropagation();
                    setEditing(-1);
                    queueMicrotask(() => focus(index()));
                  }}
                >
                  <input
                    type="text"
                    name="code"
                    aria-label="Instruction"
                    list="primitives"
                    spellcheck={false}
                    value={line.code}
                    ref={(input) => requestAnimationFrame(() => input.focus())}
                  />
                  <button type="submit">Apply</button>
                </form>
              </Show>
            </li>
          )}
        </For>
      </ol>
      <form
        class="typed"
        onSubmit={(event) => {
          event.preventDefault();
          const input = event.currentTarget.elements.namedItem("more") as HTMLInputElement;
          if (input.value.trim()) props.onAdd(input.value);
          input.value = "";
        }}
      >
        <input
          type="text"
          name="more"
          aria-label="New instruction"
          placeholder="sch.…"
          list="primitives"
          spellcheck={false}
          autocomplete="off"
          disabled={props.locked}
        />
        <button type="submit" disabled={props.locked}>
          Add
        </button>
      </form>
      <datalist id="primitives">
        <For each={PRIMITIVES}>{(name) => <option value={`sch.${name}(`} />}</For>
      </datalist>
      <Show when={props.has}>
        <details>
          <summary>As text</summary>
          <textarea
            aria-label="Trace"
            spellcheck={false}
            value={props.text}
            disabled={props.locked}
            onChange={(event) => props.onWrite(event.currentTarget.value, null)}
          />
        </details>
      </Show>
    </section>
  );
}
