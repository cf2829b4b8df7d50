/** The one line of chrome: the example, the pipeline and opt level, and the ways to share. */
import { createMemo, createSignal, For, Show } from "solid-js";
import { examples } from "../examples";
import { matchingPipeline } from "../state/calls";
import type { Theme } from "../state/model";
import { keyLabel } from "./commands";
import { useApp } from "./context";
import { focusStays, late } from "./late";
import { Part } from "./Part";

const ShareMenu = late(() => import("../share/ShareMenu"));

const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const themeMark: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };
const groups = ["Networks", "Passes", "Schedules", "Language"] as const;

export function Header() {
  const app = useApp();
  const state = app.state;
  const [said, setSaid] = createSignal("");
  const [sharing, setSharing] = createSignal(false);
  let shareButton!: HTMLButtonElement;
  const theme = () => state().preferences.theme;
  let clear: ReturnType<typeof setTimeout> | undefined;

  const share = async () => {
    clearTimeout(clear);
    setSaid("");
    const stayed = focusStays();
    setSaid(await app.share());
    if (stayed()) setSharing(true);
    clear = setTimeout(() => setSaid(""), 6000);
  };
  app.panels.offer({ share: () => void share() });

  return (
    <header>
      <h1>passlab</h1>
      <Examples />
      <Pipelines />
      <div class="field">
        <span aria-hidden="true">Opt level</span>
        <div class="levels" role="radiogroup" aria-label="Opt level">
          <For each={[0, 1, 2, 3, 4]}>
            {(level) => (
              <label>
                <input
                  type="radio"
                  name="opt-level"
                  value={level}
                  checked={state().document.optLevel === level}
                  onChange={() => app.dispatch({ type: "opt-level", level })}
                />
                <span>{level}</span>
              </label>
            )}
          </For>
        </div>
      </div>
      <span class="said" role="status">
        {said()}
      </span>
      <EngineStatus />
      <button
        type="button"
        class="find"
        aria-haspopup="dialog"
        title="Find a command by its name"
        onClick={() => app.panels.open({ name: "palette" })}
      >
        Commands <kbd>{keyLabel("Mod k")}</kbd>
      </button>
      <button
        type="button"
        aria-haspopup="dialog"
        title="A course in short exercises (L)"
        onClick={() => app.panels.open({ name: "lessons" })}
      >
        Lessons
      </button>
      <button
        type="button"
        class="icon"
        aria-label={`Theme: ${theme()}`}
        title={`Theme: ${theme()}`}
        onClick={() => app.dispatch({ type: "prefer", change: { theme: nextTheme[theme()] } })}
      >
        {themeMark[theme()]}
      </button>
      <button
        type="button"
        class="icon"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => app.panels.open({ name: "help" })}
      >
        ?
      </button>
      <button
        type="button"
        class="primary"
        aria-haspopup="dialog"
        aria-expanded={sharing()}
        ref={shareButton}
        onClick={() => void share()}
      >
        Share
      </button>
      <Show when={sharing()}>
        <Part>
          <ShareMenu anchor={shareButton} onClose={() => setSharing(false)} />
        </Part>
      </Show>
    </header>
  );
}

/** Chooses an example. */
function Examples() {
  const app = useApp();
  const state = app.state;
  const choose = async (select: HTMLSelectElement) => {
    await app.openExample(select.value);
    // If the example could not be loaded, the selection goes back to the present one.
    select.value = state().example;
  };
  return (
    <label class="field">
      <span>Example</span>
      <select
        aria-label="Example"
        value={state().example}
        onChange={(event) => void choose(event.currentTarget)}
      >
        <Show when={state().example === ""}>
          <option value="">Your program</option>
        </Show>
        <For each={groups}>
          {(group) => (
            <optgroup label={group}>
              <For each={examples.filter((example) => example.group === group)}>
                {(example) => (
                  <option value={example.id} selected={state().example === example.id}>
                    {example.title}
                  </option>
                )}
              </For>
            </optgroup>
          )}
        </For>
      </select>
    </label>
  );
}

/** Chooses a pipeline. */
function Pipelines() {
  const app = useApp();
  const state = app.state;
  const pipeline = createMemo(() => matchingPipeline(state().catalogue, state().document));
  /**
   * The pipelines for the program's dialect, and the chosen one. While the program has not run, a list of the other
   * dialect may be the reason: then all are offered.
   */
  const pipelines = createMemo(() => {
    const { catalogue, good, stale } = state();
    const dialect = good?.run.dialect ?? "relay";
    const chosen = pipeline()?.name;
    return (catalogue?.pipelines ?? []).filter(
      (item) => stale || item.dialect === dialect || item.name === chosen,
    );
  });
  return (
    <label class="field">
      <span>Pipeline</span>
      <select
        aria-label="Pipeline"
        value={pipeline()?.name ?? ""}
        disabled={!state().catalogue}
        onChange={(event) => app.choosePipeline(event.currentTarget.value)}
      >
        <Show when={!pipeline()}>
          <option value="">Your passes</option>
        </Show>
        <For each={pipelines()}>
          {(item) => (
            <option value={item.name} selected={pipeline()?.name === item.name}>
              {item.title || item.name}
            </option>
          )}
        </For>
      </select>
    </label>
  );
}

/** Says when the engine is slow, starting again or given up; when all is well it gives the time of the last run. */
function EngineStatus() {
  const app = useApp();
  const engine = () => app.state().engine;
  const words = () => {
    switch (engine().phase) {
      case "starting":
        return "Engine starting…";
      case "restarting":
        return "Engine restarting; your program is safe";
      case "slow":
        return engine().job === "run" ? "Still running…" : "Still working…";
      case "dead":
        return "Engine stopped";
      default:
        return "";
    }
  };
  return (
    <span class="engine">
      <span role="status" aria-label="Engine">
        {words()}
      </span>
      <Show when={engine().phase === "slow"}>
        <button type="button" onClick={() => app.stop()}>
          Stop
        </button>
      </Show>
      <Show when={engine().phase === "dead"}>
        <button type="button" onClick={() => app.again()}>
          Start again
        </button>
      </Show>
    </span>
  );
}
