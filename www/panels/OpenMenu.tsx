/** Opens programs: from a file, a folder, or earlier work. Loaded on demand. */
import { createSignal, For, Show } from "solid-js";
import type { Work } from "../state/works";
import { useApp } from "./context";
import { Popover } from "./Popover";

/** Returns a time relative to now, in words. */
export function when(at: number, now: number): string {
  if (at === 0) return "earlier";
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return minutes === 1 ? "a minute ago" : `${minutes} minutes ago`;
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date(now).toDateString()) return `today, ${time}`;
  return `${date.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}

export default function OpenMenu(props: { anchor: HTMLElement; onClose(): void }) {
  const app = useApp();
  const [works] = createSignal(app.works());
  const now = Date.now();
  const open = (work: Work) => {
    props.onClose();
    void app.openWork(work.id);
  };
  const ask = (what: "openFile" | "openFolder") => {
    props.onClose();
    app.panels[what]();
  };
  return (
    <Popover anchor={props.anchor} label="Open" onClose={props.onClose} wide>
      <div class="open-menu">
        <div class="buttons">
          <button type="button" data-first onClick={() => ask("openFile")}>
            Open file
          </button>
          <button type="button" onClick={() => ask("openFolder")}>
            Open folder of DumpIR
          </button>
        </div>
        <p class="quiet">A program or a reproducer can also be dropped or pasted anywhere.</p>
        <h3>Earlier work</h3>
        <Show
          when={works().length > 0}
          fallback={
            <p class="quiet">
              What makes way for a link, a lesson or an example is listed here, with other tabs.
            </p>
          }
        >
          <ul aria-label="Earlier work">
            <For each={works()}>
              {(work) => (
                <li>
                  <button type="button" onClick={() => open(work)}>
                    <span class="title">{work.title}</span>
                    <span class="quiet">{when(work.at, now)}</span>
                    <span class="quiet why">{work.why || "in another tab"}</span>
                  </button>
                </li>
              )}
            </For>
          </ul>
        </Show>
      </div>
    </Popover>
  );
}
