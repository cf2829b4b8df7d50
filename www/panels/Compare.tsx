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

export default function Compare(props: { levels: readonly [number, number]; onClose(): void }) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  const { catalogue, good, preferences } = app.state();
  const { document } = toSend(app.state());
  const dialect = good?.run.dialect ?? "relay";
  const pipelines = (catalogue?.pipelines ?? []).filter((item) => item.dialect === dialect);
  const { script } = document;
  const beside = new Beside(script ? () => app.spawnSandbox(script) : app.spawn);
  const [sides, setSides] = createSignal<readonly [string, string]>([
    `level ${props.levels[0]}`,
    `level ${props.levels[1]}`,
  ]);
  /** The document read from a link or a reproducer. */
  const [brought, setBrought] = createSignal<RunDocument | null>(null);
  const [text, setText] = createSignal("");
  const [pairs, setPairs] = createSignal<readonly Pair[]>([]);
  const [said, setSaid] = createSignal("Running…");
  const [chosen, setChosen] = createSignal(-1);
  const [diff, setDiff] = createSignal<Diff | null>(null);
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  onMount(() => dialog.showModal());
  onCleanup(() => beside.dispose());

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
  const titleOf = (side: string) => {
    if (side === "files") return "The files that were opened";
    if (side === OTHER) return "The other list";
    if (side.startsWith("level ")) return `This list at level ${side.slice(6)}`;
    return pipelines.find((item) => item.name === side)?.title || side;
  };

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
      setOpen(new Set<string>());
      const pair = pairs()[row];
      if (!pair) return;
      const found = await beside.diff(pair.versions);
      if (chosen() === row) setDiff(found);
    }),
  );
  const read = async () => {
    const found = await beside.read(text());
    if (typeof found !== "string") return setBrought(found);
    setBrought(null);
    setSaid(found);
  };

  const lines = createMemo(() => {
    const { unified, half } = columnsOf(room());
    const split = preferences.split && half >= NARROWEST_HALF;
    const options = { split, types: preferences.types, columns: split ? half : unified };
    return layout(rowsOf(diff()), { ...options, open: open(), context: 3 });
  });
  const split = () => preferences.split && columnsOf(room()).half >= NARROWEST_HALF;
  const nameOf = (pair: Pair | undefined) => (pair?.left ?? pair?.right)?.name ?? "";

  const choice = (label: string, index: 0 | 1) => (
    <label>
      <span>{label}</span>
      <select
        aria-label={label}
        value={sides()[index]}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setSides(index === 0 ? [value, sides()[1]] : [sides()[0], value]);
        }}
      >
        <optgroup label="This list">
          <Show when={files?.length && index === 0}>
            <option value="files">The files that were opened</option>
          </Show>
          <For each={[0, 1, 2, 3, 4]}>
            {(level) => (
              <option value={`level ${level}`} selected={sides()[index] === `level ${level}`}>
                This list at level {level}
              </option>
            )}
          </For>
        </optgroup>
        <optgroup label="Pipelines">
          <For each={pipelines}>
            {(item) => <option value={item.name}>{item.title || item.name}</option>}
          </For>
        </optgroup>
        <option value={OTHER}>From a link or a reproducer…</option>
      </select>
    </label>
  );

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
        {choice("Compare", 0)}
        {choice("with", 1)}
      </div>
      <Show when={sides().includes(OTHER)}>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            void read();
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
      <p role="status">{said()}</p>
      <Show when={leftOut()}>
        <p class="quiet">Passes of a script that may not run here are left out.</p>
      </Show>
      <Show when={pairs().length > 0}>
        <div class="matrix-table" tabIndex="0" role="group" aria-label="Steps of both, aligned">
          <table>
            <thead>
              <tr>
                <th scope="col">Program</th>
                <th scope="col">{titleOf(sides()[0])}</th>
                <th scope="col">{titleOf(sides()[1])}</th>
              </tr>
            </thead>
            <tbody>
              <For each={pairs()}>
                {(pair, row) => (
                  <tr
                    classList={{ diverges: row() === divergence(pairs()), same: pair.same }}
                    aria-current={row() === chosen() ? "true" : undefined}
                  >
                    <td>
                      <Show when={!pair.same} fallback={<span class="quiet">= same</span>}>
                        <button
                          type="button"
                          aria-pressed={row() === chosen()}
                          onClick={() => setChosen(row())}
                        >
                          ≠ differs{" "}
                          <span class="sr">
                            after {nameOf(pair)}, step {row() + 1}
                          </span>
                        </button>
                        <Show when={row() === divergence(pairs())}>
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
      </Show>
      <Show when={diff()}>
        {(now) => (
          <section class="region" aria-label="Difference">
            <h3>
              After {nameOf(pairs()[chosen()])}: − {titleOf(sides()[0])}, + {titleOf(sides()[1])}
            </h3>
            <Summary diff={now()} />
            <Lines
              lines={lines()}
              label="Difference of the two programs"
              split={split()}
              subject={String(chosen())}
              onOpen={(id) => setOpen(new Set([...open(), id]))}
              onRoom={setRoom}
            />
          </section>
        )}
      </Show>
    </dialog>
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
