/** The loops of a tensor program before and after the step, and the instructions that transform them. Loaded on demand. */
import { createEffect, createMemo, createSignal, For, on, onCleanup, Show } from "solid-js";
import type { Nest, NestNode, NestQuestion, Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import { Toggle } from "../panels/Toggle";
import { Words } from "../panels/Words";
import { Costs } from "./Costs";
import { Instructions } from "./Instructions";
import { rowsOf } from "./marks";
import { Offers } from "./Offers";
import { Picture } from "./Picture";
import { type Subject, subjectOf } from "./subject";
import { callOf, inserted, linesOf } from "./trace";
import "./schedule.css";

/** The contents of the screen: it changes as a whole, once the engine has answered. */
interface Seen {
  key: string;
  about: Subject;
  nest: Nest;
  before: Nest | null;
}

interface Viewed {
  step: Step;
}

/** Asks the engine for the loops before and after the step. */
function createSeen(props: Viewed) {
  const app = useApp();
  const [seen, setSeen] = createSignal<Seen | null>(null);
  const [problem, setProblem] = createSignal("");
  const [wanted, setWanted] = createSignal("");
  const good = () => app.state().good;
  const wantedSubject = createMemo(() => {
    const now = good();
    return now ? subjectOf(now.run, now.sent, props.step) : null;
  });
  /** The first program that the step changed, unless another one was asked for. */
  const func = createMemo(() => wanted() || (props.step.functions[0] ?? app.state().func));
  const key = createMemo(() => `${good()?.number} ${wantedSubject()?.key} ${func()}`);

  /** Answers about the present run: what is after a step is before the next one. */
  let known = { run: -1, nests: new Map<string, Nest>() };
  const ask = async (question: NestQuestion, slot: string) => {
    const run = good()?.number ?? -1;
    if (run !== known.run) known = { run, nests: new Map() };
    const { nests } = known;
    const id = `${question.version} ${question.upto} ${question.func} ${question.trace}`;
    const kept = nests.get(id);
    if (kept) return kept;
    const found = await app.nest(question, slot);
    if (found && typeof found !== "string") nests.set(id, found);
    return found;
  };

  createEffect(
    on(key, async (now) => {
      const about = wantedSubject();
      if (!about) return;
      const base = (upto: number, version: number): NestQuestion => ({
        version,
        func: func(),
        trace: about.trace,
        upto,
        tries: [],
      });
      const [nest, before] = await Promise.all([
        ask(base(about.after, about.version), "after"),
        ask(base(about.before, about.old), "before"),
      ]);
      if (now !== key() || nest === null) return;
      if (typeof nest === "string") {
        setProblem(nest);
        return;
      }
      setProblem("");
      const old = typeof before === "string" ? null : before;
      setSeen({ key: now, about, nest, before: old?.func === nest.func ? old : null });
    }),
  );

  const subject = () => seen()?.about ?? null;
  const nest = () => seen()?.nest ?? null;
  /** The document that is shown is the one that is edited. */
  const settled = () => good()?.document === app.state().document && seen()?.key === key();

  const tryAll = async (tries: readonly string[], slot: string): Promise<string[] | null> => {
    const about = subject();
    if (!about) return null;
    const { version, trace, after: upto } = about;
    const found = await app.nest({ version, func: func(), trace, upto, tries }, slot);
    return found && typeof found !== "string" ? found.refused : null;
  };

  return { seen, problem, setWanted, good, subject, nest, settled, tryAll };
}

/** Writes the trace into the list of passes, and shows its step once it has run. */
function createWriting(
  props: Viewed,
  { good, subject, nest, settled }: ReturnType<typeof createSeen>,
) {
  const app = useApp();
  const lines = createMemo(() => linesOf(subject()?.trace ?? "", nest()?.instructions ?? []));
  /** The last instruction that was applied to what is shown; those behind it come later. */
  const last = createMemo(() => {
    const done = nest()?.done ?? 0;
    return lines().filter((line) => line.on)[done - 1];
  });
  /** The schedule has another trace, and its step number `stage` is shown: the whole schedule where that is none. */
  const write = (trace: string, stage: number | null) => {
    const about = subject();
    const { document } = app.state();
    if (!about || !settled()) return;
    if (about.row < 0) {
      const row = props.step.row < 0 ? document.passes.length : props.step.row + 1;
      const isSchedule = (call: string) => /^(\w+\.)*Schedule\b/.test(call);
      const earlier = document.passes
        .slice(0, row)
        .filter((pass) => pass.enabled && isSchedule(pass.call));
      app.dispatch({ type: "add", call: callOf(trace), at: row });
      app.dispatch({ type: "step", id: `Schedule#${earlier.length + 1}` });
      return;
    }
    pending = { schedule: about.schedule, stage };
    app.dispatch({ type: "call", row: about.row, call: callOf(trace) });
  };
  /** The step to be shown once the schedule that was written has run. */
  let pending: { schedule: string; stage: number | null } | null = null;
  createEffect(
    on(good, (now) => {
      if (!pending || !now || now.document !== app.state().document) return;
      const { schedule, stage } = pending;
      pending = null;
      const top = now.run.steps.findIndex((step) => step.id === schedule);
      const stages = now.run.steps.filter((step) => step.parent === top);
      const id = stage === null ? schedule : stages[Math.min(stage, stages.length - 1)]?.id;
      app.dispatch({ type: "step", id: id ?? schedule });
    }),
  );

  /** Instructions are put behind the one that is shown. */
  const add = (code: string) => {
    const about = subject();
    if (!about) return;
    const whole = about.row < 0 || about.after > about.stages.length;
    write(inserted(about.trace, last(), code), whole ? null : about.after);
  };
  onCleanup(() => {
    pending = null;
  });
  return { lines, last, write, add };
}

/** The program as text, with the lines of the chosen loop or block. */
function Text(props: {
  nest: Nest;
  node: NestNode | undefined;
  chosen: string;
  onChoose(key: string): void;
}) {
  let text!: HTMLDivElement;
  const textLines = createMemo(() => props.nest.text.split("\n"));
  const isChosen = (line: number) => {
    const [from, to] = props.node?.lines ?? [0, -1];
    return from <= line && line <= to;
  };
  /** The innermost loop or block of a line. */
  const pick = (line: number) => {
    const found = props.nest.nodes.findLast(({ lines: [from, to] }) => from <= line && line <= to);
    if (found) props.onChoose(found.key);
  };
  createEffect(
    on(
      () => props.chosen,
      () => {
        const line = text.querySelector<HTMLElement>(".chosen");
        if (line) text.scrollTop = line.offsetTop - text.offsetTop - 60;
      },
      { defer: true },
    ),
  );
  return (
    <section class="wide">
      <h3>Program</h3>
      {/* The tree tells the same to those who use the keyboard. */}
      <div
        ref={text}
        class="nest-text"
        role="group"
        aria-label={`Text of ${props.nest.func}`}
        tabIndex={0}
      >
        <For each={textLines()}>
          {(line, index) => (
            <span classList={{ chosen: isChosen(index() + 1) }} onClick={() => pick(index() + 1)}>
              {line || " "}
            </span>
          )}
        </For>
      </div>
    </section>
  );
}

export default function ScheduleView(props: Viewed) {
  const app = useApp();
  let view!: HTMLElement;
  const [chosen, setChosen] = createSignal("");
  const [gone, setGone] = createSignal(false);
  const looked = createSeen(props);
  const { seen, subject, nest, settled } = looked;
  const rows = createMemo(() => {
    const now = seen();
    if (!now) return [];
    return rowsOf(now.nest, now.before).filter((row) => gone() || row.at >= 0);
  });
  const at = createMemo(() => nest()?.nodes.findIndex((node) => node.key === chosen()) ?? -1);
  const node = () => nest()?.nodes[at()];
  const { lines, last, write, add } = createWriting(props, looked);
  const toOffers = () => view.querySelector<HTMLElement>(".offers button")?.focus();

  return (
    <section class="region schedule" aria-label="Schedule" ref={view}>
      <Show
        when={nest()?.func ? nest() : null}
        fallback={
          <p class="empty" role="status">
            {looked.problem() ||
              (nest()
                ? nest()?.problem ||
                  "There is no tensor program (T.prim_func) here. LegalizeOps makes them of Relax operators."
                : "Drawing…")}
          </p>
        }
      >
        {(now) => (
          <div class="schedule-parts">
            <section class="loops">
              <div class="bar-row">
                <label>
                  <span>Function</span>
                  <select
                    value={now().func}
                    onChange={(event) => looked.setWanted(event.currentTarget.value)}
                  >
                    <For each={now().functions}>
                      {(name) => <option value={name}>{name}</option>}
                    </For>
                  </select>
                </label>
                <Toggle
                  label="Show what went"
                  title="Also the loops and blocks that the step took away"
                  on={gone()}
                  onChange={setGone}
                />
              </div>
              <Show when={now().problem}>
                <p class="wrong" role="alert">
                  <Words text={now().problem} />
                </p>
              </Show>
              <Picture rows={rows()} chosen={chosen()} onChoose={setChosen} onOpen={toOffers} />
              <Show when={now().cut}>
                <p class="quiet">There are more: the first {now().nodes.length} are drawn.</p>
              </Show>
              <Show
                when={at() >= 0}
                fallback={
                  <p class="quiet pad">
                    Choose a loop or a block, and what can be done to it stands here.
                  </p>
                }
              >
                <Offers
                  nest={now()}
                  at={at()}
                  locked={!settled()}
                  tries={looked.tryAll}
                  onDo={add}
                />
              </Show>
            </section>
            <Instructions
              text={subject()?.trace ?? ""}
              lines={lines()}
              last={last()}
              stages={subject()?.stages ?? []}
              has={(subject()?.row ?? -1) >= 0}
              locked={!settled()}
              onShow={(id) => app.dispatch({ type: "step", id })}
              onWrite={write}
              onAdd={add}
            />
            <Costs step={props.step} subject={subject()} func={now().func} lines={lines()} />
            <Text nest={now()} node={node()} chosen={chosen()} onChoose={setChosen} />
          </div>
        )}
      </Show>
    </section>
  );
}
