/** The course: every lesson with its state, and the progress to keep elsewhere. */
import { For, onMount } from "solid-js";
import { useApp } from "../panels/context";
import { saveFile } from "../state/save";
import { course, titleOf, whatOf } from ".";
import "./lessons.css";

export default function LessonList(props: { onClose(): void }) {
  const app = useApp();
  let dialog!: HTMLDialogElement;
  onMount(() => dialog.showModal());
  const done = (name: string) => app.lessons.done().includes(name);

  return (
    <dialog
      ref={dialog}
      class="course"
      aria-label="Lessons"
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog) dialog.close();
      }}
    >
      <h2>Lessons</h2>
      <p class="quiet">
        Short exercises in this page, with your own program kept one click away. Each has a task,
        goals that are checked as you work, and hints.
      </p>
      <ol aria-label="Course">
        <For each={course}>
          {(name) => (
            <li>
              <button
                type="button"
                onClick={() => {
                  dialog.close();
                  void app.openLesson(name);
                }}
              >
                <span aria-hidden="true">{done(name) ? "✓" : "○"}</span> {titleOf(name)}
                <span class="sr">{done(name) ? ", done" : ""}</span>
                <span class="what">{whatOf(name)}</span>
              </button>
            </li>
          )}
        </For>
      </ol>
      <p class="lesson-buttons">
        <span class="quiet grow">{`${course.filter(done).length} of ${course.length} done`}</span>
        <button
          type="button"
          onClick={() => saveFile("passlab-progress.json", app.lessons.save(), "application/json")}
        >
          Save progress
        </button>
        <button type="button" onClick={() => dialog.close()}>
          Close
        </button>
      </p>
    </dialog>
  );
}
