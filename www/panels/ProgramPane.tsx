/** Edits the program or the user's own passes, and shows their problems. */
import {
  createEffect,
  createMemo,
  createSignal,
  ErrorBoundary,
  lazy,
  on,
  onCleanup,
  onMount,
  Show,
  Suspense,
} from "solid-js";
import { relayLanguage } from "../editor/colours";
import { createEditor, type Editor } from "../editor/editor";
import type { OpDoc, Problem } from "../engine/protocol";
import { passProblems } from "../state/instruments";
import { type Editor as EditorName, scriptProblems } from "../state/model";
import { onceEach } from "../state/problems";
import { useApp } from "./context";
import { late } from "./late";
import { Part } from "./Part";
import { Problems } from "./Problems";
import { Room } from "./Room";
import type { Target } from "./ScriptPane";
import { Tabs } from "./Tabs";

const OpenMenu = late(() => import("./OpenMenu"));
const ScriptPane = lazy(() => import("./ScriptPane"));

const NO_OPS: readonly OpDoc[] = [];

export const editors: readonly { id: EditorName; label: string }[] = [
  { id: "program", label: "Program" },
  { id: "script", label: "My passes" },
];

export function ProgramPane(props: { narrow: boolean }) {
  const app = useApp();
  const state = app.state;
  let host!: HTMLDivElement;
  let openButton: HTMLButtonElement | undefined;
  const [opening, setOpening] = createSignal(false);
  const [target, setTarget] = createSignal<Target | null>(null);
  const shown = createMemo(() => state().editor);
  const { ofPasses, jumpTo } = createProgramEditor(() => host);
  const ofScript = createMemo(() => scriptProblems(state()));
  // Once opened it stays, with its cursor and its history.
  const opened = createMemo<boolean>((before) => before || shown() === "script", false);

  app.panels.offer({
    script() {
      app.dispatch({ type: "editor", editor: "script" });
      setTarget({});
    },
    openWork() {
      app.dispatch({ type: "pane", pane: "program" });
      setOpening(true);
    },
  });
  const all = createMemo(() => listed(state().problems, ofPasses(), ofScript()));

  const jump = (problem: Problem, script: boolean) => {
    if (problem.from === null) return;
    const place = { from: problem.from, to: problem.to ?? problem.from };
    app.dispatch({ type: "editor", editor: script ? "script" : "program" });
    if (script) setTarget(place);
    else jumpTo(place.from, place.to);
  };

  return (
    <>
      <Show when={!props.narrow}>
        <div class="pane-head">
          <Tabs
            label="Editors"
            prefix="editor-tab-"
            tabs={editors}
            isChosen={({ id }) => shown() === id}
            controls={({ id }) => `editor-${id}`}
            onChoose={({ id }) => app.dispatch({ type: "editor", editor: id })}
          />
          <button
            type="button"
            class="open"
            ref={openButton}
            aria-haspopup="dialog"
            aria-expanded={opening()}
            title="Open a file, a folder, or what you worked on before"
            onClick={() => setOpening(true)}
          >
            Open
          </button>
          <Room pane="program" label="the program" />
        </div>
      </Show>
      <div
        role="tabpanel"
        aria-label="Program"
        id="editor-program"
        class="view"
        hidden={shown() !== "program"}
      >
        <div class="editor" ref={host} />
      </div>
      <div
        role="tabpanel"
        aria-label="My passes"
        id="editor-script"
        class="view"
        hidden={shown() !== "script"}
      >
        <Show when={opened()}>
          <ErrorBoundary
            fallback={<p class="pad wrong">This editor could not be loaded. Reload the page.</p>}
          >
            <Suspense fallback={<p class="quiet pad">Loading…</p>}>
              <ScriptPane target={target()} />
            </Suspense>
          </ErrorBoundary>
        </Show>
      </div>
      <Show when={opening()}>
        <Part>
          <OpenMenu anchor={openButton ?? host} onClose={() => setOpening(false)} />
        </Part>
      </Show>
      <p id="editor-help" class="sr">
        Escape leaves the editor. Tab moves on; Control and ] indents.
      </p>
      <Forked />
      <Problems all={all()} onJump={jump} />
    </>
  );
}

/** Lists the problems of the program, of passes and of the user's script, each once. */
const listed = (
  problems: readonly Problem[],
  ofPasses: ReturnType<typeof passProblems>,
  ofScript: readonly Problem[],
) =>
  onceEach([
    ...problems.map((problem) => ({ problem, script: false, tag: "" })),
    ...ofPasses.map(({ problem, step }) => ({ problem, script: false, tag: step.name })),
    ...ofScript.map((problem) => ({ problem, script: true, tag: "My passes" })),
  ]);

/** Makes the editor of the program, and underlines the problems in it. */
function createProgramEditor(host: () => HTMLElement) {
  const app = useApp();
  const state = app.state;
  let editor: Editor | undefined;

  onMount(() => {
    editor = createEditor({
      parent: host(),
      label: "Program",
      language: relayLanguage,
      text: state().document.source,
      later: async () => {
        const { programWords } = await import("../editor/program");
        return programWords(() => state().catalogue?.ops ?? NO_OPS);
      },
      onEdit: (source) => app.dispatch({ type: "edit", source }),
      onEscape: app.panels.leaveEditor,
      onUndo: app.undo,
      onRedo: app.redo,
    });
    // Shows the editor first, because a hidden one takes no focus.
    const focus = () => {
      app.dispatch({ type: "editor", editor: "program" });
      editor?.focus();
    };
    const blame = () => app.follow(0, { offset: editor?.cursor() ?? 0 });
    const show = () => {
      const place = ofFollowed();
      if (place) editor?.jump(place.from, place.from);
    };
    app.panels.offer({ blameSource: blame, showSource: show, edit: focus });
    onCleanup(() => editor?.destroy());
  });

  const source = createMemo(() => state().document.source);
  createEffect(on(source, (text) => editor?.setText(text)));
  // The other end of an expression that is followed, unless the program was edited since.
  const ofFollowed = createMemo(() => {
    const { good, document } = state();
    const source = app.followed()?.history.source ?? null;
    return good?.document.source === document.source ? source : null;
  });
  createEffect(
    on(ofFollowed, (place) => {
      editor?.setMark(place);
      if (place) editor?.reveal(place.from);
    }),
  );
  // Places in a program that was edited since are not where they were.
  const ofPasses = createMemo(() => (state().stale ? [] : passProblems(app.steps())));
  const problems = createMemo(() => [
    ...state().problems,
    ...ofPasses().map(({ problem }) => problem),
  ]);
  let drawn = "[]";
  createEffect(
    on(problems, (list) => {
      const now = JSON.stringify(list);
      if (now !== drawn) editor?.setProblems(list);
      drawn = now;
    }),
  );
  return { ofPasses, jumpTo: (from: number, to: number) => editor?.jump(from, to) };
}

/** Leads back to the program from which a step was forked. */
function Forked() {
  const app = useApp();
  return (
    <Show when={app.state().document.parent}>
      <p class="pad quiet">
        Forked from a step.{" "}
        <button type="button" class="link" onClick={() => app.toParent()}>
          Back to its program
        </button>
      </p>
    </Show>
  );
}
