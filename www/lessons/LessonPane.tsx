/** The open lesson above the program: its text, its goals, the finished ones. Loaded when a lesson is opened. */
import { createEffect, createSignal, For, on, onMount, Show } from "solid-js";
import { useApp } from "../panels/context";
import { Prose } from "../panels/prose";
import { course, titleOf } from ".";
import { type Attempt, createAttempt, type Loaded } from "./attempt";
import type { Lesson } from "./judge";
import "./lessons.css";

export default function LessonPane(props: {
  name: string;
  /** It has a column of its own. */
  beside?: boolean;
}) {
  const app = useApp();
  let heading!: HTMLHeadingElement;
  let onward: HTMLButtonElement | undefined;
  const attempt = createAttempt(props);
  const { all, facts, loaded } = attempt;
  const [folded, setFolded] = createSignal(false);

  const put = (file: "start" | "solution") => {
    const title = `“${titleOf(props.name)}”`;
    const what = file === "start" ? `${title} was started again` : `The solution of ${title}`;
    void app.openOwn(props.name, file, what);
  };
  // Not of a lesson that was open at the last visit.
  onMount(() => createEffect(on(app.lessonBegun, (count) => count > 0 && heading.focus())));
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
          <Show when={attempt.failure()}>
            <p class="wrong" role="alert">
              {attempt.failure()}
            </p>
          </Show>
          <Show when={loaded()} fallback={<p class="quiet">Loading…</p>}>
            {(one) => <Work of={one()} attempt={attempt} last={!next()} />}
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
              <button type="button" disabled={!facts() || !loaded()} onClick={attempt.askHint}>
                {attempt.hasStronger() ? "Stronger hint" : "Hint"}
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

/** Shows the text of the lesson and how far the learner came: the answer, the goals, a hint. */
function Work(props: { of: Loaded; attempt: Attempt; last: boolean }) {
  const app = useApp();
  const shown = () => app.lessons.isShown(props.of.name);
  return (
    <>
      <Prose text={props.of.prose} />
      <Show when={props.of.lesson.question}>
        {(question) => (
          <Question asked={question()} lesson={props.of.name} attempt={props.attempt} />
        )}
      </Show>
      <ul aria-label="Goals" class="goals">
        <For each={props.of.lesson.goals}>
          {(goal) => (
            <li classList={{ done: props.attempt.done(goal) }}>
              <span aria-hidden="true">{props.attempt.done(goal) ? "✓" : "○"}</span> {goal.say}
              <span class="sr">{props.attempt.done(goal) ? ": done" : ": to do"}</span>
            </li>
          )}
        </For>
      </ul>
      <p role="status" aria-label="Hint" class="hint">
        <Show
          when={props.attempt.all()}
          fallback={props.attempt.hint() ? <Prose text={props.attempt.hint()} /> : ""}
        >
          <Show
            when={!shown()}
            fallback="This is the solution. Start again and do it yourself, and the lesson is done."
          >
            <strong>Done.</strong> Your answer is right.
          </Show>
        </Show>
      </p>
      <Show when={props.attempt.all() && props.last}>
        <TheEnd />
      </Show>
    </>
  );
}

/** Asks a question with answers to choose from, and says why the chosen one is right or not. */
function Question(props: {
  asked: NonNullable<Lesson["question"]>;
  lesson: string;
  attempt: Attempt;
}) {
  return (
    <fieldset class="question">
      <legend>{props.asked.ask}</legend>
      <For each={props.asked.options}>
        {(option, at) => (
          <label class="box">
            <input
              type="radio"
              name={`question-${props.lesson}`}
              checked={props.attempt.answer() === at()}
              onChange={() => props.attempt.setAnswer(at())}
            />
            {option.say}
          </label>
        )}
      </For>
      <p role="status" aria-label="Answer" classList={{ right: props.attempt.answered() }}>
        <Show when={props.asked.options[props.attempt.answer()]}>
          {(chosen) => (
            <>
              <strong>{chosen().right ? "Right." : "Not quite."}</strong> {chosen().why}
            </>
          )}
        </Show>
      </p>
    </fieldset>
  );
}

/** Says that the course is at its end, and how one goes on. */
function TheEnd() {
  const app = useApp();
  const finished = () => course.filter((name) => app.lessons.done().includes(name)).length;
  return (
    <section class="the-end" aria-label="The end of the course">
      <h3>This was the last lesson</h3>
      <p>
        {finished()} of {course.length} are done.{" "}
        {finished() === course.length
          ? "You have read programs, written visitors, mutators, passes and instruments, and found a wrong one. "
          : "All lessons shows the ones that are left. "}
        Now open a program of your own with <em>Open</em>: Relay, a TVMScript module, or the folder
        that TVM's DumpIR wrote.
      </p>
    </section>
  );
}
