/** The rest of a PassContext: required and disabled passes, configuration, instruments. Loaded when it is opened. */
import { createMemo, For, type JSX, Show } from "solid-js";
import type { ConfigKey, InstrumentDoc } from "../../engine/protocol";
import { splitNames } from "../../state/calls";
import { argumentsOf, callWith, fromNames, instrumentName, toNames } from "../../state/instruments";
import { scriptInstruments } from "../../state/model";
import { useApp } from "../context";
import "../../styles/popover.css";

export default function ContextForm() {
  const app = useApp();
  const document = createMemo(() => app.state().document);
  const instruments = createMemo<InstrumentDoc[]>(() => [
    ...(app.state().catalogue?.instruments ?? []),
    ...scriptInstruments(app.state()).map(({ name, doc }) => ({ name, doc, params: [] })),
  ]);
  return (
    <div class="form">
      <fieldset>
        <legend>Instruments</legend>
        <For each={instruments()}>{(doc) => <Instrument doc={doc} />}</For>
      </fieldset>
      <PassNames
        label="Required passes"
        names={document().required}
        onChange={(names) => app.dispatch({ type: "required", names })}
      />
      <PassNames
        label="Disabled passes"
        names={document().disabled}
        onChange={(names) => app.dispatch({ type: "disabled", names })}
      />
      <fieldset>
        <legend>Configuration</legend>
        <For each={Object.keys(document().config)}>{(key) => <Setting name={key} />}</For>
        <AddSetting />
      </fieldset>
    </div>
  );
}

/** An instrument: its switch, and its arguments. */
function Instrument(props: { doc: InstrumentDoc }) {
  const app = useApp();
  const call = createMemo(() =>
    app.state().document.instruments.find((one) => instrumentName(one) === props.doc.name),
  );
  const values = createMemo(() => argumentsOf(props.doc, call() ?? ""));
  const put = (next: string | null) =>
    app.dispatch({ type: "instrument", name: props.doc.name, call: next });
  const change = (index: number, value: string) =>
    put(
      callWith(
        props.doc,
        values().map((old, at) => (at === index ? value : old)),
      ),
    );
  return (
    <>
      <label class="box" title={props.doc.doc}>
        <input
          type="checkbox"
          checked={call() !== undefined}
          onChange={(event) => put(event.currentTarget.checked ? props.doc.name : null)}
        />
        {props.doc.name}
      </label>
      <Show when={call() !== undefined}>
        <div class="details">
          <p class="quiet">{props.doc.doc}</p>
          <For each={props.doc.params}>
            {(param, index) => (
              <Show
                when={param.default === "[]"}
                fallback={
                  <Literal
                    label={param.name}
                    type={/^(True|False)$/.test(param.default) ? "bool" : "list"}
                    value={values()[index()] ?? ""}
                    onChange={(value) => change(index(), value)}
                  />
                }
              >
                <label title={param.doc}>
                  <span class="mono">{param.name}</span>
                  <input
                    type="text"
                    placeholder="names, by commas"
                    spellcheck={false}
                    autocomplete="off"
                    value={toNames(values()[index()] ?? "")}
                    onChange={(event) =>
                      change(index(), fromNames(splitNames(event.currentTarget.value)))
                    }
                  />
                </label>
              </Show>
            )}
          </For>
        </div>
      </Show>
    </>
  );
}

/** Names as `PassInfo` has them, which are not always those of the factories: TVM takes any and says nothing. */
function PassNames(props: { label: string; names: string[]; onChange(names: string[]): void }) {
  const app = useApp();
  const hint = createMemo(() => {
    const passes = app.state().catalogue?.passes ?? [];
    const rows = app.state().document.passes.map((row) => row.call);
    const strange = props.names.find((name) => {
      const own = rows.some((call) => call.includes(name));
      return !own && !passes.some((pass) => pass.infoName === name);
    });
    if (strange === undefined || passes.length === 0) return "";
    const meant = passes.find(
      (pass) => pass.name === strange || pass.infoName.toLowerCase() === strange.toLowerCase(),
    );
    return meant
      ? `The PassInfo of ${strange} is called “${meant.infoName}”.`
      : `There is no pass called ${strange}.`;
  });
  return (
    <label>
      <span>{props.label}</span>
      <input
        type="text"
        placeholder="names, by commas"
        spellcheck={false}
        autocomplete="off"
        value={props.names.join(", ")}
        onChange={(event) => props.onChange(splitNames(event.currentTarget.value))}
      />
      <Show when={hint()}>
        <span class="hint">⚠ {hint()}</span>
      </Show>
    </label>
  );
}

/** A key of the configuration that is set. */
function Setting(props: { name: string }) {
  const app = useApp();
  const value = () => app.state().document.config[props.name] ?? "";
  const doc = createMemo<ConfigKey | undefined>(() =>
    app.state().catalogue?.config.find((item) => item.key === props.name),
  );
  const error = createMemo(
    () =>
      app
        .state()
        .problems.find(
          (problem) =>
            problem.code === "pass-config" &&
            problem.notes.some((note) => note === `in the configuration: ${props.name}`),
        )?.message ?? "",
  );
  const id = () => `about-${props.name}`;
  return (
    <div class="setting">
      <Literal
        label={props.name}
        type={doc()?.type ?? "list"}
        value={value()}
        invalid={error() !== ""}
        about={id()}
        onChange={(next) => app.dispatch({ type: "config", key: props.name, value: next })}
      />
      <button
        type="button"
        aria-label={`Remove ${props.name}`}
        onClick={() => app.dispatch({ type: "config", key: props.name, value: null })}
      >
        ✕
      </button>
      <p id={id()} class={error() ? "wrong" : "quiet"}>
        {error() || `${doc()?.doc ?? ""} Without it: ${doc()?.default ?? "nothing"}.`}
      </p>
    </div>
  );
}

/** A Python literal in the field that fits its type. */
function Literal(props: {
  label: string;
  type: ConfigKey["type"];
  value: string;
  invalid?: boolean;
  about?: string;
  onChange(value: string): void;
}): JSX.Element {
  // A text that is not one of the type's is shown as it is, so that it can be put right.
  const plain = () =>
    (props.type === "bool" && !/^(True|False)$/.test(props.value)) ||
    (props.type === "int" && !/^-?\d+$/.test(props.value));
  const text = () =>
    props.type === "str" && /^".*"$/s.test(props.value) ? props.value.slice(1, -1) : props.value;
  const take = (typed: string) => {
    const value = typed.trim();
    props.onChange(
      props.type === "str" && value !== "None" ? JSON.stringify(value) : value || "None",
    );
  };
  return (
    <label>
      <span class="mono">{props.label}</span>
      <Show
        when={props.type === "bool" && !plain()}
        fallback={
          <input
            type={props.type === "int" && !plain() ? "number" : "text"}
            step="1"
            class="mono"
            spellcheck={false}
            autocomplete="off"
            aria-invalid={props.invalid ?? false}
            aria-describedby={props.about}
            value={text()}
            onChange={(event) => take(event.currentTarget.value)}
          />
        }
      >
        <select
          value={props.value}
          aria-describedby={props.about}
          onChange={(event) => props.onChange(event.currentTarget.value)}
        >
          <option>True</option>
          <option>False</option>
        </select>
      </Show>
    </label>
  );
}

/** Chooses a key from the registry; sets unknown keys too, and the engine then reports TVM's error. */
function AddSetting() {
  const app = useApp();
  const free = createMemo(() => {
    const { config } = app.state().document;
    return (app.state().catalogue?.config ?? []).filter((item) => !(item.key in config));
  });
  const add = (input: HTMLInputElement) => {
    const key = input.value.trim();
    input.value = "";
    if (!key || key in app.state().document.config) return;
    const known = free().find((item) => item.key === key);
    app.dispatch({ type: "config", key, value: known?.default ?? "None" });
  };
  return (
    <label>
      <span>Add a setting</span>
      <input
        type="text"
        list="config-keys"
        placeholder="a key, such as relay.FuseOps.max_depth"
        spellcheck={false}
        autocomplete="off"
        onChange={(event) => add(event.currentTarget)}
      />
      <datalist id="config-keys">
        <For each={free()}>{(item) => <option value={item.key}>{item.doc}</option>}</For>
      </datalist>
    </label>
  );
}
