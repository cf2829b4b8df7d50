/** The page: one line of chrome, three panes, and the parts that belong to all of them. */
import { createEffect, createMemo, createSignal, lazy, onCleanup, onMount, Show } from "solid-js";
import { defaultPreferences, type Pane } from "../state/model";
import { stepName } from "../state/steps";
import { commandOf } from "./commands";
import { useApp } from "./context";
import { Header } from "./Header";
import { Importer } from "./Importer";
import { fetchPanels } from "./late";
import { Banners, Notices } from "./Notices";
import { PaneTabs } from "./PaneTabs";
import { Part } from "./Part";
import { ProgramPane } from "./ProgramPane";
import { PassesPane } from "./passes/PassesPane";
import { ResultPane } from "./ResultPane";
import { Sheets } from "./Sheets";
import { Splitter } from "./Splitter";

const LessonPane = lazy(() => import("../lessons/LessonPane"));

/** Milliseconds after the start in which the code of the panels is left alone. */
const PANELS_AHEAD = 1500;

/** There is room for one pane only; for a fourth one. */
const NARROW = "(max-width: 899.98px)";
const ROOMY = "(min-width: 1200px)";
const STANDARD = defaultPreferences.widths;

export function App(props: { onUpdate(): void }) {
  const app = useApp();
  const narrow = useWindow(NARROW);
  useKeys();
  useTheme();
  const spoken = useSpoken();
  onMount(() => {
    const ahead = setTimeout(fetchPanels, PANELS_AHEAD);
    onCleanup(() => clearTimeout(ahead));
  });
  // In a narrow window the list stands behind a tab.
  const toPasses = () => app.dispatch({ type: "pane", pane: "passes" });
  app.panels.offer({ filter: toPasses, add: toPasses });

  return (
    <>
      <Importer />
      <Header />
      <Banners />
      <main>
        <Show when={narrow()}>
          <PaneTabs />
        </Show>
        <Panes narrow={narrow()} />
      </main>
      <Notices onUpdate={props.onUpdate} />
      <p class="sr" role="status" aria-label="Step">
        {spoken()}
      </p>
      <Sheets />
    </>
  );
}

/** Draws the panes beside each other, with splitters between them; in a narrow window one at a time. */
function Panes(props: { narrow: boolean }) {
  const app = useApp();
  const state = app.state;
  /** A lesson has a column of its own. */
  const roomy = useWindow(ROOMY);
  const lesson = createMemo(() => state().lesson);
  const widths = createMemo(() => state().preferences.widths);
  const setWidth = (which: 0 | 1, value: number) => {
    const [program, passes] = widths();
    const next: [number, number] = which === 0 ? [value, passes] : [program, value];
    app.dispatch({ type: "prefer", change: { widths: next } });
  };
  const hidden = (pane: Pane) => {
    const { pane: chosen, whole } = state();
    return props.narrow ? chosen !== pane : whole !== null && whole !== pane;
  };
  const opened = useOpened(hidden);

  return (
    <div
      class="panes"
      classList={{
        narrow: props.narrow || state().whole !== null,
        learning: lesson() !== "" && roomy() && state().whole === null,
      }}
      style={{
        "--program": widths()[0],
        "--passes": widths()[1],
        // On a wide screen the result gets the width that the names leave over, unless the user chose other widths.
        "--passes-most": widths()[1] === STANDARD[1] ? "400px" : "100%",
      }}
    >
      <Show when={lesson() && roomy()}>
        <section class="pane learn" hidden={state().whole !== null}>
          <Part waiting="Loading…">
            <LessonPane name={lesson()} beside />
          </Part>
        </section>
      </Show>
      <section
        class="pane program"
        id="pane-program"
        aria-label="Program and problems"
        hidden={hidden("program")}
      >
        <Show when={lesson() && !roomy()}>
          <Part waiting="Loading…">
            <LessonPane name={lesson()} />
          </Part>
        </Show>
        <Show when={opened.program()}>
          <ProgramPane narrow={props.narrow} />
        </Show>
      </section>
      <Splitter
        label="Width of the program"
        value={widths()[0]}
        min={180}
        max={600}
        standard={STANDARD[0]}
        onChange={(value) => setWidth(0, value)}
      />
      <section
        class="pane"
        id="pane-passes"
        aria-label="Passes and steps"
        hidden={hidden("passes")}
      >
        <Show when={opened.passes()}>
          <PassesPane />
        </Show>
      </section>
      <Splitter
        label="Width of the passes"
        value={widths()[1]}
        min={140}
        max={400}
        standard={STANDARD[1]}
        onChange={(value) => setWidth(1, value)}
      />
      <section class="pane result" id="pane-result" aria-label="Result" hidden={hidden("result")}>
        <Show when={opened.result()}>
          <ResultPane />
        </Show>
      </section>
    </div>
  );
}

/** True while the window matches the media query. */
function useWindow(kind: string): () => boolean {
  const query = window.matchMedia(kind);
  const [matches, setMatches] = createSignal(query.matches);
  onMount(() => {
    const resize = () => setMatches(query.matches);
    query.addEventListener("change", resize);
    onCleanup(() => query.removeEventListener("change", resize));
  });
  return matches;
}

/** Handles the keys that are commands wherever the focus is. */
function useKeys(): void {
  const app = useApp();
  onMount(() => {
    const keys = (event: KeyboardEvent) => {
      const command = commandOf(event, app.state().preferences.letters);
      if (!command) return;
      event.preventDefault();
      command.run(app);
    };
    document.addEventListener("keydown", keys);
    onCleanup(() => document.removeEventListener("keydown", keys));
  });
}

function useTheme(): void {
  const app = useApp();
  createEffect(() => {
    const { theme } = app.state().preferences;
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  });
}

/** Returns one sentence for each selected step, for users who do not see the list. */
function useSpoken(): () => string {
  const app = useApp();
  const [spoken, setSpoken] = createSignal("");
  createEffect(() => {
    const step = app.step();
    if (step) setSpoken(stepName(step));
  });
  return spoken;
}

/**
 * Draws the frame of the page first, and then one pane after the other: made in one go they would keep a slow machine
 * from drawing, and from hearing a key, several times as long. A pane behind a tab is made at the first use of the
 * page, because a command may be meant for it.
 */
function useOpened(hidden: (pane: Pane) => boolean): Record<Pane, () => boolean> {
  const [there, setThere] = createSignal(0);
  const [used, setUsed] = createSignal(false);
  onMount(() => {
    const timer = setInterval(() => {
      if (setThere(there() + 1) === 3) clearInterval(timer);
    });
    onCleanup(() => clearInterval(timer));
    const use = () => setUsed(true);
    const kinds = ["pointerdown", "keydown", "click"];
    for (const kind of kinds) document.addEventListener(kind, use, { capture: true, once: true });
    onCleanup(() => {
      for (const kind of kinds) document.removeEventListener(kind, use, { capture: true });
    });
  });
  const opened = (pane: Pane, at: number) =>
    createMemo<boolean>((was) => was || (there() > at && (used() || !hidden(pane))), false);
  return {
    passes: opened("passes", 0),
    result: opened("result", 1),
    program: opened("program", 2),
  };
}
