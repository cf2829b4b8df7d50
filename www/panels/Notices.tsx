/** Shows the page's messages: on the user's work, on a link with code in it, on an engine that gave up. */
import { For, Show } from "solid-js";
import { useApp } from "./context";

/** The messages to be answered before anything else: they stand above the panes. */
export function Banners() {
  const app = useApp();
  const state = app.state;
  return (
    <aside aria-label="Banners">
      <Show when={state().gaveUp && state().good}>
        <div class="notice error" role="alert">
          <span>{state().gaveUp}</span>
          <button type="button" onClick={() => app.again()}>
            Run again
          </button>
        </div>
      </Show>
      <Show when={state().trust === "ask"}>
        <Consent />
      </Show>
      {/* From the first moment on: what comes later would push the panes down. */}
      <Show when={state().preferences.hint && !state().lesson}>
        <Hint />
      </Show>
    </aside>
  );
}

/** The messages that can be undone: below the panes, where they cover nothing and move no line of a diff. */
export function Notices(props: { onUpdate(): void }) {
  const app = useApp();
  return (
    <aside aria-label="Notices" class="notices">
      <For each={app.state().notices}>
        {(notice) => (
          <div class={`notice ${notice.tone}`} role={notice.tone === "error" ? "alert" : "status"}>
            <span>{notice.text}</span>
            <Show when={notice.action}>
              <button
                type="button"
                onClick={() => (notice.action === "reload" ? props.onUpdate() : app.act(notice))}
              >
                {notice.label}
              </button>
            </Show>
            <Dismiss onClick={() => app.dispatch({ type: "dismiss", notice })} />
          </div>
        )}
      </For>
    </aside>
  );
}

function Dismiss(props: { onClick(): void }) {
  return (
    <button type="button" class="icon" aria-label="Dismiss" onClick={props.onClick}>
      ✕
    </button>
  );
}

/** Asks if the code of a link may run. */
function Consent() {
  const app = useApp();
  return (
    <div class="notice ask" role="alert">
      <span>
        <strong>This link brings passes of its own, in JavaScript.</strong> Read them under{" "}
        <em>My passes</em>; they run only if you say so, in a sandbox without network and storage.
      </span>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => app.decideScript("own")}>
          Run
        </button>
        <button type="button" onClick={() => app.decideScript("held")}>
          Keep without
        </button>
      </div>
    </div>
  );
}

/** Without a pointer that hovers there is hardly a keyboard. */
const HANDHELD = "(hover: none)";

/** The hint for a first visit. */
function Hint() {
  const app = useApp();
  const handheld = window.matchMedia(HANDHELD).matches;
  return (
    <div class="notice hint">
      <span>
        passlab shows what each pass of the TVM compiler does to a program.{" "}
        <Show when={app.step()?.outcome === "changed"}>
          Here <strong>{app.step()?.name}</strong> changed it.{" "}
        </Show>
        <Show when={!handheld} fallback="Swipe the result for the next step, or ">
          Press <kbd>n</kbd> for the next change, edit anything, or{" "}
        </Show>
        <button type="button" class="link" onClick={() => void app.openFirstLesson()}>
          begin with the first lesson
        </button>
        .
      </span>
      <Dismiss onClick={() => app.dispatch({ type: "prefer", change: { hint: false } })} />
    </div>
  );
}
