/** Finds the step after which a property is lost, and makes program and list small. Loaded on demand. */
import { createSignal, For, onCleanup, onMount, Show } from "solid-js";
import type { EngineClient } from "../engine/client";
import type { Culprit, Reduced, RunDocument } from "../engine/protocol";
import { bugReport } from "../share/report";
import { asideEngine } from "../state/aside";
import { callError, findPass } from "../state/calls";
import { saveFile } from "../state/save";
import { countOf } from "../state/steps";
import { toSend } from "../state/trust";
import { useApp } from "./context";
import { Words } from "./Words";
import "../styles/sheet.css";
import "../styles/culprit.css";

/** Properties to begin with. */
const PROPERTIES = [
  ["check", "Every step keeps what the program computes"],
  ["verify", "Every version is well-formed"],
  ["diagnostic", "No step fails or reports something"],
  ["contains:", "Every version has a text in it"],
  ["not:contains:", "No version has a text in it"],
  ["count:nn.conv2d>=1", "An operator is called so often"],
] as const;

/** Candidates between two looks at what was found; of a script's passes, which may be slow. */
const TRIES = 20;
const TRIES_OF_A_SCRIPT = 4;

type Hunt = ReturnType<typeof createHunt>;

/** Runs the document in an engine of its own, which a later question ends. */
function createAside(document: RunDocument) {
  const app = useApp();
  const [said, setSaid] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  let client: EngineClient | null = null;
  let turn = 0;

  const stop = () => {
    turn++;
    client?.dispose();
    client = null;
    setBusy(false);
  };
  onCleanup(stop);

  /** An engine with the run in it; null if it cannot be run, or something else was asked meanwhile. */
  async function begin(other = document): Promise<EngineClient | null> {
    stop();
    const mine = turn;
    setSaid("Running…");
    setBusy(true);
    const engine = asideEngine(
      document.script ? () => app.spawnSandbox(document.script) : app.spawn,
    );
    client = engine;
    const run = await engine.ask({ type: "run", document: other });
    if (mine !== turn) return null;
    if (run.status === "answered" && run.value.ok) return engine;
    stop();
    setSaid("The program cannot be run.");
    return null;
  }
  return { said, setSaid, busy, stop, begin, turn: () => turn };
}

/** Looks for the culprit, and for a smaller program with it. */
function createHunt() {
  const { document } = toSend(useApp().state());
  const [property, setProperty] = createSignal("check");
  const [culprit, setCulprit] = createSignal<Culprit | null>(null);
  const [small, setSmall] = createSignal<Reduced | null>(null);
  const { said, setSaid, busy, stop, begin, turn } = createAside(document);
  const forget = () => {
    setCulprit(null);
    setSmall(null);
  };

  async function search(): Promise<void> {
    forget();
    const engine = await begin();
    const mine = turn();
    if (!engine) return;
    const reply = await engine.ask({ type: "bisect", property: property() });
    if (mine !== turn()) return;
    stop();
    if (reply.status !== "answered") return void setSaid("It takes too long to be found here.");
    const { problem, culprit } = reply.value;
    setCulprit(culprit);
    setSaid(problem || (culprit ? "" : "The property holds after every step."));
  }

  async function reduce(): Promise<void> {
    forget();
    const engine = await begin();
    const mine = turn();
    if (!engine) return;
    for (let first = property(); ; first = "") {
      const tries = document.script ? TRIES_OF_A_SCRIPT : TRIES;
      const reply = await engine.ask({ type: "reduce", property: first, tries });
      if (mine !== turn()) return;
      if (reply.status !== "answered") {
        stop();
        setSaid(small() ? "It was stopped; this is the best so far." : "It takes too long here.");
        return;
      }
      if (reply.value.problem) {
        stop();
        return void setSaid(reply.value.problem);
      }
      // The script is ours: an answer of its sandbox does not change it.
      const found = reply.value.document && { ...reply.value.document, script: document.script };
      setSmall({ ...reply.value, document: found });
      setCulprit(reply.value.culprit);
      const { tried, bindings, done } = reply.value;
      const now = `${countOf(tried, "candidate")} tried, ${countOf(bindings, "binding")} left`;
      setSaid(done ? `${now}: it gets no smaller.` : `${now}…`);
      if (done) return document.script ? void confirm(now) : stop();
    }
  }

  /** Runs the smallest program with its script from the beginning: what a script keeps may have had a part in it. */
  async function confirm(now: string): Promise<void> {
    const { document: found, culprit: before } = small() ?? {};
    if (!found) return stop();
    const engine = await begin(found);
    const mine = turn();
    const reply = await engine?.ask({ type: "bisect", property: property() });
    if (mine !== turn()) return;
    stop();
    const again = reply?.status === "answered" ? reply.value.culprit : null;
    if (again?.name === before?.name) return void setSaid(`${now}: it gets no smaller.`);
    setSmall(null);
    setCulprit(null);
    setSaid(
      "What the script keeps from before has a part in it: the program cannot be made small.",
    );
  }
  return {
    document,
    property,
    setProperty,
    said,
    setSaid,
    culprit,
    small,
    busy,
    stop,
    search,
    reduce,
  };
}

export default function CulpritSheet(props: { reduce: boolean; onClose(): void }) {
  let dialog!: HTMLDialogElement;
  const hunt = createHunt();
  onMount(() => {
    dialog.showModal();
    void (props.reduce ? hunt.reduce() : hunt.search());
  });

  return (
    <dialog
      ref={dialog}
      class="sheet culprit"
      aria-label="Find the culprit"
      onClose={props.onClose}
    >
      <div class="sheet-head">
        <h2>{props.reduce ? "Reduce" : "Find the culprit"}</h2>
        <button type="button" onClick={props.onClose}>
          Close
        </button>
      </div>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void hunt.search();
        }}
      >
        <label class="grow">
          <span>Property</span>
          <input
            type="text"
            aria-label="Property"
            list="properties"
            value={hunt.property()}
            spellcheck={false}
            onInput={(event) => hunt.setProperty(event.currentTarget.value)}
          />
        </label>
        <datalist id="properties">
          <For each={PROPERTIES}>{([text, about]) => <option value={text}>{about}</option>}</For>
        </datalist>
        <button type="submit">Search</button>
        <button type="button" onClick={() => void hunt.reduce()}>
          Make it small
        </button>
        <Show when={hunt.busy()}>
          <button
            type="button"
            onClick={() => {
              hunt.stop();
              hunt.setSaid(hunt.small() ? "Stopped; this is the best so far." : "Stopped.");
            }}
          >
            Stop
          </button>
        </Show>
      </form>
      <p role="status">
        <Words text={hunt.said()} />
      </p>
      <Show when={hunt.culprit()}>
        {(found) => <CulpritResult found={found()} hunt={hunt} onClose={props.onClose} />}
      </Show>
      <Show when={hunt.small()?.document}>
        {(found) => <Smallest found={found()} hunt={hunt} onClose={props.onClose} />}
      </Show>
    </dialog>
  );
}

/** Shows the culprit, leads to its step, and makes the report of the bug. */
function CulpritResult(props: { found: Culprit; hunt: Hunt; onClose(): void }) {
  const app = useApp();
  const report = () => {
    const { catalogue } = app.state();
    const known = (call: string) =>
      callError(call) === "" && findPass(catalogue, call)?.available === true;
    return bugReport({
      document: props.hunt.small()?.document ?? {
        ...props.hunt.document,
        view: { step: "", view: "" },
      },
      culprit: props.hunt.culprit(),
      property: props.hunt.property(),
      version: catalogue?.version ?? "",
      link: app.linkOf,
      isKnown: known,
      spawn: app.spawn,
    });
  };
  const copy = async () => {
    const copied = await app.copyText(await report());
    props.hunt.setSaid(copied ? "Bug report copied." : "The browser does not let me copy.");
  };
  const save = async () => saveFile("bug-report.md", await report(), "text/markdown");

  return (
    <section aria-label="Culprit">
      <p>
        <Show when={props.found.id} fallback="The program does not have it before any pass: ">
          <strong>{props.found.name}</strong>
          <Show when={props.found.rewrite}>
            {(at) => ` in rewrite ${at()} of ${props.found.rewrites} (${props.found.rule})`}
          </Show>
          {": "}
        </Show>
        {props.found.why}
      </p>
      <div class="row">
        <Show when={!props.hunt.small() && props.found.id}>
          <button
            type="button"
            onClick={() => {
              props.onClose();
              app.dispatch({ type: "step", id: props.found.id });
            }}
          >
            Show the step
          </button>
        </Show>
        <button type="button" onClick={() => void copy()}>
          Copy bug report
        </button>
        <button type="button" onClick={() => void save()}>
          Save bug report
        </button>
      </div>
    </section>
  );
}

/** Shows the smallest program that still has the culprit, and opens it. */
function Smallest(props: { found: RunDocument; hunt: Hunt; onClose(): void }) {
  const app = useApp();
  const take = async () => {
    const found = props.hunt.small()?.document;
    if (!found) return;
    props.hunt.stop();
    props.onClose();
    const text = await app.written(found);
    if (text !== null)
      await app.importText(text, `Reduced: ${props.hunt.culprit()?.name ?? "the program"}`);
  };

  return (
    <section aria-label="Smallest program">
      <p>
        Passes: <code>{props.found.passes.map((pass) => pass.call).join(", ")}</code>
      </p>
      <pre tabIndex={0}>{props.found.source}</pre>
      <button type="button" onClick={() => void take()}>
        Open it
      </button>
    </section>
  );
}
