/** Shows passes by opt level: the outcome of each, and the first difference between two levels. Loaded on demand. */
import { createMemo, createSignal, For, onCleanup, onMount, Show } from "solid-js";
import { firstDivergence, type Level, runAtLevels } from "../state/aside";
import { callName } from "../state/calls";
import { outcomeMark, outcomeWord } from "../state/steps";
import { toSend } from "../state/trust";
import { useApp } from "./context";
import "../styles/sheet.css";
import "../styles/matrix.css";

const levels = [0, 1, 2, 3, 4];

export default function Matrix(props: {
  onClose(): void;
  onCompare(levels: [number, number]): void;
}) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  const [runs, setRuns] = createSignal<readonly (Level | undefined)[]>([]);
  const { document } = toSend(app.state());
  const [one, setOne] = createSignal(document.optLevel);
  const [other, setOther] = createSignal(document.optLevel === 0 ? 2 : 0);
  const abort = new AbortController();
  onMount(() => {
    dialog.showModal();
    void runAtLevels(
      document.script ? () => app.spawnSandbox(document.script) : app.spawn,
      document,
      (level) => {
        const next = [...runs()];
        next[level.level] = level;
        setRuns(next);
      },
      abort.signal,
    );
  });
  onCleanup(() => abort.abort());

  const rows = document.passes.filter((pass) => pass.enabled).map((pass) => callName(pass.call));
  const compared = () => [runs()[one()], runs()[other()]] as const;
  const divergence = createMemo(() => {
    const [a, b] = compared();
    return a && b && !a.failed && !b.failed && one() !== other() ? firstDivergence(a, b) : null;
  });
  const verdict = () => {
    const row = divergence();
    if (one() === other()) return "Choose two levels.";
    const failed = compared().find((level) => level?.failed);
    if (failed) return `Level ${failed.level}: ${failed.failed}`;
    if (row === null) return "Running…";
    return row < 0
      ? `Level ${one()} and level ${other()} end with the same program.`
      : `Level ${one()} and level ${other()} first differ after ${rows[row] ?? ""}, pass ${row + 1}.`;
  };

  return (
    <dialog
      ref={dialog}
      class="sheet matrix"
      aria-labelledby="matrix-title"
      onClose={props.onClose}
    >
      <div class="sheet-head">
        <h2 id="matrix-title">Passes by opt level</h2>
        <button type="button" onClick={() => dialog.close()}>
          Close
        </button>
      </div>
      <div class="row">
        <LevelChoice label="Compare" level={one()} onChoose={setOne} />
        <LevelChoice label="with" level={other()} onChoose={setOther} />
        <button type="button" onClick={() => props.onCompare([one(), other()])}>
          Step by step
        </button>
        <span role="status">{verdict()}</span>
      </div>
      <div class="matrix-table" tabIndex="0" role="group" aria-label="Table of passes by opt level">
        <table>
          <thead>
            <tr>
              <th scope="col">Pass</th>
              <For each={levels}>
                {(level) => (
                  <th scope="col" classList={{ chosen: level === document.optLevel }}>
                    Level {level}
                  </th>
                )}
              </For>
            </tr>
          </thead>
          <tbody>
            <For each={rows}>
              {(name, row) => (
                <tr classList={{ diverges: row() === divergence() }}>
                  <th scope="row">
                    {name}
                    <Show when={row() === divergence()}>
                      <span class="tag">first difference</span>
                    </Show>
                  </th>
                  <For each={levels}>{(level) => <Cell run={runs()[level]} row={row()} />}</For>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </dialog>
  );
}

/** Chooses one of the levels that are compared. */
function LevelChoice(props: { label: string; level: number; onChoose(level: number): void }) {
  return (
    <label>
      <span>{props.label}</span>
      <select
        aria-label={props.label}
        value={props.level}
        onChange={(event) => props.onChoose(Number(event.currentTarget.value))}
      >
        <For each={levels}>
          {(level) => (
            <option value={level} selected={level === props.level}>
              Level {level}
            </option>
          )}
        </For>
      </select>
    </label>
  );
}

function Cell(props: { run: Level | undefined; row: number }) {
  const step = () => props.run?.steps[props.row];
  return (
    <td>
      <Show
        when={step()}
        fallback={<span class="quiet">{props.run ? props.run.failed || "–" : "…"}</span>}
      >
        {(now) => (
          <>
            <span class={`mark ${now().outcome}`} aria-hidden="true">
              {outcomeMark[now().outcome]}
            </span>{" "}
            {outcomeWord[now().outcome]}
            <Show when={now().reason}>
              <span class="quiet reason">{now().reason}</span>
            </Show>
          </>
        )}
      </Show>
    </td>
  );
}
