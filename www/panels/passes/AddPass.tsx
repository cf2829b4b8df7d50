/** The picker of passes: type a few letters, choose, and the pass stands behind the step that was picked, or at the end of the list. */
import { createMemo, createSignal, For, onCleanup, onMount, Show } from "solid-js";
import type { PassDoc } from "../../engine/protocol";
import { ownPass } from "../../state/calls";
import { scriptPasses } from "../../state/model";
import { useApp } from "../context";
import { Popover } from "../Popover";
import { Inline } from "../prose";

/** The penalties for passes other than the user's own, and for those that cannot be run yet. */
const OTHERS = 1000;
const NOT_YET = 2000;

/** Passes whose name has the letters in order come first if they stand together. */
function ranked(passes: readonly PassDoc[], own: ReadonlySet<PassDoc>, filter: string): PassDoc[] {
  const wanted = filter.trim().toLowerCase();
  const scored = passes.flatMap((pass) => {
    const name = pass.name.toLowerCase();
    const at = name.indexOf(wanted);
    if (at >= 0) return [{ pass, score: at }];
    const initials = pass.name.replace(/[^A-Z0-9]/g, "").toLowerCase();
    if (initials.startsWith(wanted)) return [{ pass, score: 50 }];
    return pass.summary.toLowerCase().includes(wanted) ? [{ pass, score: 100 }] : [];
  });
  const order = (item: { pass: PassDoc; score: number }) =>
    (own.has(item.pass) ? 0 : item.pass.available ? OTHERS : NOT_YET) + (wanted ? item.score : 0);
  return scored
    .sort((a, b) => order(a) - order(b) || a.pass.name.localeCompare(b.pass.name))
    .map((item) => item.pass);
}

/** The words for the effect of a pass on the result of the run. */
const wouldWord: Record<string, string> = {
  changed: "● would change",
  unchanged: "○ no change",
  failed: "✕ would fail",
};

export default function AddPass(props: { anchor: HTMLElement; onClose(): void }) {
  const app = useApp();
  const [filter, setFilter] = createSignal("");
  const [active, setActive] = createSignal(0);
  const own = createMemo(() => new Set(scriptPasses(app.state()).map(ownPass)));
  /** The passes for the program's dialect: both may have a pass of one name. */
  const built = createMemo(() => {
    const { catalogue, good } = app.state();
    const dialect = good?.run.dialect ?? "relay";
    return (catalogue?.passes ?? []).filter((pass) => pass.dialects.includes(dialect));
  });
  const would = createPreviews(built);
  const [only, setOnly] = createSignal(false);
  const found = createMemo(() => {
    const passes = ranked([...own(), ...built()], own(), filter());
    return only() ? passes.filter((pass) => would().get(pass.name) !== "unchanged") : passes;
  });
  /** Says why there is nothing to choose. */
  const nothing = () => {
    const { catalogue, good } = app.state();
    if (!catalogue) return "The engine is still starting.";
    const name = filter().trim().toLowerCase();
    const named = catalogue.passes.filter((pass) => pass.name.toLowerCase() === name);
    const [pass] = named;
    if (!pass) return "No pass of that name.";
    if (named.some((one) => built().includes(one))) return `${pass.name} would change nothing now.`;
    const language = (id: string) => id[0]?.toUpperCase() + id.slice(1);
    const shown = language(good?.run.dialect ?? "relay");
    return `${pass.name} is a pass of ${pass.dialects.map(language).join(" and ")}; the result that is shown is ${shown}.`;
  };
  let items!: HTMLDivElement;

  const add = (pass: PassDoc | undefined) => {
    if (!pass?.available) return;
    app.addPass(pass.call);
    props.onClose();
  };
  const keys = (event: KeyboardEvent) => {
    const last = found().length - 1;
    if (event.key === "ArrowDown") setActive(Math.min(last, active() + 1));
    else if (event.key === "ArrowUp") setActive(Math.max(0, active() - 1));
    else if (event.key === "Enter") add(found()[active()]);
    else return;
    event.preventDefault();
    items.children[active()]?.scrollIntoView({ block: "nearest" });
  };

  return (
    <Popover anchor={props.anchor} label="Add pass" onClose={props.onClose} wide>
      <input
        type="text"
        role="combobox"
        aria-label="Filter passes"
        aria-expanded="true"
        aria-controls="pass-choices"
        aria-autocomplete="list"
        aria-activedescendant={found().length > 0 ? `pass-choice-${active()}` : undefined}
        placeholder="Type to filter"
        autocomplete="off"
        spellcheck={false}
        data-first
        value={filter()}
        onInput={(event) => {
          setFilter(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={keys}
      />
      <Show when={would().size > 0}>
        <label class="box">
          <input
            type="checkbox"
            checked={only()}
            onChange={(event) => setOnly(event.currentTarget.checked)}
          />
          Only those that would change something now
        </label>
      </Show>
      <div
        class="choices"
        role="listbox"
        id="pass-choices"
        aria-label="Passes to add"
        tabIndex="-1"
        ref={items}
      >
        <For each={found()}>
          {(pass, index) => (
            <Choice
              pass={pass}
              id={`pass-choice-${index()}`}
              active={index() === active()}
              own={own().has(pass)}
              would={would().get(pass.name)}
              onAdd={() => add(pass)}
            />
          )}
        </For>
      </div>
      <Show when={found().length === 0}>
        <p class="quiet pad">{nothing()}</p>
      </Show>
    </Popover>
  );
}

/** Shows a pass to choose. */
function Choice(props: {
  pass: PassDoc;
  id: string;
  active: boolean;
  own: boolean;
  would: string | undefined;
  onAdd(): void;
}) {
  return (
    // The text field keeps the focus and the keys; a choice only takes clicks.
    <div
      role="option"
      id={props.id}
      class="choice"
      aria-selected={props.active}
      aria-disabled={!props.pass.available}
      onClick={props.onAdd}
    >
      <span class="choice-name">
        {props.pass.name}
        <Show when={props.own}>
          {" "}
          <span class="tag">yours</span>
        </Show>
      </span>
      <span class="meta">
        <Show when={props.would}>
          {(answer) => <span class={`would ${answer()}`}>{wouldWord[answer()]} </span>}
        </Show>
        {props.pass.available ? `O${props.pass.optLevel}` : "not yet"}
      </span>
      <span class="choice-summary">
        <Inline text={props.pass.summary} />
      </span>
    </div>
  );
}

/** Returns the effects that passes would have on the result, as far as they are known. */
function createPreviews(built: () => readonly PassDoc[]): () => ReadonlyMap<string, string> {
  const app = useApp();
  // While the page is idle, each pass is tried on the result, for a list of those with an effect.
  const [would, setWould] = createSignal<ReadonlyMap<string, string>>(new Map());
  let closed = false;
  onMount(async () => {
    if (app.state().document.script) return;
    for (const pass of built()) {
      if (!pass.available) continue;
      const answer = await app.preview(pass.call);
      if (closed || answer === null) return;
      setWould(new Map([...would(), [pass.name, answer]]));
    }
  });
  onCleanup(() => {
    closed = true;
  });
  return would;
}
