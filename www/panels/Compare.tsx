/** Two lists of passes on the program, step by step: where they first differ, and how at any step. Loaded on demand. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  Show,
} from "solid-js";
import { rowsOf } from "../engine/diff";
import type { Diff, RunDocument, Step } from "../engine/protocol";
import { Beside, divergence, type Pair, verdict } from "../state/beside";
import { runnable } from "../state/calls";
import type { Preferences } from "../state/model";
import { outcomeMark, outcomeWord } from "../state/steps";
import { needsScript, toSend } from "../state/trust";
import "../styles/compare.css";
import { useApp } from "./context";
import { Summary } from "./DiffView";
import { Lines } from "./Lines";
import { columnsOf, layout, NARROWEST_HALF, type Room } from "./lines";
import "../styles/matrix.css";
import "../styles/sheet.css";

const OTHER = "other";

type Lists = ReturnType<typeof createLists>;
type Runs = ReturnType<typeof createRuns>;

/** Has the lists that can be compared on this program, and the two that are chosen. */
function createLists(levels: readonly [number, number]) {
  const app = useApp();
  const { catalogue, good } = app.state();
  const { document } = toSend(app.state());
  const dialect = good?.run.dialect ?? "relay";
  const pipelines = (catalogue?.pipelines ?? []).filter((item) => item.dialect === dialect);
  const { script } = document;
  const [sides, setSides] = createSignal<readonly [string, string]>([
    `level ${levels[0]}`,
    `level ${levels[1]}`,
  ]);
  /** The document read from a link or a reproducer. */
  const [brought, setBrought] = createSignal<RunDocument | null>(null);

  /** Runs a list on this program; passes of a script run in its sandbox, and only if they may. */
  const ours = (given: RunDocument): RunDocument => ({
    ...given,
    source: document.source,
    instruments: [],
    script,
  });
  /** Drops the script of a list from elsewhere. */
  const plain = (given: RunDocument): RunDocument =>
    ours({ ...given, passes: given.passes.filter(({ call }) => !needsScript(catalogue, call)) });
  const { files, ...list } = document;
  const leftOut = () => {
    const given = sides().includes(OTHER) && brought();
    return (
      document.passes.length < app.state().document.passes.length ||
      (given && plain(given).passes.length < given.passes.length)
    );
  };
  const documentOf = (side: string): RunDocument | null => {
    if (side === "files") return ours(document);
    if (side === OTHER) {
      const other = brought();
      if (!other) return null;
      const { files: _, ...rest } = other;
      return plain(rest);
    }
    if (side.startsWith("level ")) return ours({ ...list, optLevel: Number(side.slice(6)) });
    const pipeline = pipelines.find((item) => item.name === side);
    if (!pipeline) return null;
    const passes = runnable(pipeline).map((call) => ({ call, enabled: true }));
    return ours({ ...list, passes, optLevel: pipeline.optLevel });
  };
  const titleOf = (index: 0 | 1) => {
    const side = sides()[index];
    if (side === "files") return "The files that were opened";
    if (side === OTHER) return "The other list";
    if (side.startsWith("level ")) return `This list at level ${side.slice(6)}`;
    return pipelines.find((item) => item.name === side)?.title || side;
  };
  return {
    sides,
    setSides,
    brought,
    setBrought,
    documentOf,
    titleOf,
    leftOut,
    pipelines,
    script,
    /** True if the first list has files that were opened. */
    hasFiles: !!files?.length,
  };
}

/** Runs the two chosen lists, and asks for the difference of their programs after a step. */
function createRuns({ sides, brought, setBrought, documentOf, script }: Lists) {
  const app = useApp();
  const beside = new Beside(script ? () => app.spawnSandbox(script) : app.spawn);
  const [pairs, setPairs] = createSignal<readonly Pair[]>([]);
  const [said, setSaid] = createSignal("Running…");
  const [chosen, setChosen] = createSignal(-1);
  const [diff, setDiff] = createSignal<Diff | null>(null);
  onCleanup(() => beside.dispose());

  let asked = 0;
  createEffect(
    on([sides, brought], async ([[left, right]]) => {
      const number = ++asked;
      const [one, other] = [documentOf(left), documentOf(right)];
      setChosen(-1);
      setDiff(null);
      setPairs([]);
      if (!one || !other) {
        setSaid("Paste a link or a reproducer.");
        return;
      }
      setSaid("Running…");
      const found = await beside.run(one, other);
      if (number !== asked) return;
      if (typeof found === "string") return setSaid(found);
      setPairs(found);
      setSaid(verdict(found));
      setChosen(divergence(found));
    }),
  );
  createEffect(
    on(chosen, async (row) => {
      setDiff(null);
      const pair = pairs()[row];
      if (!pair) return;
      const found = await beside.diff(pair.versions);
      if (chosen() === row) setDiff(found);
    }),
  );
  const read = async (text: string) => {
    const found = await beside.read(text);
    if (typeof found !== "string") return setBrought(found);
    setBrought(null);
    setSaid(found);
  };
  return { pairs, said, chosen, setChosen, diff, read };
}

export default function Compare(props: { levels: readonly [number, number]; onClose(): void }) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  const { preferences } = app.state();
  const lists = createLists(props.levels);
  const runs = createRuns(lists);
  const [text, setText] = createSignal("");
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  onMount(() => dialog.showModal());

  return (
    <dialog
      ref={dialog}
      class="sheet matrix compare"
      aria-labelledby="compare-title"
      onClose={props.onClose}
    >
      <div class="sheet-head">
        <h2 id="compare-title">Two lists, step by step</h2>
        <button type="button" onClick={() => dialog.close()}>
          Close
        </button>
      </div>
      <div class="row">
        <Choice label="Compare" index={0} lists={lists} />
        <Choice label="with" index={1} lists={lists} />
      </div>
      <Show when={lists.sides().includes(OTHER)}>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            void runs.read(text());
          }}
        >
          <textarea
            class="mono"
            rows="2"
            aria-label="Link or reproducer"
            placeholder="A link, or the text of a reproducer file"
            spellcheck={false}
            value={text()}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit">Take its passes</button>
        </form>
      </Show>
      <p role="status">{runs.said()}</p>
      <Show when={lists.leftOut()}>
        <p class="quiet">Passes of a script that may not run here are left out.</p>
      </Show>
      <Show when={runs.pairs().length > 0}>
        <Aligned lists={lists} runs={runs} />
      </Show>
      <Show when={runs.diff()}>
        {(now) => (
          <Difference
            diff={now()}
            lists={lists}
            runs={runs}
            preferences={preferences}
            room={room()}
            onRoom={setRoom}
          />
        )}
      </Show>
    </dialog>
  );
}

/** Chooses one of the two lists. */
function Choice(props: { label: string; index: 0 | 1; lists: Lists }) {
  return (
    <label>
      <span>{props.label}</span>
      <select
        aria-label={props.label}
        value={props.lists.sides()[props.index]}
        onChange={(event) => {
          const { value } = event.currentTarget;
          props.lists.setSides(
            props.index === 0 ? [value, props.lists.sides()[1]] : [props.lists.sides()[0], value],
          );
        }}
      >
        <optgroup label="This list">
          <Show when={props.lists.hasFiles && props.index === 0}>
            <option value="files">The files that were opened</option>
          </Show>
          <For each={[0, 1, 2, 3, 4]}>
            {(level) => (
              <option
                value={`level ${level}`}
                selected={props.lists.sides()[props.index] === `level ${level}`}
              >
                This list at level {level}
              </option>
            )}
          </For>
        </optgroup>
        <optgroup label="Pipelines">
          <For each={props.lists.pipelines}>
            {(item) => <option value={item.name}>{item.title || item.name}</option>}
          </For>
        </optgroup>
        <option value={OTHER}>From a link or a reproducer…</option>
      </select>
    </label>
  );
}

const nameOf = (pair: Pair | undefined) => (pair?.left ?? pair?.right)?.name ?? "";

/** Shows the steps of both lists, with those that belong together in one row. */
function Aligned(props: { lists: Lists; runs: Runs }) {
  return (
    <div class="matrix-table" tabIndex="0" role="group" aria-label="Steps of both, aligned">
      <table>
        <thead>
          <tr>
            <th scope="col">Program</th>
            <th scope="col">{props.lists.titleOf(0)}</th>
            <th scope="col">{props.lists.titleOf(1)}</th>
          </tr>
        </thead>
        <tbody>
          <For each={props.runs.pairs()}>
            {(pair, row) => (
              <tr
                classList={{ diverges: row() === divergence(props.runs.pairs()), same: pair.same }}
                aria-current={row() === props.runs.chosen() ? "true" : undefined}
              >
                <td>
                  <Show when={!pair.same} fallback={<span class="quiet">= same</span>}>
                    <button
                      type="button"
                      aria-pressed={row() === props.runs.chosen()}
                      onClick={() => props.runs.setChosen(row())}
                    >
                      ≠ differs{" "}
                      <span class="sr">
                        after {nameOf(pair)}, step {row() + 1}
                      </span>
                    </button>
                    <Show when={row() === divergence(props.runs.pairs())}>
                      <span class="tag">first</span>
                    </Show>
                  </Show>
                </td>
                <Side step={pair.left} />
                <Side step={pair.right} />
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

/** Shows the difference of the two programs after the chosen step. */
function Difference(props: {
  diff: Diff;
  lists: Lists;
  runs: Runs;
  preferences: Preferences;
  room: Room;
  onRoom(room: Room): void;
}) {
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const lines = createMemo(() => {
    const { unified, half } = columnsOf(props.room);
    const split = props.preferences.split && half >= NARROWEST_HALF;
    const options = { split, types: props.preferences.types, columns: split ? half : unified };
    return layout(rowsOf(props.diff), { ...options, open: open(), context: 3 });
  });
  const split = () => props.preferences.split && columnsOf(props.room).half >= NARROWEST_HALF;
  return (
    <section class="region" aria-label="Difference">
      <h3>
        After {nameOf(props.runs.pairs()[props.runs.chosen()])}: − {props.lists.titleOf(0)}, +{" "}
        {props.lists.titleOf(1)}
      </h3>
      <Summary diff={props.diff} />
      <Lines
        lines={lines()}
        label="Difference of the two programs"
        split={split()}
        subject={String(props.runs.chosen())}
        onOpen={(id) => setOpen(new Set([...open(), id]))}
        onRoom={props.onRoom}
      />
    </section>
  );
}

function Side(props: { step: Step | null }) {
  return (
    <td>
      <Show when={props.step} fallback={<span class="quiet">–</span>}>
        {(step) => (
          <>
            <span class={`mark ${step().outcome}`} aria-hidden="true">
              {outcomeMark[step().outcome]}
            </span>{" "}
            {step().name} <span class="quiet">{outcomeWord[step().outcome]}</span>
          </>
        )}
      </Show>
    </td>
  );
}
