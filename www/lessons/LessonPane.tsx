/** The open lesson above the program: its text, its goals, the finished ones. Loaded when a lesson is opened. */
import { createEffect, createResource, createSignal, For, on, onMount, Show } from "solid-js";
import { useApp } from "../panels/context";
import { Prose } from "../panels/prose";
import { runAside } from "../state/aside";
import { course, fileOf, titleOf } from ".";
import { comparedWith, type Facts, hintsFor, holds, type Lesson, trialsOf } from "./judge";
import "./lessons.css";

/** A lesson with its texts. */
interface Loaded {
  name: string;
  lesson: Lesson;
  prose: string;
  /** The programs that results are compared with, by their names. */
  programs: Record<string, string>;
}

export default function LessonPane(props: {
  name: string;
  /** It has a column of its own. */
  beside?: boolean;
}) {
  const app = useApp();
  const state = app.state;
  let heading!: HTMLHeadingElement;
  let onward: HTMLButtonElement | undefined;
  const [failure, setFailure] = createSignal("");
  /** The present hints, the weakest first, and the number of those that were asked for. */
  const [hints, setHints] = createSignal<readonly string[]>([]);
  const [rung, setRung] = createSignal(0);
  const hint = () => hints()[rung() - 1] ?? "";
  const forget = () => {
    setHints([]);
    setRung(0);
  };
  /** The place of the answer that was chosen. */
  const [answer, setAnswer] = createSignal(-1);
  const [facts, setFacts] = createSignal<Facts | null>(null);
  const [folded, setFolded] = createSignal(false);

  const put = (file: "start" | "solution") => {
    const title = `“${titleOf(props.name)}”`;
    const what = file === "start" ? `${title} was started again` : `The solution of ${title}`;
    void app.openOwn(props.name, file, what);
  };
  const load = async (name: string): Promise<Loaded | null> => {
    setFailure("");
    forget();
    setFacts(null);
    setAnswer(-1);
    try {
      const lesson = JSON.parse(await fileOf(name, "lesson")) as Lesson;
      const prose = await fileOf(name, "prose");
      const programs: Record<string, string> = {};
      const trials = trialsOf(lesson);
      const named = [undefined, ...trials].flatMap((trial) => comparedWith(lesson, trial));
      for (const file of [...named, ...trials]) {
        programs[file] = (await app.programOf(await fileOf(name, file))) ?? "";
      }
      return { name, lesson, prose, programs };
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      return null;
    }
  };
  const [loaded] = createResource(() => props.name, load);
  // Not of a lesson that was open at the last visit.
  onMount(() => createEffect(on(app.lessonBegun, (count) => count > 0 && heading.focus())));

  /** Judges the newest answer, once it is about the present document. */
  const look = async (one: Loaded) => {
    const { good, document, stale, gaveUp, answers } = state();
    const failed = stale || gaveUp !== "";
    if (!failed && good?.document !== document) return;
    let found: Facts = { document, run: null, result: "", comparisons: {} };
    if (!failed && good) {
      const last = good.run.steps.filter((step) => step.depth === 0).at(-1)?.after ?? 0;
      const result = await app.textOf(last);
      if (result === null) return;
      const comparisons: Facts["comparisons"] = {};
      for (const name of comparedWith(one.lesson)) {
        const comparison = await app.compare(last, one.programs[name] ?? "");
        if (comparison) comparisons[name] = comparison;
      }
      found = { document, run: good.run, result, comparisons };
      // An engine of its own for each: only once the program that is seen is right.
      const here = one.lesson.goals.filter(({ on, answered: asked }) => !on && !asked);
      if (state().trust === "own" && here.every((goal) => holds(goal, found)))
        found.trials = await tried(one, found.document);
    }
    // The same document is run again once its script may run: the findings of the run before came too late.
    const now = state();
    if (now.document !== document || now.answers !== answers || now.gaveUp !== gaveUp) return;
    if (props.name !== one.name) return;
    setFacts(found);
    forget();
  };
  /** Runs the learner's passes on the other programs of the lesson. */
  const tried = async ({ lesson, programs }: Loaded, document: Facts["document"]) => {
    const trials: Record<string, Facts> = {};
    for (const trial of trialsOf(lesson)) {
      const other = { ...document, source: programs[trial] ?? "" };
      const wanted = comparedWith(lesson, trial).map((name) => [name, programs[name] ?? ""]);
      const { script } = document;
      const spawn = script.trim() ? () => app.spawnSandbox(script) : app.spawn;
      const ran = await runAside(spawn, other, Object.fromEntries(wanted));
      trials[trial] = { document: other, ...ran };
    }
    return trials;
  };
  createEffect(() => {
    const one = loaded();
    // Depends on the newest answer, and on an engine that gave up.
    state().answers;
    state().gaveUp;
    if (one && one.name === props.name) void look(one);
  });

  const options = () => loaded()?.lesson.question?.options ?? [];
  const answered = () => options()[answer()]?.right ?? false;
  const done = (goal: Lesson["goals"][number]) => {
    const found = facts();
    return found !== null && holds(goal, { ...found, answered: answered() });
  };
  const all = () => (loaded()?.lesson.goals ?? []).every(done) && facts() !== null;
  createEffect(() => all() && app.lessons.finish(props.name));
  const shown = () => app.lessons.isShown(props.name);
  const finished = () => course.filter((name) => app.lessons.done().includes(name)).length;
  // The pressed button may be gone with the last goal: the focus moves to its successor.
  createEffect(
    on(all, (now) => {
      if (now && document.activeElement === document.body) (onward ?? heading).focus();
    }),
  );
  const index = () => (course as readonly string[]).indexOf(props.name);
  const next = () => course[index() + 1];

  return (
    <section
      class="lesson"
      aria-label="Lesson"
      classList={{ folded: folded(), beside: props.beside }}
    >
      <div class="pane-head">
        <h2 tabIndex={-1} ref={heading}>
          {`${index() + 1}/${course.length} ${titleOf(props.name)}`}
        </h2>
        <span class="grow" />
        <Show when={!props.beside}>
          <button type="button" aria-expanded={!folded()} onClick={() => setFolded(!folded())}>
            {folded() ? "Show" : "Hide"}
          </button>
        </Show>
        <button
          type="button"
          class="icon"
          aria-label="Close lesson"
          onClick={() => app.dispatch({ type: "close-lesson" })}
        >
          ✕
        </button>
      </div>
      <Show when={props.beside || !folded()}>
        <div class="lesson-body">
          <Show when={failure()}>
            <p class="wrong" role="alert">
              {failure()}
            </p>
          </Show>
          <Show when={loaded()} fallback={<p class="quiet">Loading…</p>}>
            {(one) => (
              <>
                <Prose text={one().prose} />
                <Show when={one().lesson.question}>
                  {(question) => (
                    <fieldset class="question">
                      <legend>{question().ask}</legend>
                      <For each={question().options}>
                        {(option, at) => (
                          <label class="box">
                            <input
                              type="radio"
                              name={`question-${one().name}`}
                              checked={answer() === at()}
                              onChange={() => setAnswer(at())}
                            />
                            {option.say}
                          </label>
                        )}
                      </For>
                      <p role="status" aria-label="Answer" classList={{ right: answered() }}>
                        <Show when={question().options[answer()]}>
                          {(chosen) => (
                            <>
                              <strong>{chosen().right ? "Right." : "Not quite."}</strong>{" "}
                              {chosen().why}
                            </>
                          )}
                        </Show>
                      </p>
                    </fieldset>
                  )}
                </Show>
                <ul aria-label="Goals" class="goals">
                  <For each={one().lesson.goals}>
                    {(goal) => (
                      <li classList={{ done: done(goal) }}>
                        <span aria-hidden="true">{done(goal) ? "✓" : "○"}</span> {goal.say}
                        <span class="sr">{done(goal) ? ": done" : ": to do"}</span>
                      </li>
                    )}
                  </For>
                </ul>
                <p role="status" aria-label="Hint" class="hint">
                  <Show when={all()} fallback={hint() ? <Prose text={hint()} /> : ""}>
                    <Show
                      when={!shown()}
                      fallback="This is the solution. Start again and do it yourself, and the lesson is done."
                    >
                      <strong>Done.</strong> Your answer is right.
                    </Show>
                  </Show>
                </p>
                <Show when={all() && !next()}>
                  <section class="the-end" aria-label="The end of the course">
                    <h3>This was the last lesson</h3>
                    <p>
                      {finished()} of {course.length} are done.{" "}
                      {finished() === course.length
                        ? "You have read programs, written visitors, mutators, passes and instruments, and found a wrong one. "
                        : "All lessons shows the ones that are left. "}
                      Now open a program of your own with <em>Open</em>: Relay, a TVMScript module,
                      or the folder that TVM's DumpIR wrote.
                    </p>
                  </section>
                </Show>
              </>
            )}
          </Show>
          <div class="lesson-buttons">
            <Show when={all() && next()}>
              {(name) => (
                <button
                  type="button"
                  class="primary"
                  ref={onward}
                  onClick={() => void app.openLesson(name())}
                >
                  Next lesson
                </button>
              )}
            </Show>
            <Show when={!all()}>
              <button
                type="button"
                disabled={!facts() || !loaded()}
                onClick={() => {
                  const [one, found] = [loaded(), facts()];
                  if (!one || !found) return;
                  if (rung() === 0) setHints(hintsFor(one.lesson, found));
                  setRung(Math.min(hints().length, rung() + 1));
                }}
              >
                {rung() > 0 && rung() < hints().length ? "Stronger hint" : "Hint"}
              </button>
              <button type="button" onClick={() => put("solution")}>
                Show solution
              </button>
            </Show>
            <button type="button" onClick={() => put("start")}>
              Start again
            </button>
            <button type="button" onClick={() => app.panels.open({ name: "lessons" })}>
              All lessons
            </button>
          </div>
        </div>
      </Show>
    </section>
  );
}
