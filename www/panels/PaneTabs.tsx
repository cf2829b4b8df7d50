/** In a narrow window the panes are tabs; there the two editors are panes like the others. */
import { For, Show } from "solid-js";
import { type Editor, type Pane, scriptProblems } from "../state/model";
import { useApp } from "./context";
import { editors } from "./ProgramPane";

const choices: readonly { id: string; pane: Pane; label: string; editor?: Editor }[] = [
  ...editors.map((item) => ({ ...item, id: item.editor, pane: "program" as const })),
  { id: "passes", pane: "passes", label: "Passes" },
  { id: "result", pane: "result", label: "Result" },
];

type Choice = (typeof choices)[number];

export function PaneTabs() {
  const app = useApp();
  const state = app.state;
  let tabs!: HTMLDivElement;
  const current = ({ pane, editor }: Choice) =>
    pane === state().pane && (!editor || editor === state().editor);
  const open = ({ pane, editor }: Choice) =>
    app.dispatch(editor ? { type: "editor", editor } : { type: "pane", pane });
  const wrongIn = ({ editor }: Choice) => {
    if (!editor) return 0;
    return editor === "program" ? state().problems.length : scriptProblems(state()).length;
  };
  const keys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const next = choices[(choices.findIndex(current) + by + choices.length) % choices.length];
    if (!next) return;
    open(next);
    tabs.querySelector<HTMLElement>(`#pane-tab-${next.id}`)?.focus();
  };
  // The lists stand behind another tab, so the way out of an editor leads to the tabs.
  app.panels.offer({
    leaveEditor: () => tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus(),
  });
  return (
    <div role="tablist" aria-label="Panes" class="tabs pane-tabs" ref={tabs}>
      <For each={choices}>
        {(item) => (
          <button
            type="button"
            role="tab"
            id={`pane-tab-${item.id}`}
            aria-selected={current(item)}
            aria-controls={`pane-${item.pane}`}
            tabIndex={current(item) ? 0 : -1}
            onClick={() => open(item)}
            onKeyDown={keys}
          >
            {item.label}
            <Show when={wrongIn(item)}>{(count) => <span class="count">{count()}</span>}</Show>
          </button>
        )}
      </For>
    </div>
  );
}
