/** Evaluates the program before and after the step on the same inputs, for equal results. Loaded on demand. */
import { createEffect, createSignal, For, on, Show } from "solid-js";
import type { Values as Evaluated, Step, ValuePart } from "../engine/protocol";
import type { Controller } from "../state/controller";
import { comparison, parseElements } from "../state/tensor";
import { useApp } from "./context";
import { inputs, setInputs } from "./inputs";
import { Operators } from "./Operators";
import { type Look, TensorView } from "./TensorView";
import "../styles/values.css";

interface Outcome {
  before: Evaluated | string;
  after: Evaluated | string;
}

const problemOf = (result: Evaluated | string): string =>
  typeof result === "string" ? result : result.problem;
const partsOf = (result: Evaluated | string): readonly ValuePart[] =>
  typeof result === "string" ? [] : result.result;

/** Takes the elements that were typed for an input. */
function type(name: string, shape: readonly number[], text: string): void {
  const { typed, given, ...rest } = inputs();
  const { [name]: _, ...others } = given;
  const read = text.trim() ? parseElements(text, shape) : null;
  const elements = Array.isArray(read) ? { ...others, [name]: read } : others;
  setInputs({ ...rest, typed: { ...typed, [name]: text }, given: elements });
}

/** Returns the problem of what was typed for an input; empty if there is none. */
function wrong(name: string, shape: readonly number[]): string {
  const text = inputs().typed[name] ?? "";
  const read = text.trim() ? parseElements(text, shape) : "";
  return typeof read === "string" ? read : "";
}

/** Evaluates the program before and after the step. */
async function evaluated(app: Controller, step: Step): Promise<Outcome> {
  const { func, seed, given } = inputs();
  const ask = (version: number) => app.evaluate({ version, func, seed, given, node: null });
  const before = await ask(step.before);
  return { before, after: step.after === step.before ? before : await ask(step.after) };
}

/** Compares the results before and after the step, in words. */
function verdictsOf(now: Outcome, step: Step): string[] {
  if (problemOf(now.before) || problemOf(now.after)) return [];
  if (step.before === step.after) return ["The step changed nothing."];
  const [before, after] = [partsOf(now.before), partsOf(now.after)];
  if (before.length !== after.length) return ["≠ The results have not as many parts."];
  return before.map((part, index) => {
    const name = before.length > 1 ? `${part.name}: ` : "";
    return name + comparison(part, after[index] as ValuePart);
  });
}

/** Returns the differences of each part, by element; nothing if the two have different shapes, or are equal. */
function differencesOf(now: Outcome): ValuePart[] {
  if (problemOf(now.before) || problemOf(now.after)) return [];
  const after = partsOf(now.after);
  return partsOf(now.before).flatMap((part, index) => {
    const other = after[index];
    const alike =
      other && other.shape.join() === part.shape.join() && part.data.length === other.data.length;
    if (!alike || part.shape.length === 0) return [];
    const data = part.data.map((element, at) => (other.data[at] ?? 0) - element);
    return data.some((element) => element !== 0)
      ? [{ ...part, name: `${part.name}: after − before`, data }]
      : [];
  });
}

export default function Values(props: { step: Step }) {
  const app = useApp();
  const [busy, setBusy] = createSignal(false);
  const [outcome, setOutcome] = createSignal<Outcome | null>(null);
  const [look, setLook] = createSignal<Look>("table");
  /** The inputs that were used last, so that others can be given. */
  const [args, setArgs] = createSignal<readonly ValuePart[]>([]);
  const subject = () => `${app.state().good?.number} ${props.step.id}`;
  createEffect(on(subject, () => setOutcome(null), { defer: true }));

  const evaluate = async () => {
    const about = subject();
    setBusy(true);
    const now = await evaluated(app, props.step);
    setBusy(false);
    if (typeof now.before !== "string" && now.before.args.length > 0) setArgs(now.before.args);
    if (about === subject()) setOutcome(now);
  };

  return (
    <section class="region values" aria-label="Values">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void evaluate();
        }}
      >
        <label>
          <span>Function</span>
          <input
            type="text"
            class="mono"
            size="12"
            spellcheck={false}
            value={inputs().func}
            onInput={(event) =>
              setInputs({ ...inputs(), func: event.currentTarget.value.replace(/^@/, "") })
            }
          />
        </label>
        <label>
          <span>Seed of the inputs</span>
          <input
            type="number"
            min="0"
            max="4294967295"
            value={inputs().seed}
            onInput={(event) => {
              const seed = Math.max(0, Math.floor(event.currentTarget.valueAsNumber || 0));
              setInputs({ ...inputs(), seed });
            }}
          />
        </label>
        <button type="submit" class="primary" disabled={busy()}>
          Evaluate
        </button>
        <Show when={busy()}>
          <button type="button" onClick={() => app.stop()}>
            Stop
          </button>
        </Show>
        <div class="levels looks" role="radiogroup" aria-label="Tensors as">
          <For each={["table", "map"] as const}>
            {(one) => (
              <label>
                <input
                  type="radio"
                  name="look"
                  value={one}
                  checked={look() === one}
                  onChange={() => setLook(one)}
                />
                <span>{one === "table" ? "Tables" : "Heat maps"}</span>
              </label>
            )}
          </For>
        </div>
      </form>
      <Show when={args().length > 0}>
        <Inputs args={args()} />
      </Show>
      <Show
        when={outcome()}
        fallback={
          <p class="empty">
            {busy()
              ? "Evaluating…"
              : `Runs @${inputs().func} before and after ${props.step.name} on the same inputs, made from the seed or typed. A large network takes a while.`}
          </p>
        }
      >
        {(now) => <Results outcome={now()} step={props.step} look={look()} />}
      </Show>
      <Operators step={props.step} />
    </section>
  );
}

/** Shows the inputs that were used, with fields to type others. */
function Inputs(props: { args: readonly ValuePart[] }) {
  return (
    <details class="inputs">
      <summary>
        Inputs
        <Show when={Object.keys(inputs().given).length}>
          {(count) => <span class="count">{count()}</span>}
        </Show>
      </summary>
      <p class="quiet">
        Elements in their order, such as [[1, 2], [3, 4]], or one for all. What is left empty is
        made from the seed.
      </p>
      <For each={props.args}>
        {(arg) => (
          <label class="input">
            <span>
              <code>%{arg.name}</code>{" "}
              <span class="quiet">
                {arg.dtype}[{arg.shape.join(", ")}]
              </span>
            </span>
            <input
              type="text"
              class="mono"
              spellcheck={false}
              placeholder="from the seed"
              aria-invalid={wrong(arg.name, arg.shape) !== ""}
              value={inputs().typed[arg.name] ?? ""}
              onInput={(event) => type(arg.name, arg.shape, event.currentTarget.value)}
            />
            <span class="wrong" role="status">
              {wrong(arg.name, arg.shape)}
            </span>
          </label>
        )}
      </For>
    </details>
  );
}

/** Shows the results before and after the step, and compares them. */
function Results(props: { outcome: Outcome; step: Step; look: Look }) {
  return (
    <>
      <div class="verdict" role="status">
        <For each={verdictsOf(props.outcome, props.step)}>{(sentence) => <p>{sentence}</p>}</For>
      </div>
      <div class="two">
        <Side
          title={`Before ${props.step.name}`}
          result={props.outcome.before}
          other={props.outcome.after}
          look={props.look}
        />
        <Side
          title={`After ${props.step.name}`}
          result={props.outcome.after}
          other={props.outcome.before}
          look={props.look}
        />
      </div>
      <For each={props.look === "map" ? differencesOf(props.outcome) : []}>
        {(part) => (
          <div class="value">
            <TensorView part={part} look="map" />
          </div>
        )}
      </For>
    </>
  );
}

/** Shows the result on one side of the step beside that on the other. */
function Side(props: {
  title: string;
  result: Evaluated | string;
  other: Evaluated | string;
  look: Look;
}) {
  return (
    <div class="value">
      <h3>{props.title}</h3>
      <Show when={problemOf(props.result)}>{(problem) => <pre tabIndex="0">{problem()}</pre>}</Show>
      <For each={partsOf(props.result)}>
        {(part, index) => (
          <TensorView
            part={part}
            look={props.look}
            beside={problemOf(props.other) ? undefined : partsOf(props.other)[index()]}
          />
        )}
      </For>
    </div>
  );
}
