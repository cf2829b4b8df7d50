/** What the selected step did: as a diff, as two texts, as values, as time. */
import { createEffect, createMemo, createSignal, For, Match, on, Show, Switch } from "solid-js";
import type { Diff, Step } from "../engine/protocol";
import type { View } from "../state/model";
import { duration, outcomeMark, outcomeWord } from "../state/steps";
import { useApp } from "./context";
import { Lines } from "./Lines";
import { columnsOf, layout, NARROWEST_HALF, type Options, plainLines, type Room } from "./lines";
import { Toggle } from "./PassesPane";
import { Values } from "./Values";

const tabs: readonly { view: View; label: string }[] = [
  { view: "diff", label: "Diff" },
  { view: "before", label: "Before/After" },
  { view: "values", label: "Values" },
  { view: "timing", label: "Timing" },
];

/** Rows of a diff beyond which it is drawn only on demand: laying them out would be felt at every keystroke. */
const LARGE = 30_000;

export function ResultPane() {
  const app = useApp();
  const state = app.state;
  let bar!: HTMLDivElement;
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  const unfold = (id: string) => setOpen(new Set([...open(), id]));
  const step = app.step;
  const stepId = createMemo(() => step()?.id ?? "");
  createEffect(on(stepId, () => setOpen(new Set<string>()), { defer: true }));

  const options = createMemo<Options>(() => {
    const { wrap, types } = state().preferences;
    const columns = columnsOf(room());
    const split =
      state().preferences.split && state().view === "diff" && columns.half >= NARROWEST_HALF;
    const most = state().view !== "diff" ? columns.plain : split ? columns.half : columns.unified;
    return {
      split,
      types,
      columns: wrap ? most : Number.POSITIVE_INFINITY,
      open: open(),
      context: 3,
    };
  });
  const position = createMemo(() => {
    const shown = app.shown();
    return { at: shown.findIndex((item) => item.index === app.selected()) + 1, of: shown.length };
  });

  const tabKeys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.view === state().view);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    app.dispatch({ type: "view", view: next.view });
    bar.querySelector<HTMLElement>(`#tab-${next.view}`)?.focus();
  };

  return (
    <>
      <h2 class="sr">Result</h2>
      <div class="pane-head">
        <div role="tablist" aria-label="Views" class="tabs" ref={bar}>
          <For each={tabs}>
            {(tab) => (
              <button
                type="button"
                role="tab"
                id={`tab-${tab.view}`}
                aria-selected={state().view === tab.view}
                aria-controls="view"
                tabIndex={state().view === tab.view ? 0 : -1}
                onClick={() => app.dispatch({ type: "view", view: tab.view })}
                onKeyDown={tabKeys}
              >
                {tab.label}
              </button>
            )}
          </For>
        </div>
        <span class="grow" />
        <Show when={position().of > 0}>
          <div class="stepper" role="group" aria-label="Go through the steps">
            <button
              type="button"
              aria-label="Previous changed step"
              title="Previous changed step (p)"
              onClick={() => app.go(-1, true)}
            >
              «
            </button>
            <button
              type="button"
              aria-label="Previous step"
              title="Previous step (k)"
              onClick={() => app.go(-1, false)}
            >
              ‹
            </button>
            <span class="position">
              step {position().at} of {position().of}
            </span>
            <button
              type="button"
              aria-label="Next step"
              title="Next step (j)"
              onClick={() => app.go(1, false)}
            >
              ›
            </button>
            <button
              type="button"
              aria-label="Next changed step"
              title="Next changed step (n)"
              onClick={() => app.go(1, true)}
            >
              »
            </button>
          </div>
        </Show>
      </div>
      <Show when={state().view !== "timing" && step()}>{(now) => <StepHead step={now()} />}</Show>
      <div role="tabpanel" id="view" aria-labelledby={`tab-${state().view}`} class="view">
        <Show when={step()} fallback={<Nothing />}>
          {(now) => (
            <Switch>
              <Match when={state().view === "diff"}>
                <section class="region" aria-label="Diff">
                  <DiffView step={now()} options={options()} onOpen={unfold} onRoom={setRoom} />
                </section>
              </Match>
              <Match when={state().view === "before"}>
                <div class="two">
                  <section class="region" aria-label="Before">
                    <h3>Before {now().name}</h3>
                    <TextView side="before" options={options()} onOpen={unfold} onRoom={setRoom} />
                  </section>
                  <section class="region" aria-label="After">
                    <h3>After {now().name}</h3>
                    <TextView side="after" options={options()} onOpen={unfold} onRoom={setRoom} />
                  </section>
                </div>
              </Match>
              <Match when={state().view === "values"}>
                <Values step={now()} />
              </Match>
              <Match when={state().view === "timing"}>
                <Timing />
              </Match>
            </Switch>
          )}
        </Show>
      </div>
      <Instruments />
    </>
  );
}

/** One line about the step: what it is called, what came out, how long it took. */
function StepHead(props: { step: Step }) {
  const app = useApp();
  const preferences = () => app.state().preferences;
  const texts = () => {
    const { view } = app.state();
    return view === "before" || (view === "diff" && props.step.before !== props.step.after);
  };
  return (
    <div class="step-head">
      <p class="title">
        <span class={`mark ${props.step.outcome}`} aria-hidden="true">
          {outcomeMark[props.step.outcome]}
        </span>
        <strong>{props.step.name}</strong>
        <span>{outcomeWord[props.step.outcome]}</span>
        <Show when={props.step.outcome === "changed" || props.step.outcome === "unchanged"}>
          <span class="quiet number">{duration(props.step.micros)}</span>
        </Show>
        <Show when={props.step.rewrites > 0}>
          <span class="quiet number">
            {props.step.rewrites} {props.step.rewrites === 1 ? "rewrite" : "rewrites"}
          </span>
        </Show>
        <Show when={app.state().stale}>
          <span class="stale">⚠ stale</span>
        </Show>
      </p>
      <Show when={texts()}>
        <div class="toggles">
          <Show when={app.state().view === "diff"}>
            <Toggle
              label="Side by side"
              on={preferences().split}
              onChange={(split) => app.dispatch({ type: "prefer", change: { split } })}
            />
          </Show>
          <Toggle
            label="Wrap"
            title="Break long lines"
            on={preferences().wrap}
            onChange={(wrap) => app.dispatch({ type: "prefer", change: { wrap } })}
          />
          <Toggle
            label="Types"
            title="Show the type comments"
            on={preferences().types}
            onChange={(types) => app.dispatch({ type: "prefer", change: { types } })}
          />
        </div>
      </Show>
    </div>
  );
}

function DiffView(props: {
  step: Step;
  options: Options;
  onOpen(id: string): void;
  onRoom(room: Room): void;
}) {
  const app = useApp();
  const ready = createMemo<Diff | null>(() => {
    const now = app.diff();
    return now.state === "ready" ? now.value : null;
  });
  const size = () => ready()?.rows.length ?? 0;
  const [anyway, setAnyway] = createSignal("");
  const tooLarge = () => size() > LARGE && anyway() !== props.step.id;
  const lines = createMemo(() => (tooLarge() ? [] : layout(ready()?.rows ?? [], props.options)));
  const only = createMemo(() => {
    const diff = ready();
    if (!diff || props.options.types) return false;
    return (
      diff.added + diff.removed === 0 &&
      !lines().some((line) => line.kind === "row" && line.tone !== "same")
    );
  });
  const failed = () => {
    const now = app.diff();
    return now.state === "failed" ? now.message : "";
  };
  return (
    <Switch>
      <Match when={props.step.outcome === "failed"}>
        <Failed step={props.step} />
      </Match>
      <Match when={props.step.outcome === "skipped"}>
        <Skipped step={props.step} />
      </Match>
      <Match when={props.step.outcome === "not-reached"}>
        <p class="empty">An earlier step failed, so {props.step.name} did not run.</p>
      </Match>
      <Match when={props.step.before === props.step.after}>
        <p class="empty">
          <span class="shape" aria-hidden="true">
            ○
          </span>
          {props.step.name} looked at the program and changed nothing.
        </p>
      </Match>
      <Match when={failed()}>
        <p class="empty">
          <span class="shape" aria-hidden="true">
            ✕
          </span>
          The diff could not be made: {failed()}.
        </p>
      </Match>
      <Match when={ready()}>
        {(diff) => (
          <>
            <Summary diff={diff()} />
            <Show when={only()}>
              <p class="quiet pad">
                Only types differ, and they are hidden.{" "}
                <button
                  type="button"
                  class="link"
                  onClick={() => app.dispatch({ type: "prefer", change: { types: true } })}
                >
                  Show types
                </button>
              </p>
            </Show>
            <Show when={tooLarge()}>
              <div class="empty">
                <p>
                  This diff has {size().toLocaleString("en")} lines. Drawing it may take a moment.
                </p>
                <button type="button" onClick={() => setAnyway(props.step.id)}>
                  Draw it
                </button>
              </div>
            </Show>
            <Lines
              lines={lines()}
              label={`What ${props.step.name} changed`}
              split={props.options.split}
              subject={props.step.id}
              onOpen={props.onOpen}
              onRoom={props.onRoom}
            />
          </>
        )}
      </Match>
      <Match when={true}>
        <p class="empty waiting">Comparing…</p>
      </Match>
    </Switch>
  );
}

function Summary(props: { diff: Diff }) {
  const counts = () => {
    const { added, removed, changed, moved, renumbered } = props.diff;
    const list: [string, number, string][] = [
      ["+", added, "added"],
      ["-", removed, "removed"],
      ["~", changed, "changed"],
      ["", moved, "moved"],
      ["", renumbered, "renumbered"],
    ];
    return list.filter(([, count]) => count > 0);
  };
  return (
    <div class="summary">
      <p class="counts">
        <For each={counts()}>
          {([sign, count, word]) => (
            <span class={`tally ${word}`}>
              {sign}
              {count} {word}
            </span>
          )}
        </For>
      </p>
      <Show when={props.diff.summary.length > 0}>
        <ul class="sentences">
          <For each={props.diff.summary}>{(sentence) => <li>{sentence}</li>}</For>
        </ul>
      </Show>
    </div>
  );
}

function Failed(props: { step: Step }) {
  return (
    <div class="empty failed" role="alert">
      <p>
        <span class="shape" aria-hidden="true">
          ✕
        </span>
        <strong>{props.step.name} failed.</strong> {props.step.reason}
      </p>
      <ul>
        <For each={props.step.problems}>
          {(problem) => (
            <li>
              {problem.message}
              <For each={problem.notes}>{(note) => <span class="note">{note}</span>}</For>
            </li>
          )}
        </For>
      </ul>
      <p class="quiet">
        The steps after it did not run. Before/After shows the program that it was given.
      </p>
    </div>
  );
}

function Skipped(props: { step: Step }) {
  const app = useApp();
  const byLevel = () => props.step.optLevel > app.state().document.optLevel;
  return (
    <div class="empty">
      <p>
        <span class="shape" aria-hidden="true">
          –
        </span>
        {props.step.name} was skipped: {props.step.reason || "it is not enabled"}.
      </p>
      <Show when={byLevel()}>
        <button
          type="button"
          onClick={() => app.dispatch({ type: "opt-level", level: props.step.optLevel })}
        >
          Set opt level {props.step.optLevel}
        </button>
      </Show>
    </div>
  );
}

function TextView(props: {
  side: "before" | "after";
  options: Options;
  onOpen(id: string): void;
  onRoom(room: Room): void;
}) {
  const app = useApp();
  const pulled = () => (props.side === "before" ? app.before() : app.after());
  const text = createMemo(() => {
    const now = pulled();
    return now.state === "ready" ? now.value : null;
  });
  const lines = createMemo(() => plainLines(text() ?? "", props.options));
  return (
    <Show when={text() !== null} fallback={<p class="empty waiting">Printing…</p>}>
      <Lines
        lines={lines()}
        label={props.side === "before" ? "Program before the step" : "Program after the step"}
        plain
        subject={`${props.side} ${app.step()?.id}`}
        onOpen={props.onOpen}
        onRoom={props.onRoom}
      />
    </Show>
  );
}

function Timing() {
  const app = useApp();
  const steps = () => app.steps();
  const longest = createMemo(() => Math.max(1, ...steps().map((step) => step.micros)));
  const run = () => app.state().good?.run;
  return (
    <section class="region timing" aria-label="Timing">
      <p class="pad">
        The run took {duration((run()?.millis ?? 0) * 1000)} in the engine.
        <span class="quiet"> Times of a step include the steps nested in it.</span>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Time</th>
            <th scope="col">
              <span class="sr">Share of the longest</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={steps().filter((step) => step.outcome !== "skipped")}>
            {(step) => (
              <tr>
                <th scope="row" style={{ "--depth": step.depth }}>
                  {step.name}
                </th>
                <td class="number">{duration(step.micros)}</td>
                <td>
                  <span
                    class="measure"
                    style={{ width: `${Math.max(0.5, (100 * step.micros) / longest())}%` }}
                  />
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={run()?.timing}>
        <h3>PassTimingInstrument</h3>
        <pre tabIndex="0">{run()?.timing}</pre>
      </Show>
    </section>
  );
}

/** What the instruments printed. A whole module per pass is a lot, so it is drawn like a diff: only what is visible. */
function Instruments() {
  const app = useApp();
  const log = createMemo(() => app.state().good?.run.log ?? []);
  const [closed, setClosed] = createSignal(false);
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  const lines = createMemo(() =>
    plainLines(log().join("\n"), {
      split: false,
      types: app.state().preferences.types,
      columns: app.state().preferences.wrap ? columnsOf(room()).plain : Number.POSITIVE_INFINITY,
      open: open(),
      context: 3,
    }),
  );
  return (
    <Show when={log().length > 0}>
      <section class="instruments" classList={{ closed: closed() }}>
        <div class="pane-head">
          <h2>Instruments</h2>
          <span class="quiet grow">{lines().length.toLocaleString("en")} lines</span>
          <button type="button" aria-expanded={!closed()} onClick={() => setClosed(!closed())}>
            {closed() ? "Show" : "Hide"}
          </button>
        </div>
        {/* Silent: a run prints more than anybody wants to hear. */}
        <div role="log" aria-label="Instruments" aria-live="off" hidden={closed()}>
          <Lines
            lines={lines()}
            label="Output of the instruments"
            plain
            subject=""
            onOpen={(id) => setOpen(new Set([...open(), id]))}
            onRoom={setRoom}
          />
        </div>
      </section>
    </Show>
  );
}

/** There is no step to show: say why, and what to do. */
function Nothing() {
  const app = useApp();
  const state = app.state;
  return (
    <Switch>
      <Match when={state().engine.phase === "dead"}>
        <div class="empty">
          <p>
            <span class="shape" aria-hidden="true">
              ✕
            </span>
            The engine does not start: {state().engine.message}.
          </p>
          <button type="button" onClick={() => app.again()}>
            Try again
          </button>
        </div>
      </Match>
      <Match when={state().gaveUp}>
        <p class="empty">
          <span class="shape" aria-hidden="true">
            ✕
          </span>
          {state().gaveUp}
        </p>
      </Match>
      <Match when={state().problems.some((problem) => problem.severity === "error")}>
        <p class="empty">
          <span class="shape" aria-hidden="true">
            ⚠
          </span>
          The program has errors; they are listed under Problems. The steps appear here as soon as
          it has none.
        </p>
      </Match>
      <Match when={state().answers > 0}>
        <p class="empty">Add a pass or choose a pipeline, and its steps appear here.</p>
      </Match>
      <Match when={true}>
        <div class="empty waiting" aria-hidden="true">
          <span class="bone" />
          <span class="bone" />
          <span class="bone" />
        </div>
      </Match>
    </Switch>
  );
}
