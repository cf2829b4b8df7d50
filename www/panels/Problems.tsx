/** The problems of the program and the script, and the fixes that put them right. */
import { createSignal, For, Show } from "solid-js";
import { Dynamic } from "solid-js/web";
import type { Fix, Problem } from "../engine/protocol";
import { edited, fixOf } from "../state/fixes";
import type { Listed } from "../state/problems";
import { useApp } from "./context";
import { Words } from "./Words";

const MARKS: Partial<Record<Problem["severity"], string>> = { error: "✕", warning: "⚠" };

/** Leaves out notes about options of the command line if there are buttons for the same. */
const notesOf = ({ notes, fixes }: Problem) =>
  fixes?.length ? notes.filter((note) => !/--(pick|define) /.test(note)) : notes;

export function Problems(props: {
  all: readonly Listed[];
  onJump(problem: Problem, script: boolean): void;
}) {
  const app = useApp();
  const textOf = (script: boolean) => {
    const { document } = app.state();
    return script ? document.script : document.source;
  };
  const write = (text: string, script: boolean) =>
    app.dispatch(script ? { type: "script", script: text } : { type: "edit", source: text });

  return (
    <section class="problems" aria-label="Problems" classList={{ none: props.all.length === 0 }}>
      <h2>
        Problems
        <Show when={props.all.length > 0}>
          <span class="count">{props.all.length}</span>
        </Show>
      </h2>
      <ul aria-label="Problems">
        <For each={props.all}>
          {({ problem, script, tag }) => (
            <li>
              <Dynamic
                component={problem.from === null ? "div" : "button"}
                type={problem.from === null ? undefined : "button"}
                class="problem"
                onClick={() => problem.from !== null && props.onJump(problem, script)}
              >
                <span class={`mark ${problem.severity}`} aria-hidden="true">
                  {MARKS[problem.severity] ?? "i"}
                </span>
                <span class="place">
                  {problem.line === null ? "" : `${problem.line}:${problem.column}`}
                </span>
                <span>
                  <span class="sr">{problem.severity}: </span>
                  <Show when={tag}>
                    <span class="tag">{tag}</span>{" "}
                  </Show>
                  <Words text={problem.message} />
                  <For each={notesOf(problem)}>
                    {(note) => (
                      <span class="note">
                        <Words text={note} />
                      </span>
                    )}
                  </For>
                </span>
              </Dynamic>
              <Show when={fixOf(problem, textOf(script))}>
                {(found) => (
                  <button type="button" class="fix" onClick={() => write(found().text, script)}>
                    Change to <code>{found().word}</code>
                  </button>
                )}
              </Show>
              <Show when={problem.code === "pass-dialect"}>
                <button type="button" class="fix" onClick={app.takeFitting}>
                  Take passes that fit
                </button>
              </Show>
              <Fixes
                fixes={problem.fixes ?? []}
                onFix={(fix, values) => write(edited(textOf(script), fix, values), script)}
              />
            </li>
          )}
        </For>
      </ul>
      <Show when={props.all.length === 0}>
        <p class="quiet">{app.state().answers > 0 ? "No problems." : "Not looked at yet."}</p>
      </Show>
    </section>
  );
}

/** A repair is a button; one that asks for values a form; of several one is chosen. */
function Fixes(props: { fixes: readonly Fix[]; onFix(fix: Fix, values: readonly string[]): void }) {
  const only = () => (props.fixes.length === 1 ? props.fixes[0] : undefined);
  return (
    <>
      <Show when={only()} keyed>
        {(fix) => (
          <Show
            when={fix.asks.length > 0}
            fallback={
              <button type="button" class="fix" onClick={() => props.onFix(fix, [])}>
                {fix.title}
              </button>
            }
          >
            <Form fix={fix} onFix={(values) => props.onFix(fix, values)} />
          </Show>
        )}
      </Show>
      <Show when={props.fixes.length > 1}>
        <select
          class="fix"
          aria-label="Instead"
          onChange={(event) => {
            const fix = props.fixes[event.currentTarget.selectedIndex - 1];
            if (fix) props.onFix(fix, []);
          }}
        >
          <option selected>Instead…</option>
          <For each={props.fixes}>{(fix) => <option>{fix.title}</option>}</For>
        </select>
      </Show>
    </>
  );
}

/** Asks for values that the text does not have; they are written into it, and so are in links and reproducers. */
function Form(props: { fix: Fix; onFix(values: readonly string[]): void }) {
  const [values, setValues] = createSignal(props.fix.asks.map(([, value]) => value));
  const set = (at: number, value: string) =>
    setValues((all) => all.map((old, index) => (index === at ? value : old)));
  return (
    <form
      class="fix values"
      aria-label="Values from around the program"
      onSubmit={(event) => {
        event.preventDefault();
        props.onFix(values());
      }}
    >
      <For each={props.fix.asks}>
        {([name, value], at) => (
          <label>
            <code>{name}</code> ={" "}
            <input
              type="text"
              value={value}
              size={Math.max(6, value.length)}
              spellcheck={false}
              autocomplete="off"
              required
              onInput={(event) => set(at(), event.currentTarget.value)}
            />
          </label>
        )}
      </For>
      <button type="submit">{props.fix.title}</button>
    </form>
  );
}
