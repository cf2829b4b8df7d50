/** Shows the history of an expression: its source line, and the effect of every step on it. Loaded on demand. */
import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import type { History, HistoryEntry, Values } from "../engine/protocol";
import type { Controller } from "../state/controller";
import { currentOf, type Followed, fateMark, fateWord, stretches } from "../state/follow";
import { useApp } from "./context";
import { inputs } from "./inputs";
import { Inline } from "./prose";
import { TensorView } from "./TensorView";
import "../styles/history.css";

export default function HistoryPanel(props: { followed: Followed }) {
  const app = useApp();
  const history = () => props.followed.history;
  const version = () => app.step()?.after ?? history().version;
  const op = createMemo(() => {
    const { op: name } = history();
    return name ? app.state().catalogue?.ops.find((item) => item.name === name) : undefined;
  });
  const introduced = () => history().entries.find((entry) => entry.fate === "made");
  /** Returns the expression as it stands in the version that is shown; null when it is gone. */
  const here = () => history().entries.find((entry) => entry.version === version())?.node ?? null;
  const toSource = () => {
    app.dispatch({ type: "editor", editor: "program" });
    app.panels.showSource();
  };

  return (
    <section class="history" aria-label="History of an expression">
      <div class="pane-head">
        <h2>
          <code>{history().label}</code>
        </h2>
        <span class="quiet grow">
          <Show
            when={history().source}
            fallback={
              <Show when={introduced()}>{(entry) => `made by ${nameOf(app, entry())}`}</Show>
            }
          >
            {(source) => (
              <button type="button" class="link" onClick={toSource}>
                from line {source().line} of the program
              </button>
            )}
          </Show>
        </span>
        <button
          type="button"
          class="icon"
          aria-label="Close the history"
          onClick={() => app.unfollow()}
        >
          ✕
        </button>
      </div>
      <div class="history-body">
        <Entries history={history()} version={version()} />
        <dl>
          <Show when={history().ty}>
            <dt>Type</dt>
            <dd>
              <code>{history().ty}</code>
            </dd>
          </Show>
          <Show when={here() !== null}>
            <dt>Value</dt>
            <dd>
              <Value followed={props.followed} version={version()} node={here()} />
            </dd>
          </Show>
          <For each={history().attrs}>
            {([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </>
            )}
          </For>
          <Show when={op()?.doc}>
            {(doc) => (
              <>
                <dt>Operator</dt>
                <dd>
                  <Inline text={doc()} />
                </dd>
              </>
            )}
          </Show>
        </dl>
      </div>
    </section>
  );
}

/** Names the step of an entry. */
function nameOf(app: Controller, entry: HistoryEntry): string {
  const step = entry.step === null ? undefined : app.steps()[entry.step];
  if (!step) return "Program";
  // Names the enclosing pass for its own changes before a step inside it.
  const around = step.role === "nested" ? app.steps()[step.parent ?? -1] : undefined;
  return around ? `${around.name} › ${step.name}` : step.name;
}

/** Lists the effect of every step on the expression; one goes to a step from here. */
function Entries(props: { history: History; version: number }) {
  const app = useApp();
  /** The entry of the history that belongs to the shown step. */
  const current = createMemo(() =>
    currentOf(
      props.history.entries,
      app.step() ?? { before: props.version - 1, after: props.version },
    ),
  );
  const rows = createMemo(() => stretches(props.history.entries, current()));
  const words = (entry: HistoryEntry, count: number) => {
    const what = entry === current() && entry.fate !== "removed" ? "current, " : "";
    const kept = count > 1 ? `kept by ${count} steps` : fateWord[entry.fate];
    return `${what}${kept}`;
  };
  const show = (entry: HistoryEntry) => {
    const step = entry.step === null ? app.steps()[0] : app.steps()[entry.step];
    if (step) app.dispatch({ type: "step", id: step.id });
  };
  return (
    <ol aria-label="What each step did with it">
      <For each={rows()}>
        {({ entry, count }) => (
          <li>
            <button
              type="button"
              aria-current={entry === current() ? "step" : undefined}
              onClick={() => show(entry)}
            >
              <span class={`mark ${entry.fate}`} aria-hidden="true">
                {fateMark[entry.fate]}
              </span>
              <span class="name">{count > 1 ? "" : nameOf(app, entry)}</span>
              <span class="quiet">{words(entry, count)}</span>
              <Show when={entry.label && entry.fate !== "kept"}>
                <code>{entry.label}</code>
              </Show>
              <Show when={entry.rule && entry.rule !== nameOf(app, entry)}>
                <span class="quiet">by {entry.rule}</span>
              </Show>
            </button>
          </li>
        )}
      </For>
    </ol>
  );
}

/** Evaluates the expression on the inputs of the tab Values, and shows its value. */
function Value(props: { followed: Followed; version: number; node: number | null }) {
  const app = useApp();
  const [value, setValue] = createSignal<Values | string | null>(null);
  const subject = () => `${props.followed.number} ${props.version} ${props.node}`;
  createEffect(on(subject, () => setValue(null), { defer: true }));
  const evaluate = async () => {
    const about = subject();
    const { func, seed, given } = inputs();
    const found = await app.evaluate({
      version: props.version,
      func,
      seed,
      given,
      node: props.node,
    });
    if (about === subject()) setValue(found);
  };
  const valueWords = () => {
    const now = value();
    if (!now) return "";
    if (typeof now === "string") return now;
    if (now.times === 0) return now.problem || "It is not evaluated on these inputs.";
    return now.times > 1 ? `evaluated ${now.times} times, the first:` : "";
  };
  const valueParts = () => {
    const now = value();
    return now && typeof now !== "string" ? now.seen : [];
  };
  return (
    <Show
      when={value()}
      fallback={
        <button
          type="button"
          class="link"
          title="On the inputs of the tab Values"
          onClick={() => void evaluate()}
        >
          Evaluate @{inputs().func}
        </button>
      }
    >
      <span class="quiet" role="status">
        {valueWords()}
      </span>
      <For each={valueParts()}>{(part) => <TensorView part={part} look="table" />}</For>
    </Show>
  );
}
