/** The offers for a loop or block, tried beforehand; and the reasons against the rest, in TVM's words. */
import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import type { Nest, NestNode } from "../engine/protocol";
import { Words } from "../panels/Words";
import { attempts, type Field, isLoop, type Offer, offersFor } from "./offers";

interface Tried {
  offer: Offer;
  /** Values that are not refused; none where all are. */
  values: string[] | null;
  why: string;
}

interface Offering {
  nest: Nest;
  at: number;
  locked: boolean;
  tries(all: readonly string[], slot: string): Promise<string[] | null>;
  onDo(code: string): void;
}

/** Returns the title for the offers of a node. */
function titleOf(node: NestNode | undefined): string {
  if (!node) return "";
  const what = isLoop(node) ? "loop" : node.kind;
  return `What can be done to ${what} ${node.name}`;
}

/** Tries the offers with the values of their fields to begin with. */
function createTried(props: Offering, offers: () => Offer[]) {
  const [tried, setTried] = createSignal<readonly Tried[]>([]);
  createEffect(
    on(offers, async (all) => {
      setTried([]);
      const cases = all.flatMap((offer) => attempts(offer).map((given) => ({ offer, given })));
      const refused = await props.tries(
        cases.map(({ offer, given }) => offer.write(given)),
        "offers",
      );
      if (!refused || all !== offers()) return;
      setTried(
        all.map((offer) => {
          const mine = cases.flatMap((one, index) => (one.offer === offer ? [index] : []));
          const fine = mine.find((index) => refused[index] === "");
          const values = fine === undefined ? null : (cases[fine]?.given ?? null);
          return { offer, values, why: refused[mine[0] ?? -1] ?? "" };
        }),
      );
    }),
  );
  return tried;
}

/** Shows a field of an offer. */
function Input(props: { field: Field; value: string; onSet(value: string): void }) {
  return (
    <label>
      <span>{props.field.name}</span>
      <Show
        when={props.field.options}
        fallback={
          <input
            type="text"
            class="mono"
            spellcheck={false}
            value={props.value}
            onInput={(event) => props.onSet(event.currentTarget.value)}
          />
        }
      >
        <select value={props.value} onChange={(event) => props.onSet(event.currentTarget.value)}>
          <For each={props.field.options}>
            {([value, says]) => <option value={value}>{says}</option>}
          </For>
        </select>
      </Show>
    </label>
  );
}

/** Shows the refused offers with the reasons. */
function Refused(props: { all: readonly Tried[] }) {
  return (
    <details>
      <summary>{props.all.length} cannot be done, and why</summary>
      <dl>
        <For each={props.all}>
          {(one) => (
            <>
              <dt>{one.offer.name}</dt>
              <dd class="quiet">
                <Words text={one.why} />
              </dd>
            </>
          )}
        </For>
      </dl>
    </details>
  );
}

export function Offers(props: Offering) {
  const [open, setOpen] = createSignal("");
  const [values, setValues] = createSignal<readonly string[]>([]);
  const [why, setWhy] = createSignal("");
  const node = () => props.nest.nodes[props.at];
  const offers = createMemo(() => offersFor(props.nest, props.at));

  const tried = createTried(props, offers);
  createEffect(on(offers, () => setOpen(""), { defer: true }));

  // An argument may put right what was refused.
  const can = () => tried().filter((one) => one.values || one.offer.fields.some((f) => !f.options));
  const cannot = () => tried().filter((one) => !can().includes(one));
  const opened = createMemo(() => can().find((one) => one.offer.name === open()));

  const choose = ({ offer, values: fine }: Tried) => {
    if (offer.fields.length === 0) {
      props.onDo(offer.write([]));
      return;
    }
    setOpen(open() === offer.name ? "" : offer.name);
    setValues(fine ?? offer.fields.map((field) => field.value));
  };
  createEffect(
    on([values, opened], async ([given, one]) => {
      setWhy("");
      if (!one) return;
      const refused = await props.tries([one.offer.write(given)], "argument");
      if (refused && given === values()) setWhy(refused[0] ?? "");
    }),
  );
  const title = () => titleOf(node());

  return (
    <section class="offers" aria-label={title()}>
      <h3>{title()}</h3>
      <Show
        when={offers().length > 0}
        fallback={
          <p class="quiet">
            {node() && (isLoop(node() as never) || node()?.kind === "block")
              ? "Schedules are about blocks. There is none here, or several have one name."
              : "Instructions are about loops and blocks."}
          </p>
        }
      >
        <div class="chips">
          <For each={can()}>
            {(one) => (
              <button
                type="button"
                disabled={props.locked}
                aria-expanded={one.offer.fields.length > 0 ? open() === one.offer.name : undefined}
                onClick={() => choose(one)}
              >
                {one.offer.name}
                {one.offer.fields.length > 0 ? "…" : ""}
              </button>
            )}
          </For>
        </div>
        <Show when={opened()}>
          {(one) => (
            <form
              aria-label={one().offer.name}
              onSubmit={(event) => {
                event.preventDefault();
                if (!why()) props.onDo(one().offer.write(values()));
              }}
            >
              <For each={one().offer.fields}>
                {(field, index) => (
                  <Input
                    field={field}
                    value={values()[index()] ?? ""}
                    onSet={(value) =>
                      setValues(values().map((old, at) => (at === index() ? value : old)))
                    }
                  />
                )}
              </For>
              <button type="submit" class="primary" disabled={props.locked || why() !== ""}>
                Apply {one().offer.name}
              </button>
              <p class="wrong" role="status">
                <Words text={why()} />
              </p>
            </form>
          )}
        </Show>
        <Show when={cannot().length > 0}>
          <Refused all={cannot()} />
        </Show>
      </Show>
    </section>
  );
}
