/** In a narrow window the panes are tabs; there the two editors are panes like the others. */
import { Show } from "solid-js";
import { type Editor, type Pane, scriptProblems } from "../state/model";
import { useApp } from "./context";
import { editors } from "./ProgramPane";
import { Tabs } from "./Tabs";

const choices: readonly { id: string; pane: Pane; label: string; editor?: Editor }[] = [
  ...editors.map((item) => ({ ...item, editor: item.id, pane: "program" as const })),
  { id: "passes", pane: "passes", label: "Passes" },
  { id: "result", pane: "result", label: "Result" },
];

type Choice = (typeof choices)[number];

export function PaneTabs() {
  const app = useApp();
  const state = app.state;
  const current = ({ pane, editor }: Choice) =>
    pane === state().pane && (!editor || editor === state().editor);
  const open = ({ pane, editor }: Choice) =>
    app.dispatch(editor ? { type: "editor", editor } : { type: "pane", pane });
  const wrongIn = ({ editor }: Choice) => {
    if (!editor) return 0;
    return editor === "program" ? state().problems.length : scriptProblems(state()).length;
  };
  // The lists stand behind another tab, so the way out of an editor leads to the tabs.
  app.panels.offer({
    leaveEditor: () =>
      document.querySelector<HTMLElement>('.pane-tabs [aria-selected="true"]')?.focus(),
  });
  return (
    <Tabs
      label="Panes"
      class="tabs pane-tabs"
      prefix="pane-tab-"
      tabs={choices}
      isChosen={current}
      controls={({ pane }) => `pane-${pane}`}
      onChoose={open}
    >
      {(item) => (
        <Show when={wrongIn(item)}>{(count) => <span class="count">{count()}</span>}</Show>
      )}
    </Tabs>
  );
}
