/** The instructions of a schedule: each is a step to look at, can be switched off, moved, edited and taken out. */
import { createEffect, createSignal, For, on, Show } from "solid-js";
import type { Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import { type Line, moved, PRIMITIVES, removed, replaced, toggled } from "./trace";

interface Given {
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
}

type List = ReturnType<typeof createList>;

/** One instruction of the list. */
interface Item {
  line: Line;
  index: number;
  list: List;
  given: Given;
}

/** Moves, edits and takes out instructions, and keeps the focus in the list. */
function createList(props: Given, list: () => HTMLElement) {
  const app = useApp();
  const [editing, setEditing] = createSignal(-1);
  const [dragged, setDragged] = createSignal(-1);
  const [over, setOver] = createSignal(-1);
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
    list().querySelectorAll<HTMLElement>("button.code")[index]?.focus();
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
  /** Writes an edited instruction. */
  const replace = (index: number, code: string) => {
    const line = props.lines[index];
    setEditing(-1);
    next = index;
    if (line && code !== line.code)
      props.onWrite(replaced(props.text, line, code), line.changes ? stageOf(index) : null);
  };
  return {
    editing,
    setEditing,
    dragged,
    setDragged,
    over,
    setOver,
    stepOf,
    current,
    focus,
    move,
    remove,
    keys,
    replace,
  };
}

/** Shows an instruction with its buttons, or with the field that edits it. */
function Instruction(props: Item) {
  return (
    <li
      classList={{
        query: !props.line.changes,
        off: !props.line.on,
        failed: props.list.stepOf(props.index)?.outcome === "failed",
        over: props.list.over() === props.index,
      }}
      aria-current={props.list.current(props.line) ? "step" : undefined}
      draggable={props.list.editing() < 0 && !props.given.locked}
      onDragStart={() => props.list.setDragged(props.index)}
      onDragEnd={() => {
        props.list.setDragged(-1);
        props.list.setOver(-1);
      }}
      onDragOver={(event) => {
        if (props.list.dragged() < 0) return;
        event.preventDefault();
        props.list.setOver(props.index);
      }}
      onDrop={(event) => {
        event.preventDefault();
        props.list.move(props.list.dragged(), props.index);
      }}
    >
      <Show when={props.list.editing() === props.index} fallback={<Buttons {...props} />}>
        <EditForm {...props} />
      </Show>
    </li>
  );
}

/** Shows the switch of an instruction, its text, and the buttons that change it. */
function Buttons(props: Item) {
  return (
    <>
      <input
        type="checkbox"
        aria-label={`Apply ${props.line.code}`}
        checked={props.line.on}
        disabled={props.given.locked}
        onChange={() => props.given.onWrite(toggled(props.given.text, props.line), null)}
      />
      <button
        type="button"
        class="code"
        title={props.list.stepOf(props.index)?.reason || props.line.code}
        onKeyDown={(event) => props.list.keys(event, props.index)}
        onDblClick={() => props.list.setEditing(props.index)}
        onClick={() => {
          const step = props.list.stepOf(props.index);
          if (step) props.given.onShow(step.id);
        }}
      >
        {props.line.code}
      </button>
      <button
        type="button"
        class="icon"
        aria-label={`Move up ${props.line.code}`}
        title="Move up (Alt+↑)"
        disabled={props.given.locked || props.index === 0}
        onClick={() => props.list.move(props.index, props.index - 1)}
      >
        ↑
      </button>
      <button
        type="button"
        class="icon"
        aria-label={`Edit ${props.line.code}`}
        title="Edit (F2)"
        disabled={props.given.locked}
        onClick={() => props.list.setEditing(props.index)}
      >
        ✎
      </button>
      <button
        type="button"
        class="icon"
        aria-label={`Remove ${props.line.code}`}
        title="Remove (Delete)"
        disabled={props.given.locked}
        onClick={() => props.list.remove(props.index)}
      >
        ×
      </button>
    </>
  );
}

/** Shows the field that edits an instruction. */
function EditForm(props: Item) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem("code") as HTMLInputElement;
        props.list.replace(props.index, input.value);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        props.list.setEditing(-1);
        queueMicrotask(() => props.list.focus(props.index));
      }}
    >
      <input
        type="text"
        name="code"
        aria-label="Instruction"
        list="primitives"
        spellcheck={false}
        value={props.line.code}
        ref={(input) => requestAnimationFrame(() => input.focus())}
      />
      <button type="submit">Apply</button>
    </form>
  );
}

/** Shows the field for a new instruction. */
function NewForm(props: Given) {
  return (
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
  );
}

export function Instructions(props: Given) {
  let list!: HTMLOListElement;
  const handling = createList(props, () => list);

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
            <Instruction line={line} index={index()} list={handling} given={props} />
          )}
        </For>
      </ol>
      <NewForm {...props} />
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
