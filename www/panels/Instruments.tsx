import { createMemo, createSignal, Show } from "solid-js";
import { useApp } from "./context";
import { Lines } from "./Lines";
import { columnsOf, plainLines, type Room } from "./lines";

/** What the instruments printed. A whole module per pass is a lot, so it is drawn like a diff: only what is visible. */
export function Instruments() {
  const app = useApp();
  const log = createMemo(() => app.state().good?.run.log ?? []);
  const [closed, setClosed] = createSignal(false);
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  const lines = createMemo(() =>
    plainLines(log().join("\n"), {
      split: false,
      types: app.state().preferences.types,
      columns: app.state().preferences.wrap ? columnsOf(room()).plain : Number.POSITIVE_INFINITY,
      open: open(),
      context: 3,
    }),
  );
  return (
    <Show when={log().length > 0}>
      <section class="instruments" classList={{ closed: closed() }}>
        <div class="pane-head">
          <h2>Instruments</h2>
          <span class="quiet grow">{lines().length.toLocaleString("en")} lines</span>
          <button type="button" aria-expanded={!closed()} onClick={() => setClosed(!closed())}>
            {closed() ? "Show" : "Hide"}
          </button>
        </div>
        {/* Silent: a run prints more than anybody wants to hear. */}
        <div role="log" aria-label="Instruments" aria-live="off" hidden={closed()}>
          <Lines
            lines={lines()}
            label="Output of the instruments"
            plain
            subject=""
            onOpen={(id) => setOpen(new Set([...open(), id]))}
            onRoom={setRoom}
          />
        </div>
      </section>
    </Show>
  );
}
