/** *My passes*: the user's script, the passes that it defines, and its output. Loaded when it is first opened. */
import {
  createEffect,
  createMemo,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  Show,
} from "solid-js";
import { createEditor, type Editor } from "../editor/editor";
import { scriptLanguage } from "../editor/script";
import type { DumpFile, ScriptReport, UserPass } from "../engine/protocol";
import { PYTHON_BYTES, pythonLoading } from "../sandbox/progress";
import { callName } from "../state/calls";
import { inLanguage, type Language, languageOf } from "../user/language";
import { type Sample, sampleList } from "../user/samples";
import { ApiPanel } from "./ApiPanel";
import { useApp } from "./context";
import "../styles/script.css";

/** A place to go to, or wherever the cursor is; a new object each time, so that it can be gone to again. */
export interface Target {
  from?: number;
  to?: number;
}

export default function ScriptPane(props: { target: Target | null }) {
  const app = useApp();
  const state = app.state;
  let host!: HTMLDivElement;
  let editor: Editor | undefined;
  const script = createMemo(() => state().document.script);
  const empty = createMemo(() => script().trim() === "");
  const report = createMemo(() => (empty() ? null : state().script));

  onMount(() => {
    editor = createEditor({
      parent: host,
      label: "My passes",
      language: scriptLanguage,
      text: script(),
      onEdit: (text) => app.dispatch({ type: "script", script: text }),
      onEscape: app.panels.leaveEditor,
      onUndo: app.undo,
      onRedo: app.redo,
    });
    onCleanup(() => editor?.destroy());
  });
  createEffect(on(script, (text) => editor?.setText(text)));
  const problems = createMemo(() => report()?.problems ?? []);
  createEffect(on(problems, (list) => editor?.setProblems(list)));
  createEffect(() => {
    const place = props.target;
    if (place?.from === undefined) {
      if (place) editor?.focus();
    } else editor?.jump(place.from, place.to ?? place.from);
  });

  const [reading, setReading] = createSignal(false);
  const [samples, setSamples] = createSignal<readonly Sample[]>([]);
  // Without them the pane is as good.
  onMount(() => void sampleList().then(setSamples, () => {}));
  const choose = (select: HTMLSelectElement) => {
    const sample = samples().find((item) => item.id === select.value);
    select.value = "";
    if (sample) void app.openSample(sample);
  };

  return (
    <>
      <div class="bar script-bar">
        <select aria-label="Sample" onChange={(event) => choose(event.currentTarget)}>
          <option value="">Samples…</option>
          <For each={samples()}>{(item) => <option value={item.id}>{item.title}</option>}</For>
        </select>
        <button type="button" aria-expanded={reading()} onClick={() => setReading(!reading())}>
          API
        </button>
        <Languages />
        <span class="grow" />
        <Patience />
      </div>
      <Show when={reading()}>
        <ApiPanel
          onClose={() => {
            setReading(false);
            editor?.focus();
          }}
        />
      </Show>
      <Show when={empty()}>
        <p class="teach">
          Write a pass here and it appears under <em>Add pass</em>, where it is run, timed and
          compared like any other. Start with a sample, or press <kbd>Ctrl</kbd> <kbd>Space</kbd> or
          open <em>API</em> to see what there is.
        </p>
      </Show>
      <Show when={state().trust === "held" && !empty()}>
        <p class="held">
          <span>These passes came in a link and are not run.</span>
          <button type="button" onClick={() => app.decideScript("own")}>
            Run them
          </button>
        </p>
      </Show>
      <Show when={pythonLoading() !== null}>
        <p class="teach loading" role="status">
          <progress max={PYTHON_BYTES} value={pythonLoading() ?? 0} aria-label="Python" />
          <span>
            Python is loaded, once: {((pythonLoading() ?? 0) / 1e6).toFixed(1)} of{" "}
            {(PYTHON_BYTES / 1e6).toFixed(1)} MB
          </span>
        </p>
      </Show>
      <div class="editor" ref={host} />
      <Show when={report()}>{(now) => <Report of={now()} />}</Show>
    </>
  );
}

/** Shows what a script gave: its passes and instruments, what it ran, its modules, its output. */
function Report(props: { of: ScriptReport }) {
  const app = useApp();
  return (
    <>
      <Show when={props.of.passes.length + props.of.instruments.length > 0}>
        <section class="yours" aria-label="What is defined here">
          <ul aria-label="Your passes">
            <For each={props.of.passes}>{(pass) => <Defined pass={pass} />}</For>
            <For each={props.of.instruments}>
              {(instrument) => (
                <li>
                  <span class="name">{instrument.name}</span>
                  <span class="quiet grow">instrument</span>
                  <Switch name={instrument.name} />
                </li>
              )}
            </For>
          </ul>
        </section>
      </Show>
      <Show when={(props.of.steps?.length ?? 0) > 0}>
        <section class="yours" aria-label="What the script ran">
          <ul aria-label="What the script ran">
            <li>
              <span class="name">{passesIn(props.of.steps ?? [])}</span>
              <span class="quiet grow">ran in the script</span>
              <button
                type="button"
                title="Show each pass that the script ran as a step, with what it changed"
                onClick={() => void app.openSteps(props.of.steps ?? [])}
              >
                Step through
              </button>
            </li>
          </ul>
        </section>
      </Show>
      <Show when={(props.of.modules?.length ?? 0) > 0}>
        <section class="yours" aria-label="Modules of the script">
          <ul aria-label="Modules of the script">
            <For each={props.of.modules}>
              {({ name, text }) => (
                <li>
                  <span class="name">{name}</span>
                  <span class="quiet grow">module</span>
                  <button
                    type="button"
                    aria-label={`Open ${name} as program`}
                    title="Edit it and step through passes over it"
                    onClick={() => void app.importText(text, name)}
                  >
                    Open as program
                  </button>
                </li>
              )}
            </For>
          </ul>
        </section>
      </Show>
      <Show when={props.of.output.length > 0}>
        <section class="console" aria-label="Output">
          <h2>Output</h2>
          <div role="log" aria-label="Output" aria-live="off" tabIndex={0}>
            <For each={props.of.output.slice(-MOST_OUTPUT)}>{(line) => <pre>{line}</pre>}</For>
          </div>
        </section>
      </Show>
    </>
  );
}

/** The number of passes among what a script ran, in words: they have times, modules have none. */
function passesIn(steps: readonly DumpFile[]): string {
  const count = steps.filter(({ name }) => name.includes("@")).length;
  return count === 1 ? "1 pass" : `${count} passes`;
}

/** Lines of the console that are drawn; a loop that prints has many. */
const MOST_OUTPUT = 500;

const LANGUAGES: readonly [Language, string][] = [
  ["javascript", "JavaScript"],
  ["python", "Python"],
];

/** The language of the script: recognised, and said in its first line where that is wrong. */
function Languages() {
  const app = useApp();
  const script = () => app.state().document.script;
  const language = createMemo(() => languageOf(script()));
  return (
    <div class="levels looks" role="radiogroup" aria-label="Language">
      <For each={LANGUAGES}>
        {([id, title]) => (
          <label>
            <input
              type="radio"
              name="script-language"
              value={id}
              checked={language() === id}
              onChange={() => app.dispatch({ type: "script", script: inLanguage(script(), id) })}
            />
            <span>{title}</span>
          </label>
        )}
      </For>
    </div>
  );
}

/** A pass that the script defines, and the way into the list. */
function Defined(props: { pass: UserPass }) {
  const app = useApp();
  const used = () =>
    app.state().document.passes.some((item) => callName(item.call) === props.pass.name);
  const about = () => {
    const { kind, optLevel, required } = props.pass;
    const needs = required.length > 0 ? `, needs ${required.join(", ")}` : "";
    return `${kind}, O${optLevel}${needs}`;
  };
  return (
    <li>
      <span class="name">{props.pass.name}</span>
      <span class="quiet grow">{about()}</span>
      <Show when={!used()} fallback={<span class="quiet">in the list</span>}>
        <button
          type="button"
          aria-label={`Add ${props.pass.name}`}
          title="Behind the step that is shown"
          onClick={() => app.addPass(props.pass.name)}
        >
          Add
        </button>
      </Show>
    </li>
  );
}

/** Instruments are switched on and off, like those that are built in. */
function Switch(props: { name: string }) {
  const app = useApp();
  return (
    <label class="box">
      <input
        type="checkbox"
        checked={app.state().document.instruments.includes(props.name)}
        onChange={(event) =>
          app.dispatch({
            type: "instrument",
            name: props.name,
            call: event.currentTarget.checked ? props.name : null,
          })
        }
      />
      <span>
        <span class="sr">{props.name} </span>on
      </span>
    </label>
  );
}

/** Edits the seconds after which a script is stopped. */
function Patience() {
  const app = useApp();
  const [text, setText] = createSignal(String(app.state().preferences.patience));
  const keep = (input: HTMLInputElement) => {
    const seconds = Math.round(Number(input.value));
    const patience = seconds >= 1 && seconds <= 600 ? seconds : app.state().preferences.patience;
    app.dispatch({ type: "prefer", change: { patience } });
    setText(String(patience));
    input.value = String(patience);
  };
  return (
    <label class="patience" title="A script that gives no answer for so long is stopped">
      <span class="quiet">Stop after</span>
      <input
        type="number"
        aria-label="Seconds until a script is stopped"
        min="1"
        max="600"
        value={text()}
        onChange={(event) => keep(event.currentTarget)}
      />
      <span class="quiet">s</span>
    </label>
  );
}
