/** What the page has to say: about one's work, about a link with code in it, about an engine that gave up. */
import { For, Show } from "solid-js";
import { useApp } from "./context";

/** What the page is about before anything else: it stands above the panes. */
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
      <Show when={state().preferences.hint}>
        <Hint />
      </Show>
    </aside>
  );
}

/** What was done and can be taken back: below the panes, where it covers nothing and moves no line of a diff. */
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

/** A link brought code: whether it may run. */
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

/** What a first visit is told. */
function Hint() {
  const app = useApp();
  return (
    <div class="notice hint">
      <span>
        <Show
          when={app.step()?.outcome === "changed"}
          fallback="These passes run over this program. "
        >
          This is what <strong>{app.step()?.name}</strong> did to the program.{" "}
        </Show>
        Press <kbd>n</kbd> for the next step that changed something, or edit the program: everything
        runs again as you type.
      </span>
      <Dismiss onClick={() => app.dispatch({ type: "prefer", change: { hint: false } })} />
    </div>
  );
}
