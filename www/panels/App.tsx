/** The page: one line of chrome, three panes, and what concerns all of them. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  lazy,
  onCleanup,
  onMount,
  Show,
  Suspense,
} from "solid-js";
import { lessonOf } from "../state/lessons";
import { type Editor, type Pane, scriptProblems } from "../state/model";
import { stepName } from "../state/steps";
import { commandOf, panelCommands } from "./commands";
import { useApp } from "./context";
import { Header } from "./Header";
import { Importer } from "./Importer";
import { fetchPanels, late } from "./late";
import { Part } from "./Part";
import { PassesPane } from "./PassesPane";
import { editors, ProgramPane } from "./ProgramPane";
import { ResultPane } from "./ResultPane";
import { Splitter } from "./Splitter";

const Help = lazy(() => import("./Help"));
const Matrix = lazy(() => import("./Matrix"));
const Compare = lazy(() => import("./Compare"));
const LessonPane = lazy(() => import("../lessons/LessonPane"));
const LessonList = lazy(() => import("../lessons/LessonList"));
const Palette = late(() => import("./Palette"));

/** Milliseconds after the start in which the code of the panels is left alone. */
const PANELS_AHEAD = 1500;

const NARROW = "(max-width: 899.98px)";
const STANDARD = [320, 240] as const;

/** One at a time is shown in a narrow window; there the two editors are panes like the others. */
const panes: readonly { id: string; pane: Pane; label: string; editor?: Editor }[] = [
  ...editors.map((item) => ({ ...item, id: item.editor, pane: "program" as const })),
  { id: "passes", pane: "passes", label: "Passes" },
  { id: "result", pane: "result", label: "Result" },
];

export function App(props: { onUpdate(): void }) {
  const app = useApp();
  const state = app.state;
  const [help, setHelp] = createSignal(false);
  const [palette, setPalette] = createSignal(false);
  const [course, setCourse] = createSignal(false);
  // Its address is kept as long as it is open, so that it can be passed on.
  const lesson = (name: string) => {
    app.lessons.show(name);
    if (name) app.dispatch({ type: "pane", pane: "program" });
    const address = name ? `#lesson=${name}` : location.pathname + location.search;
    history.replaceState(null, "", address);
  };
  const [matrix, setMatrix] = createSignal(false);
  /** The levels that the list is compared at, or null. */
  const [compared, setCompared] = createSignal<readonly [number, number] | null>(null);
  const query = window.matchMedia(NARROW);
  const [narrow, setNarrow] = createSignal(query.matches);
  const [spoken, setSpoken] = createSignal("");
  let tabs!: HTMLDivElement;

  // The frame of the page is drawn first, and then one pane after the other: made in one go they would keep a slow machine
  // from drawing, and from hearing a key, several times as long.
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

  onMount(() => {
    const ahead = setTimeout(fetchPanels, PANELS_AHEAD);
    onCleanup(() => clearTimeout(ahead));
    const resize = () => setNarrow(query.matches);
    const keys = (event: KeyboardEvent) => {
      const command = commandOf(event, state().preferences.letters);
      if (!command) return;
      event.preventDefault();
      command.run(app);
    };
    const sheet = () => setHelp(true);
    const find = () => setPalette(true);
    const list = () => setCourse(true);
    const wanted = () => {
      const name = lessonOf(location.hash);
      if (name) app.lessons.show(name);
    };
    wanted();
    window.addEventListener("hashchange", wanted);
    panelCommands.addEventListener("lessons", list);
    onCleanup(() => {
      window.removeEventListener("hashchange", wanted);
      panelCommands.removeEventListener("lessons", list);
    });
    const levels = () => setMatrix(true);
    const compare = () => {
      const { optLevel } = state().document;
      setCompared([optLevel, optLevel === 0 ? 2 : 0]);
    };
    const filter = () => app.dispatch({ type: "pane", pane: "passes" });
    // Where the lists stand behind another tab, the way out of an editor leads to the tabs.
    const leave = () => {
      if (narrow()) tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
    };
    const add = () => app.dispatch({ type: "pane", pane: "passes" });
    query.addEventListener("change", resize);
    document.addEventListener("keydown", keys);
    panelCommands.addEventListener("help", sheet);
    panelCommands.addEventListener("palette", find);
    panelCommands.addEventListener("matrix", levels);
    panelCommands.addEventListener("compare", compare);
    panelCommands.addEventListener("filter", filter);
    panelCommands.addEventListener("leave-editor", leave);
    panelCommands.addEventListener("add", add);
    onCleanup(() => {
      query.removeEventListener("change", resize);
      document.removeEventListener("keydown", keys);
      panelCommands.removeEventListener("help", sheet);
      panelCommands.removeEventListener("palette", find);
      panelCommands.removeEventListener("matrix", levels);
      panelCommands.removeEventListener("compare", compare);
      panelCommands.removeEventListener("filter", filter);
      panelCommands.removeEventListener("leave-editor", leave);
      panelCommands.removeEventListener("add", add);
    });
  });

  createEffect(() => {
    const { theme } = state().preferences;
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  });

  // One sentence per step that is gone to, for those who do not see the list.
  createEffect(() => {
    const step = app.step();
    if (step) setSpoken(stepName(step));
  });

  const widths = createMemo(() => state().preferences.widths);
  const setWidth = (which: 0 | 1, value: number) => {
    const [program, passes] = widths();
    const next: [number, number] = which === 0 ? [value, passes] : [program, value];
    app.dispatch({ type: "prefer", change: { widths: next } });
  };
  const hidden = (pane: Pane) => narrow() && state().pane !== pane;
  // Behind a tab, a pane is made when somebody begins to use the page: a command may be meant for it.
  const opened = (pane: Pane, at: number) =>
    createMemo<boolean>((was) => was || (there() > at && (used() || !hidden(pane))), false);
  const passes = opened("passes", 0);
  const result = opened("result", 1);
  const program = opened("program", 2);
  type Choice = (typeof panes)[number];
  const current = ({ pane, editor }: Choice) =>
    pane === state().pane && (!editor || editor === state().editor);
  const open = ({ pane, editor }: Choice) =>
    app.dispatch(editor ? { type: "editor", editor } : { type: "pane", pane });
  const wrongIn = ({ editor }: Choice) => {
    if (!editor) return 0;
    return editor === "program" ? state().problems.length : scriptProblems(state()).length;
  };
  const tabKeys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = panes[(panes.findIndex(current) + by + panes.length) % panes.length];
    if (!next) return;
    open(next);
    tabs.querySelector<HTMLElement>(`#pane-tab-${next.id}`)?.focus();
  };

  return (
    <>
      <Importer />
      <Header onHelp={() => setHelp(true)} onPalette={() => setPalette(true)} />
      <aside aria-label="Notices">
        <Show when={state().notice}>
          {(notice) => (
            <div
              class={`notice ${notice().tone}`}
              role={notice().tone === "error" ? "alert" : "status"}
            >
              <span>{notice().text}</span>
              <Show when={notice().action}>
                <button
                  type="button"
                  onClick={() =>
                    notice().action === "reload" ? props.onUpdate() : app.act(notice())
                  }
                >
                  {notice().label}
                </button>
              </Show>
              <button
                type="button"
                class="icon"
                aria-label="Dismiss"
                onClick={() => app.dispatch({ type: "notice", notice: null })}
              >
                ✕
              </button>
            </div>
          )}
        </Show>
        <Show when={state().gaveUp && state().good}>
          <div class="notice error" role="alert">
            <span>{state().gaveUp}</span>
            <button type="button" onClick={() => app.again()}>
              Run again
            </button>
          </div>
        </Show>
        <Show when={state().trust === "ask"}>
          <div class="notice ask" role="alert">
            <span>
              <strong>This link brings passes of its own, in JavaScript.</strong> Read them under{" "}
              <em>My passes</em>; they run only if you say so, in a sandbox without network and
              storage.
            </span>
            <div class="buttons">
              <button type="button" class="primary" onClick={() => app.decideScript("own")}>
                Run
              </button>
              <button type="button" onClick={() => app.decideScript("held")}>
                Keep without
              </button>
            </div>
          </div>
        </Show>
        {/* From the first moment on: what comes later would push the panes down. */}
        <Show when={state().preferences.hint}>
          <div class="notice hint">
            <span>
              <Show
                when={app.step()?.outcome === "changed"}
                fallback="These passes run over this program. "
              >
                This is what <strong>{app.step()?.name}</strong> did to the program.{" "}
              </Show>
              Press <kbd>n</kbd> for the next step that changed something, or edit the program:
              everything runs again as you type.
            </span>
            <button
              type="button"
              class="icon"
              aria-label="Dismiss"
              onClick={() => app.dispatch({ type: "prefer", change: { hint: false } })}
            >
              ✕
            </button>
          </div>
        </Show>
      </aside>
      <main>
        <Show when={narrow()}>
          <div role="tablist" aria-label="Panes" class="tabs pane-tabs" ref={tabs}>
            <For each={panes}>
              {(item) => (
                <button
                  type="button"
                  role="tab"
                  id={`pane-tab-${item.id}`}
                  aria-selected={current(item)}
                  aria-controls={`pane-${item.pane}`}
                  tabIndex={current(item) ? 0 : -1}
                  onClick={() => open(item)}
                  onKeyDown={tabKeys}
                >
                  {item.label}
                  <Show when={wrongIn(item)}>
                    {(count) => <span class="count">{count()}</span>}
                  </Show>
                </button>
              )}
            </For>
          </div>
        </Show>
        <div
          class="panes"
          classList={{ narrow: narrow() }}
          style={{ "--program": widths()[0], "--passes": widths()[1] }}
        >
          <section
            class="pane program"
            id="pane-program"
            aria-label="Program and problems"
            hidden={hidden("program")}
          >
            <Show when={app.lessons.open()}>
              <Part waiting="Loading…">
                <LessonPane
                  name={app.lessons.open()}
                  resumed={app.lessons.open() === app.lessons.resumed}
                  onOpen={lesson}
                  onList={() => setCourse(true)}
                  onClose={() => lesson("")}
                />
              </Part>
            </Show>
            <Show when={program()}>
              <ProgramPane narrow={narrow()} />
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
            <Show when={passes()}>
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
          <section
            class="pane result"
            id="pane-result"
            aria-label="Result"
            hidden={hidden("result")}
          >
            <Show when={result()}>
              <ResultPane />
            </Show>
          </section>
        </div>
      </main>
      <p class="sr" role="status" aria-label="Step">
        {spoken()}
      </p>
      <Show when={help()}>
        <Part>
          <Help onClose={() => setHelp(false)} />
        </Part>
      </Show>
      <Show when={matrix()}>
        <Suspense>
          <Matrix
            onClose={() => setMatrix(false)}
            onCompare={(levels) => {
              setMatrix(false);
              setCompared(levels);
            }}
          />
        </Suspense>
      </Show>
      <Show when={compared()}>
        {(levels) => (
          <Suspense>
            <Compare levels={levels()} onClose={() => setCompared(null)} />
          </Suspense>
        )}
      </Show>
      <Show when={course()}>
        <Part>
          <LessonList onOpen={lesson} onClose={() => setCourse(false)} />
        </Part>
      </Show>
      <Show when={palette()}>
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      </Show>
    </>
  );
}
