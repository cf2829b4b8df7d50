/** The program evaluated before and after the step, on the same inputs: a pass must not change what comes out. */
import { createEffect, createSignal, on, Show } from "solid-js";
import type { EvalResult, Step } from "../engine/protocol";
import { useApp } from "./context";
import { Operators } from "./Operators";

interface Outcome {
  before: EvalResult | string;
  after: EvalResult | string;
}

const textOf = (result: EvalResult | string): string =>
  typeof result === "string"
    ? result
    : result.ok
      ? result.text
      : result.problems.map((problem) => problem.message).join("\n");

export default function Values(props: { step: Step }) {
  const app = useApp();
  const [func, setFunc] = createSignal("main");
  const [seed, setSeed] = createSignal(0);
  const [busy, setBusy] = createSignal(false);
  const [outcome, setOutcome] = createSignal<Outcome | null>(null);
  const subject = () => `${app.state().good?.number} ${props.step.id}`;
  createEffect(on(subject, () => setOutcome(null), { defer: true }));

  const evaluate = async () => {
    const about = subject();
    setBusy(true);
    const before = await app.evaluate(props.step.before, func(), seed());
    const after =
      props.step.after === props.step.before
        ? before
        : await app.evaluate(props.step.after, func(), seed());
    setBusy(false);
    if (about === subject()) setOutcome({ before, after });
  };
  const equal = () => {
    const now = outcome();
    if (!now || typeof now.before === "string" || typeof now.after === "string") return "";
    if (!now.before.ok || !now.after.ok) return "";
    if (props.step.before === props.step.after) return "The step changed nothing.";
    return now.before.text === now.after.text
      ? "✓ The results are printed the same."
      : "≠ The results are printed differently.";
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
            value={func()}
            onInput={(event) => setFunc(event.currentTarget.value.replace(/^@/, ""))}
          />
        </label>
        <label>
          <span>Seed of the inputs</span>
          <input
            type="number"
            min="0"
            max="4294967295"
            value={seed()}
            onInput={(event) =>
              setSeed(Math.max(0, Math.floor(event.currentTarget.valueAsNumber || 0)))
            }
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
      </form>
      <Show
        when={outcome()}
        fallback={
          <p class="empty">
            {busy()
              ? "Evaluating…"
              : `Runs @${func()} before and after ${props.step.name} on the same random inputs. A large network takes a while.`}
          </p>
        }
      >
        {(now) => (
          <div class="two">
            <div class="value">
              <h3>Before {props.step.name}</h3>
              <pre tabIndex="0">{textOf(now().before)}</pre>
            </div>
            <div class="value">
              <h3>After {props.step.name}</h3>
              <pre tabIndex="0">{textOf(now().after)}</pre>
            </div>
            <p class="verdict" role="status">
              {equal()}
            </p>
          </div>
        )}
      </Show>
      <Operators step={props.step} />
    </section>
  );
}
