/** The open lesson above the program: what it is about, what is to do, what is done. Loaded when a lesson is opened. */
import { createEffect, createResource, createSignal, For, on, onMount, Show } from "solid-js";
import { useApp } from "../panels/context";
import { course, fileOf, titleOf } from ".";
import { comparedWith, type Facts, hintFor, holds, type Lesson } from "./judge";
import { Prose } from "./prose";
import "./lessons.css";

/** A lesson with its texts. */
interface Loaded {
  name: string;
  lesson: Lesson;
  prose: string;
  /** The programs that results are compared with, by their names. */
  programs: Record<string, string>;
}

export default function LessonPane(props: { name: string }) {
  const app = useApp();
  const state = app.state;
  let heading!: HTMLHeadingElement;
  let onward: HTMLButtonElement | undefined;
  const [failure, setFailure] = createSignal("");
  const [hint, setHint] = createSignal("");
  const [facts, setFacts] = createSignal<Facts | null>(null);
  const [folded, setFolded] = createSignal(false);

  const put = (file: "start" | "solution") => {
    const title = `“${titleOf(props.name)}”`;
    const what = file === "start" ? `${title} was started again` : `The solution of ${title}`;
    void app.openOwn(props.name, file, what);
  };
  const load = async (name: string): Promise<Loaded | null> => {
    setFailure("");
    setHint("");
    setFacts(null);
    try {
      const lesson = JSON.parse(await fileOf(name, "lesson")) as Lesson;
      const prose = await fileOf(name, "prose");
      const programs: Record<string, string> = {};
      for (const file of comparedWith(lesson)) {
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

  /** Looks at the newest answer, once it is about what is on the page. */
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
      for (const [name, source] of Object.entries(one.programs)) {
        const comparison = await app.compare(last, source);
        if (comparison) comparisons[name] = comparison;
      }
      found = { document, run: good.run, result, comparisons };
    }
    // The same document is run again once its script may run: what was found of the run before came too late.
    const now = state();
    if (now.document !== document || now.answers !== answers || now.gaveUp !== gaveUp) return;
    if (props.name !== one.name) return;
    setFacts(found);
    setHint("");
    if (one.lesson.goals.every((goal) => holds(goal, found))) app.lessons.finish(one.name);
  };
  createEffect(() => {
    const one = loaded();
    // What it depends on: the newest answer, and whether the engine gave up.
    state().answers;
    state().gaveUp;
    if (one && one.name === props.name) void look(one);
  });

  const done = (goal: Lesson["goals"][number]) => {
    const found = facts();
    return found !== null && holds(goal, found);
  };
  const all = () => (loaded()?.lesson.goals ?? []).every(done) && facts() !== null;
  // The button that was pressed may be gone with the last goal: the way goes on from what stands there now.
  createEffect(
    on(all, (now) => {
      if (now && document.activeElement === document.body) (onward ?? heading).focus();
    }),
  );
  const index = () => (course as readonly string[]).indexOf(props.name);
  const next = () => course[index() + 1];

  return (
    <section class="lesson" aria-label="Lesson" classList={{ folded: folded() }}>
      <div class="pane-head">
        <h2 tabIndex={-1} ref={heading}>
          {`${index() + 1}/${course.length} ${titleOf(props.name)}`}
        </h2>
        <span class="grow" />
        <button type="button" aria-expanded={!folded()} onClick={() => setFolded(!folded())}>
          {folded() ? "Show" : "Fold"}
        </button>
        <button
          type="button"
          class="icon"
          aria-label="Close lesson"
          onClick={() => app.dispatch({ type: "close-lesson" })}
        >
          ✕
        </button>
      </div>
      <Show when={!folded()}>
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
                    <strong>Done.</strong> Your answer is right.
                  </Show>
                </p>
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
                  if (one && found) setHint(hintFor(one.lesson, found));
                }}
              >
                Hint
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
