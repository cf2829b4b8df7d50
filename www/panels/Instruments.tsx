import { createMemo, createSignal, Show } from "solid-js";
import { instrumentName, logText } from "../state/instruments";
import { saveFile } from "../state/save";
import { useApp } from "./context";
import { Lines } from "./Lines";
import { columnsOf, plainLines, type Room } from "./lines";
import { Toggle } from "./Toggle";

/**
 * Shows the calls of instruments and the output of instruments and passes, in the order of events. A whole module per
 * pass is a lot, so it is drawn like a diff: only the visible part.
 */
export function Instruments() {
  const app = useApp();
  const run = createMemo(() => app.state().good?.run);
  const log = createMemo(() => run()?.log ?? []);
  const [closed, setClosed] = createSignal(false);
  /** Shows the calls of hooks if nothing was printed; else on demand. */
  const [asked, setAsked] = createSignal<boolean | null>(null);
  const hooks = createMemo(
    () => asked() ?? logText(log(), run()?.steps ?? [], false).trim() === "",
  );
  const [open, setOpen] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [room, setRoom] = createSignal<Room>(
    { characters: 80, digits: 2 },
    { equals: (a, b) => a.characters === b.characters && a.digits === b.digits },
  );
  const lines = createMemo(() =>
    plainLines(logText(log(), run()?.steps ?? [], hooks()), {
      split: false,
      types: app.state().preferences.types,
      columns: app.state().preferences.wrap ? columnsOf(room()).plain : Number.POSITIVE_INFINITY,
      open: open(),
      context: 3,
    }),
  );
  const dumps = () =>
    (app.state().good?.document.instruments ?? []).some(
      (call) => instrumentName(call) === "DumpIR",
    );
  const download = async () => {
    const reply = await app.dump();
    const files = reply.status === "answered" ? reply.value : [];
    if (files.length === 0) return;
    const name = `${files[0]?.name.split("/")[0] ?? "dump"}.zip`;
    const { zip } = await import("../state/zip");
    saveFile(name, zip(files), "application/zip");
  };
  return (
    <Show when={log().length > 0}>
      <section class="instruments" classList={{ closed: closed() }}>
        <div class="pane-head">
          <h2>Instruments</h2>
          <span class="quiet grow">{lines().length.toLocaleString("en")} lines</span>
          <Show when={dumps()}>
            <button type="button" onClick={() => void download()}>
              Download dump
            </button>
          </Show>
          <Show when={!closed()}>
            <Toggle
              label="Calls"
              title="Show which hook of which instrument was called"
              on={hooks()}
              onChange={setAsked}
            />
          </Show>
          <button type="button" aria-expanded={!closed()} onClick={() => setClosed(!closed())}>
            {closed() ? "Show" : "Hide"}
          </button>
        </div>
        {/* Silent: a run prints more than a user wants to hear. */}
        <div role="log" aria-label="Instruments" aria-live="off" hidden={closed()}>
          <Lines
            lines={lines()}
            label="Log of the instruments"
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
