/** The diff of the step, or why there is none. */
import {
  createMemo,
  createSignal,
  For,
  Index,
  type JSX,
  lazy,
  Match,
  Show,
  Suspense,
  Switch,
} from "solid-js";
import type { Diff, Step } from "../engine/protocol";
import { useApp } from "./context";
import type { Finder } from "./finder";
import { Lines } from "./Lines";
import { type Line, linesOf, type Options, type Room, rowsAbout, sizeOf } from "./lines";
import { Words } from "./Words";

const Rewrites = lazy(() => import("./Rewrites"));

/** Rows of a diff beyond which it is drawn only on demand: laying them out would be felt at every keystroke. */
const LARGE = 30_000;

export function DiffView(props: {
  step: Step;
  options: Options;
  finder: Finder;
  onOpen(id: string): void;
  onRoom(room: Room): void;
}) {
  const app = useApp();
  const ready = createMemo<Diff | null>(() => {
    // Inside of a step: the program after the rewrites done so far.
    const partial = app.rewrites.diff();
    if (partial) return partial;
    const now = app.diff();
    return now.state === "ready" ? now.value : null;
  });
  const size = () => sizeOf(ready());
  const [anyway, setAnyway] = createSignal("");
  const tooLarge = () => size() > LARGE && anyway() !== props.step.id;
  const lines = createMemo(() => (tooLarge() ? [] : linesOf(ready(), props.options)));
  const ahead = createMemo(() =>
    app
      .near()
      .filter((diff) => sizeOf(diff) < LARGE / 10)
      .map((diff) => linesOf(diff, props.options)),
  );
  const only = createMemo(() => !props.options.types && differsInTypes(ready(), lines()));
  /** True if all changes are in other functions than the one that is shown. */
  const elsewhere = () =>
    (props.options.func ?? "") !== "" &&
    ready() !== null &&
    !lines().some((line) => line.kind === "row" && line.tone !== "same" && line.tone !== "quiet");
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
        <Empty shape="○">{props.step.name} looked at the program and changed nothing.</Empty>
      </Match>
      <Match when={failed()}>
        <Empty shape="✕">The diff could not be made: {failed()}.</Empty>
      </Match>
      <Match when={ready()}>
        {(diff) => (
          <>
            <Summary diff={diff()} func={props.options.func ?? ""} />
            <Show when={app.rewrites.inside()}>
              {(inside) => (
                <Suspense>
                  <Rewrites inside={inside()} />
                </Suspense>
              )}
            </Show>
            <Show when={only()}>
              <HiddenTypes />
            </Show>
            <Show when={tooLarge()}>
              <TooLarge lines={size()} onDraw={() => setAnyway(props.step.id)} />
            </Show>
            <Show when={elsewhere()}>
              <Elsewhere step={props.step} func={props.options.func} />
            </Show>
            <Lines
              lines={lines()}
              finder={props.finder}
              namesIn={({ side, line }) => app.namesIn(props.step[side], line)}
              ahead={ahead()}
              label={`What ${props.step.name} changed`}
              split={props.options.split}
              wide={props.options.columns === Number.POSITIVE_INFINITY}
              subject={props.step.id}
              onOpen={props.onOpen}
              onRoom={props.onRoom}
              onPick={({ side, line, word }) =>
                app.follow(props.step[side], { line, word, stable: true })
              }
              marked={{ before: app.lineIn("before"), after: app.lineIn("after") }}
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

/** Returns true if no line differs but in its types. */
function differsInTypes(diff: Diff | null, lines: readonly Line[]): boolean {
  return (
    diff !== null &&
    diff.added + diff.removed === 0 &&
    !lines.some((line) => line.kind === "row" && line.tone !== "same")
  );
}

/** Says in a sentence why there is no diff. */
function Empty(props: { shape: string; children: JSX.Element }) {
  return (
    <p class="empty">
      <span class="shape" aria-hidden="true">
        {props.shape}
      </span>
      {props.children}
    </p>
  );
}

/** Says that drawing takes a moment, and begins with it when asked. */
function TooLarge(props: { lines: number; onDraw(): void }) {
  return (
    <div class="empty">
      <p>This diff has {props.lines.toLocaleString("en")} lines. Drawing it may take a moment.</p>
      <button type="button" onClick={props.onDraw}>
        Draw it
      </button>
    </div>
  );
}

/** Says that the types differ, which are hidden, and shows them. */
function HiddenTypes() {
  const app = useApp();
  return (
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
  );
}

/** Says that the step did nothing to the function that is shown, and shows all. */
function Elsewhere(props: { step: Step; func: string | undefined }) {
  const app = useApp();
  return (
    <p class="quiet pad">
      {props.step.name} did nothing to @{props.func}.{" "}
      <button type="button" class="link" onClick={() => app.dispatch({ type: "func", name: "" })}>
        Show all functions
      </button>
    </p>
  );
}

/** Characters of a summary that fit on its line. */
const BRIEF = 40;

/** The numbers of added, removed and changed lines, and a summary of the change. One line until it is opened. */
export function Summary(props: { diff: Diff; func?: string }) {
  const [open, setOpen] = createSignal(false);
  const sentences = () => (props.func ? [`in @${props.func}`] : props.diff.summary);
  const tallies = createMemo(() => {
    if (!props.func) return props.diff;
    const tallies = { added: 0, removed: 0, changed: 0, moved: 0, renumbered: 0 };
    for (const { kind } of rowsAbout(props.diff, props.func)) if (kind !== "same") tallies[kind]++;
    return tallies;
  });
  const counts = () => {
    const { added, removed, changed, moved, renumbered } = tallies();
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
    <div class="summary" classList={{ open: open() }}>
      <p class="counts">
        <Index each={counts()}>
          {(item) => (
            <span class={`tally ${item()[2]}`}>
              {item()[0]}
              {item()[1]} {item()[2]}
            </span>
          )}
        </Index>
      </p>
      <Show when={sentences().length > 0}>
        <ul class="sentences" title={sentences().join("\n")}>
          <For each={sentences()}>{(sentence) => <li>{sentence}</li>}</For>
        </ul>
        <Show when={sentences().join(" ").length > BRIEF}>
          <button
            type="button"
            class="link"
            aria-label={open() ? "less of the summary" : "more of the summary"}
            aria-expanded={open()}
            onClick={() => setOpen(!open())}
          >
            {open() ? "less" : "more"}
          </button>
        </Show>
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
        <strong>{props.step.name} failed.</strong> <Words text={props.step.reason} />
      </p>
      <ul>
        <For each={props.step.problems}>
          {(problem) => (
            <li>
              <Words text={problem.message} />
              <For each={problem.notes}>
                {(note) => (
                  <span class="note">
                    <Words text={note} />
                  </span>
                )}
              </For>
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
