/** Edits one row of the pass list: its arguments, its place, its removal. */
import { createMemo, createSignal, For, Show } from "solid-js";
import type { PassDoc, UserPass } from "../../engine/protocol";
import { callError, callName, findPass, ownPass, tidyCall } from "../../state/calls";
import { scriptPasses, type Trust } from "../../state/model";
import { useApp } from "../context";
import { Popover } from "../Popover";
import { Inline, Prose } from "../prose";
import { Explained } from "./Explained";

export default function EditPass(props: {
  id: number;
  anchor: HTMLElement;
  onClose(): void;
  onMove(by: 1 | -1): void;
  onRemove(): void;
}) {
  const app = useApp();
  const row = () => app.state().rows.indexOf(props.id);
  const saved = () => app.state().document.passes[row()]?.call ?? "";
  const [text, setText] = createSignal(saved());
  const error = createMemo(() => callError(text()));
  const own = createMemo(() =>
    scriptPasses(app.state()).find((pass) => pass.name === callName(text())),
  );
  const doc = createMemo(() => {
    const mine = own();
    return mine
      ? ownPass(mine)
      : findPass(app.state().catalogue, text(), app.state().good?.run.dialect);
  });

  const apply = () => {
    if (error()) return;
    const call = tidyCall(text());
    if (call !== saved()) app.dispatch({ type: "call", row: row(), call });
    props.onClose();
  };

  return (
    <Popover anchor={props.anchor} label={`Edit ${callName(saved())}`} onClose={props.onClose} wide>
      <form
        class="edit-pass"
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        <label>
          <span>Call</span>
          <input
            type="text"
            class="mono"
            spellcheck={false}
            autocomplete="off"
            aria-invalid={error() !== ""}
            aria-describedby="call-help"
            data-first
            value={text()}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p id="call-help" class={error() ? "wrong" : "quiet"}>
          <Inline text={error() || doc()?.summary || unknownTo(app.state().trust)} />
        </p>
        <Show when={own()}>{(pass) => <Yours pass={pass()} onShow={props.onClose} />}</Show>
        <Show when={doc()?.params.length}>
          <Arguments params={doc()?.params ?? []} call={text()} onChange={setText} />
        </Show>
        <Show when={own()?.doc.includes("\n")}>
          <details>
            <summary>What it does</summary>
            <div class="doc">
              <Prose text={own()?.doc ?? ""} />
            </div>
          </details>
        </Show>
        <Show when={!own() && doc()} keyed>
          {(pass) => <Explained pass={pass} />}
        </Show>
        <div class="buttons">
          <button
            type="button"
            aria-label="Move up"
            disabled={row() <= 0}
            onClick={() => props.onMove(-1)}
          >
            ↑
          </button>
          <button
            type="button"
            aria-label="Move down"
            disabled={row() >= app.state().rows.length - 1}
            onClick={() => props.onMove(1)}
          >
            ↓
          </button>
          <button type="button" onClick={props.onRemove}>
            Remove
          </button>
          <span class="grow" />
          <button type="submit" class="primary" disabled={error() !== ""}>
            Apply
          </button>
        </div>
      </form>
    </Popover>
  );
}

/** Says that a name is unknown, and whether the user's script may define it. */
const unknownTo = (trust: Trust) =>
  trust === "own"
    ? "There is no pass of this name, in passlab or under My passes."
    : "There is no pass of this name, unless My passes defines it; those are not run.";

/** Shows a pass that the user's script defines, and the way to it. */
function Yours(props: { pass: UserPass; onShow(): void }) {
  const app = useApp();
  const show = () => {
    props.onShow();
    app.panels.script();
  };
  return (
    <p class="quiet">
      Yours: {props.pass.kind} pass, opt level {props.pass.optLevel}
      {props.pass.required.length > 0 ? `, requires ${props.pass.required.join(", ")}` : ""}.{" "}
      <button type="button" class="link" onClick={show}>
        Show it
      </button>
    </p>
  );
}

/** Lists the arguments that a pass takes; a button puts each into the call. */
function Arguments(props: {
  params: PassDoc["params"];
  call: string;
  onChange(call: string): void;
}) {
  const insert = (name: string, standard: string) => {
    const call = tidyCall(props.call);
    const more = `${name}=${standard}`;
    props.onChange(call.includes("(") ? call.replace(/\)$/, `, ${more})`) : `${call}(${more})`);
  };
  return (
    <ul class="params" aria-label="Arguments">
      <For each={props.params}>
        {(param) => (
          <li>
            <button
              type="button"
              class="link mono"
              disabled={props.call.includes(`${param.name}=`)}
              onClick={() => insert(param.name, param.default)}
            >
              {param.name}={param.default}
            </button>
            <span class="quiet">
              <Inline text={param.doc} />
            </span>
          </li>
        )}
      </For>
    </ul>
  );
}
