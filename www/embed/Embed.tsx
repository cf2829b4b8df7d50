/** Renders an embed: the program unless only steps are wanted, the steps, and the change by the chosen one. */
import { createMemo, For, Show } from "solid-js";
import { pieces } from "../editor/relay";
import { useApp } from "../panels/context";
import { ResultPane } from "../panels/ResultPane";
import { outcomeMark, stepWords } from "../state/steps";
import "./embed.css";

export function Embed(props: { mode: "read" | "steps" }) {
  const app = useApp();
  const state = app.state;
  let list!: HTMLDivElement;
  const at = () => app.selected();
  const held = () => state().document.script !== "" && state().trust !== "own";
  const whole = () => new URL(`./${location.hash}`, location.href.replace(/[?#].*$/, "")).href;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "j") app.go(1, false);
    else if (event.key === "ArrowUp" || event.key === "k") app.go(-1, false);
    else return;
    event.preventDefault();
    list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  };
  // Messages about the user's own work do not apply here.
  /** A link that could not be opened: the example that stands in its place would be taken for it. */
  const unopened = () => wrong().some((notice) => notice.text.startsWith("This link"));
  /** The program in pieces, each with its colour. */
  const coloured = createMemo(() => {
    const depth = { comment: 0 };
    return state()
      .document.source.split("\n")
      .flatMap((line) => {
        const cut = pieces(line, depth).map(({ from, to, token }) => ({
          text: line.slice(from, to),
          token: token === "local" ? null : token,
        }));
        return [...cut, { text: "\n", token: null }];
      });
  });
  const wrong = () => state().notices.filter((notice) => notice.tone === "error");

  return (
    <main class={`embed ${props.mode}`}>
      <h1 class="sr">passlab</h1>
      <div class="embed-bar">
        <span class="quiet grow" role="status">
          {app.step() ? `Step ${at() + 1} of ${app.steps().length}: ${app.step()?.name}` : ""}
        </span>
        <a href={whole()} target="_blank" rel="noopener">
          Open in passlab
        </a>
      </div>
      <For each={wrong()}>
        {(notice) => (
          <p class="wrong pad" role="alert">
            {notice.text}
          </p>
        )}
      </For>
      <Show when={held()}>
        <p class="quiet pad">This link has passes in JavaScript, which run in passlab only.</p>
      </Show>
      <div class="embed-body" style={{ display: unopened() ? "none" : undefined }}>
        <Show when={props.mode === "read"}>
          <section aria-label="Program">
            <pre tabIndex={0}>
              <For each={coloured()}>
                {({ text, token }) => (token ? <span class={`t-${token}`}>{text}</span> : text)}
              </For>
            </pre>
          </section>
        </Show>
        <div role="listbox" aria-label="Steps" ref={list} onKeyDown={keys}>
          <For each={app.shown()}>
            {(item) => (
              <div
                role="option"
                class={`step ${item.step.outcome}`}
                aria-selected={at() === item.index}
                tabIndex={at() === item.index ? 0 : -1}
                style={{ "--depth": item.step.depth }}
                onClick={() => app.dispatch({ type: "step", id: item.step.id })}
                onKeyDown={() => {}}
              >
                <span class={`mark ${item.step.outcome}`} aria-hidden="true">
                  {outcomeMark[item.step.outcome]}
                </span>
                <span class="name">{item.step.name}</span>
                <span class="sr">{stepWords(item.step, false)}</span>
              </div>
            )}
          </For>
        </div>
        <section class="result" aria-label="Result">
          <ResultPane />
        </section>
      </div>
    </main>
  );
}
