/** Shows the effect of the selected step: as a diff, as two texts, as values, as time. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  lazy,
  Match,
  on,
  Show,
  Switch,
} from "solid-js";
import type { Step } from "../engine/protocol";
import type { View } from "../state/model";
import { duration, outcomeMark, outcomeWord } from "../state/steps";
import { useApp } from "./context";
import { DiffView } from "./DiffView";
import { createFinder, type Finder } from "./finder";
import { Instruments } from "./Instruments";
import { Lines } from "./Lines";
import { columnsOf, NARROWEST_HALF, type Options, plainLines, type Room } from "./lines";
import { Part } from "./Part";
import { Room as WholeRoom } from "./Room";
import { Search } from "./Search";
import { onSwipe } from "./swipe";
import { Tabs } from "./Tabs";
import { Toggle } from "./Toggle";

const GraphView = lazy(() => import("../graph/GraphView"));
const ScheduleView = lazy(() => import("../schedule/ScheduleView"));
const HistoryPanel = lazy(() => import("./HistoryPanel"));
const Timing = lazy(() => import("./Timing"));
const Values = lazy(() => import("./Values"));

const tabs: readonly { id: View; label: string }[] = [
  { id: "diff", label: "Diff" },
  { id: "before", label: "Before/After" },
  { id: "graph", label: "Graph" },
  { id: "values", label: "Values" },
  { id: "timing", label: "Timing" },
  { id: "schedule", label: "Schedule" },
];

const SIDES = [
  ["before", "Before"],
  ["after", "After"],
] as const;

export function ResultPane() {
  const app = useApp();
  const state = app.state;
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  const unfold = (id: string) => setOpen(new Set([...open(), id]));
  const step = app.step;
  const stepId = createMemo(() => step()?.id ?? "");
  createEffect(on(stepId, () => open().size > 0 && setOpen(new Set<string>()), { defer: true }));

  const finder = createFinder();
  const options = createOptions(finder, open, room);

  // Sideways is the next step, where nothing scrolls that way.
  const swiped = onSwipe((way) => {
    if (state().view === "graph" || !state().preferences.wrap) return;
    app.go(way < 0 ? 1 : -1, false);
  });

  return (
    <>
      <h2 class="sr">Result</h2>
      <div class="pane-head">
        <Tabs
          label="Views"
          prefix="tab-"
          tabs={tabs}
          isChosen={({ id }) => state().view === id}
          controls={() => "view"}
          onChoose={({ id }) => app.dispatch({ type: "view", view: id })}
        />
        <span class="grow" />
        <Stepper />
        <WholeRoom pane="result" label="the result" />
      </div>
      <Show when={state().view !== "timing" && step()}>
        {(now) => <StepHead step={now()} split={options().split} finder={finder} />}
      </Show>
      <div
        role="tabpanel"
        id="view"
        aria-labelledby={`tab-${state().view}`}
        class="view"
        onTouchStart={swiped.start}
        onTouchEnd={swiped.end}
      >
        <Show when={step()} fallback={<Nothing />}>
          {(now) => (
            <StepView
              step={now()}
              options={options()}
              finder={finder}
              onOpen={unfold}
              onRoom={setRoom}
            />
          )}
        </Show>
      </div>
      <p class="sr" role="status">
        {app.missed()}
      </p>
      <Show when={app.followed()}>
        {(followed) => (
          <Part>
            <HistoryPanel followed={followed()} />
          </Part>
        )}
      </Show>
      <Instruments />
    </>
  );
}

/** Returns the options by which a text is laid out: the user's, and the room that there is. */
function createOptions(
  finder: Finder,
  open: () => ReadonlySet<string>,
  room: () => Room,
): () => Options {
  const state = useApp().state;
  // A diff is laid out anew when one of these changes, and not with all else that does.
  const preferences = createMemo(() => state().preferences);
  const isDiff = createMemo(() => state().view === "diff");
  const searched = createMemo(() => finder.text() !== "");
  const func = createMemo(() => state().func);
  return createMemo<Options>(() => {
    const { wrap, types } = preferences();
    const columns = columnsOf(room());
    const split = preferences().split && isDiff() && columns.half >= NARROWEST_HALF;
    const most = !isDiff() ? columns.plain : split ? columns.half : columns.unified;
    return {
      split,
      types,
      // Halves that are scrolled sideways would take each other out of sight.
      columns: wrap || split ? most : Number.POSITIVE_INFINITY,
      open: open(),
      context: 3,
      whole: searched(),
      func: func(),
    };
  });
}

/** Shows the position of the step, with buttons that go from one to the next. */
function Stepper() {
  const app = useApp();
  const position = createMemo(() => {
    const shown = app.shown();
    return { at: shown.findIndex((item) => item.index === app.selected()) + 1, of: shown.length };
  });
  return (
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
          <span class="word">step </span>
          {position().at} of {position().of}
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
  );
}

interface Shown {
  options: Options;
  finder: Finder;
  onOpen(id: string): void;
  onRoom(room: Room): void;
}

/** Shows the step in the chosen view. */
function StepView(props: Shown & { step: Step }) {
  const app = useApp();
  return (
    <Switch>
      <Match when={app.state().view === "diff"}>
        <section class="region" aria-label="Diff">
          <DiffView {...props} />
        </section>
      </Match>
      <Match when={app.state().view === "before"}>
        <div class="two">
          <For each={SIDES}>
            {([side, word]) => (
              <section class="region" aria-label={word}>
                <h3>
                  {word} {props.step.name}
                </h3>
                <TextView
                  side={side}
                  options={props.options}
                  finder={props.finder}
                  onOpen={props.onOpen}
                  onRoom={props.onRoom}
                />
              </section>
            )}
          </For>
        </div>
      </Match>
      <Match when={app.state().view === "graph"}>
        <Part waiting="Drawing…">
          <GraphView step={props.step} finder={props.finder} />
        </Part>
      </Match>
      <Match when={app.state().view === "values"}>
        <Part waiting="Loading…">
          <Values step={props.step} />
        </Part>
      </Match>
      <Match when={app.state().view === "schedule"}>
        <Part waiting="Loading…">
          <ScheduleView step={props.step} />
        </Part>
      </Match>
      <Match when={app.state().view === "timing"}>
        <Part waiting="Loading…">
          <Timing />
        </Part>
      </Match>
    </Switch>
  );
}

/** One line about the step: its name, its outcome, its time. */
function StepHead(props: { step: Step; split: boolean; finder: Finder }) {
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
        <Show
          when={
            app.timed() && (props.step.outcome === "changed" || props.step.outcome === "unchanged")
          }
        >
          <span class="quiet number">{duration(props.step.micros)}</span>
        </Show>
        <Show when={props.step.rewrites > 0}>
          <button
            type="button"
            class="link number"
            aria-expanded={app.rewrites.inside() !== null}
            onClick={() => {
              app.dispatch({ type: "view", view: "diff" });
              app.rewrites.toggle();
            }}
          >
            {props.step.rewrites} {props.step.rewrites === 1 ? "rewrite" : "rewrites"}
          </button>
        </Show>
        <Show when={props.step.after > 0}>
          <button
            type="button"
            class="link fork"
            title="The result of this step becomes the program; the passes after it stay"
            onClick={() => void app.fork()}
          >
            Fork here
          </button>
        </Show>
        <Show when={app.state().stale}>
          <span class="stale">⚠ stale</span>
        </Show>
      </p>
      <div class="toggles" hidden={app.state().view === "schedule"}>
        <Show when={texts() || app.state().view === "graph"}>
          <Search finder={props.finder} />
        </Show>
        <Show when={texts()}>
          <Show when={app.state().view === "diff"}>
            <Toggle
              label="Side by side"
              on={preferences().split}
              onChange={(split) => app.dispatch({ type: "prefer", change: { split } })}
            />
          </Show>
          <Show when={!props.split}>
            <Toggle
              label="Wrap"
              title="Break long lines"
              on={preferences().wrap}
              onChange={(wrap) => app.dispatch({ type: "prefer", change: { wrap } })}
            />
          </Show>
          <Toggle
            label="Types"
            title="Show the type comments; without them, a name under the pointer tells its type"
            on={preferences().types}
            onChange={(types) => app.dispatch({ type: "prefer", change: { types } })}
          />
        </Show>
      </div>
    </div>
  );
}

function TextView(props: Shown & { side: "before" | "after" }) {
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
        wide={props.options.columns === Number.POSITIVE_INFINITY}
        subject={`${props.side} ${app.step()?.id}`}
        onOpen={props.onOpen}
        onRoom={props.onRoom}
        finder={props.finder}
        namesIn={async ({ line }) => {
          const step = app.step();
          return step ? app.namesIn(step[props.side], line) : null;
        }}
        onPick={({ line, word }) => {
          const step = app.step();
          if (step) app.follow(step[props.side], { line, word, stable: true });
        }}
        marked={{ before: null, after: app.lineIn(props.side) }}
      />
    </Show>
  );
}

/** Says why there is no step to show, and how to get one. */
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
