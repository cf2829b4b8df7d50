/** The program and what is wrong with it. */
import { createEffect, createMemo, For, on, onCleanup, onMount, Show } from "solid-js";
import { Dynamic } from "solid-js/web";
import { createEditor, type Editor } from "../editor/editor";
import type { Problem } from "../engine/protocol";
import { panelCommands } from "./commands";
import { useApp } from "./context";

export function ProgramPane() {
  const app = useApp();
  let host!: HTMLDivElement;
  let editor: Editor | undefined;

  onMount(() => {
    editor = createEditor({
      parent: host,
      text: app.state().document.source,
      onEdit: (source) => app.dispatch({ type: "edit", source }),
      onEscape: () => panelCommands.dispatchEvent(new Event("leave-editor")),
    });
    const focus = () => editor?.focus();
    panelCommands.addEventListener("edit", focus);
    onCleanup(() => {
      panelCommands.removeEventListener("edit", focus);
      editor?.destroy();
    });
  });

  const source = createMemo(() => app.state().document.source);
  createEffect(on(source, (text) => editor?.setText(text)));
  const problems = createMemo(() => app.state().problems);
  let drawn = "[]";
  createEffect(
    on(problems, (list) => {
      const now = JSON.stringify(list);
      if (now !== drawn) editor?.setProblems(list);
      drawn = now;
    }),
  );

  const jump = (problem: Problem) => {
    if (problem.from !== null) editor?.jump(problem.from, problem.to ?? problem.from);
  };

  return (
    <>
      <div class="editor" ref={host} />
      <p id="editor-help" class="sr">
        Escape leaves the program. Tab moves on; Control and ] indents.
      </p>
      <section class="problems" aria-label="Problems" classList={{ none: problems().length === 0 }}>
        <h2>
          Problems
          <Show when={problems().length > 0}>
            <span class="count">{problems().length}</span>
          </Show>
        </h2>
        <ul aria-label="Problems">
          <For each={problems()}>
            {(problem) => (
              <li>
                <Dynamic
                  component={problem.from === null ? "div" : "button"}
                  type={problem.from === null ? undefined : "button"}
                  class="problem"
                  onClick={() => jump(problem)}
                >
                  <span class={`mark ${problem.severity}`} aria-hidden="true">
                    {problem.severity === "error"
                      ? "✕"
                      : problem.severity === "warning"
                        ? "⚠"
                        : "i"}
                  </span>
                  <span class="place">
                    {problem.line === null ? "" : `${problem.line}:${problem.column}`}
                  </span>
                  <span>
                    <span class="sr">{problem.severity}: </span>
                    {problem.message}
                    <For each={problem.notes}>{(note) => <span class="note">{note}</span>}</For>
                  </span>
                </Dynamic>
              </li>
            )}
          </For>
        </ul>
        <Show when={problems().length === 0}>
          <p class="quiet">{app.state().answers > 0 ? "No problems." : "Not looked at yet."}</p>
        </Show>
      </section>
    </>
  );
}
