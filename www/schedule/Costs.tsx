/** The work of each step, by counting, and whether its results are those of the step before: small bars over the steps. */
import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import type { BufferCost, Measure, Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import type { Subject } from "./subject";
import type { Line } from "./trace";

interface Cell {
  title: string;
  hint: string;
  of(measure: Measure): number | null;
  /** More of it is better. */
  more?: boolean;
}

const total = (measure: Measure, of: "loads" | "stores" | "misses" | "lines") =>
  measure.cost ? measure.cost.buffers.reduce((sum, buffer) => sum + buffer[of], 0) : null;

const cells: readonly Cell[] = [
  { title: "loads", hint: "Elements read", of: (one) => total(one, "loads") },
  { title: "stores", hint: "Elements written", of: (one) => total(one, "stores") },
  { title: "lines", hint: "Distinct lines of the cache", of: (one) => total(one, "lines") },
  { title: "misses", hint: "Lines fetched into the cache", of: (one) => total(one, "misses") },
  { title: "arithmetic", hint: "Operations on values", of: (one) => one.cost?.arithmetic ?? null },
  {
    title: "intensity",
    hint: "Operations for each byte fetched into the cache",
    of: (one) => one.cost?.intensity ?? null,
    more: true,
  },
  { title: "parallel", hint: "Iterations at the same time", of: (one) => one.parallel, more: true },
  { title: "vector", hint: "Lanes of the widest vector", of: (one) => one.vector, more: true },
];

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Kept while the page is open: a user who has asked once wants to see it of the next step too. */
const [asked, setAsked] = createSignal(false);
const [cache, setCache] = createSignal({ line: 64, size: 32768, seed: 0 });

interface Costing {
  step: Step;
  subject: Subject | null;
  func: string;
  lines: readonly Line[];
}

/** A version that is run. */
interface Version {
  name: string;
  id: string;
  version: number;
}

/** The versions that are run: what the program was, then what each instruction made of it. */
function versionsOf(props: Costing): Version[] {
  const about = props.subject;
  const first = { name: "before", id: "", version: about?.old ?? 0 };
  if (!about) return [];
  if (about.row < 0) {
    const { name, id, after } = props.step;
    return [first, { name, id, version: after }];
  }
  return [
    first,
    ...about.stages
      .filter((step) => step.outcome !== "failed")
      .map(({ name, id, after }) => ({ name, id, version: after })),
  ];
}

/** Runs the versions one after the other once the user has asked for it. */
function createMeasures(props: Costing) {
  const app = useApp();
  const [found, setFound] = createSignal<readonly (Measure | null)[]>([]);
  const [busy, setBusy] = createSignal(false);
  const rows = createMemo(() => versionsOf(props));
  const key = createMemo(() => {
    const versions = rows().map((row) => row.version);
    return JSON.stringify([app.state().good?.number, props.func, versions, cache()]);
  });
  createEffect(
    on([key, asked], async ([now, wanted]) => {
      setFound([]);
      if (!wanted) return;
      setBusy(true);
      const all = rows();
      const made: (Measure | null)[] = [];
      for (const [index, row] of all.entries()) {
        const other = all[Math.max(0, index - 1)]?.version ?? row.version;
        const { func } = props;
        const one = await app.measure({ version: row.version, other, func, ...cache() });
        if (now !== key()) return;
        made.push(
          typeof one === "string"
            ? { problem: one, difference: "", parallel: 1, vector: 1, cost: null }
            : one,
        );
        setFound([...made]);
        // The engine gave up on one; the others would take as long.
        if (one === null || typeof one === "string") break;
      }
      setBusy(false);
    }),
  );
  /** The most of each cell, in any version. */
  const most = createMemo(() =>
    cells.map((cell) => Math.max(1e-9, ...found().map((one) => (one && cell.of(one)) ?? 0))),
  );
  return { rows, found, busy, most };
}

/** Tells if a cell is better than that of the version before, or worse. */
const trend = (found: readonly (Measure | null)[], cell: Cell, index: number) => {
  const [now, before] = [found[index], found[index - 1]].map((one) => one && cell.of(one));
  if (now == null || before == null || now === before) return "";
  return now > before === (cell.more ?? false) ? "better" : "worse";
};
/** Tells if the results of a version are those of the one before. */
const verdict = (one: Measure | null, index: number) => {
  if (!one) return "";
  if (one.problem) return `✕ ${one.problem}`;
  if (index === 0) return "";
  return one.difference ? `≠ ${one.difference}` : "= equal";
};

/** Returns the field for a number of the model. */
const number = (name: "line" | "size" | "seed", title: string) => (
  <label>
    <span>{title}</span>
    <input
      type="number"
      min={name === "seed" ? 0 : 4}
      value={cache()[name]}
      onChange={(event) => {
        const value = Math.max(0, Math.floor(event.currentTarget.valueAsNumber || 0));
        setCache({ ...cache(), [name]: value });
      }}
    />
  </label>
);

/** Shows the counts of a version, and tells if its results are right. */
function Cost(props: {
  row: Version;
  index: number;
  current: boolean;
  measures: ReturnType<typeof createMeasures>;
}) {
  const app = useApp();
  const found = () => props.measures.found();
  return (
    <tr aria-current={props.current ? "step" : undefined}>
      <th scope="row">
        <Show when={props.row.id} fallback={props.row.name}>
          <button
            type="button"
            class="link"
            onClick={() => app.dispatch({ type: "step", id: props.row.id })}
          >
            {props.row.name}
          </button>
        </Show>
      </th>
      <For each={cells}>
        {(cell, column) => {
          const value = () => {
            const one = found()[props.index];
            return one ? cell.of(one) : null;
          };
          return (
            <td
              class={`number ${trend(found(), cell, props.index)}`}
              title={value()?.toLocaleString("en")}
            >
              {value() === null ? "" : short.format(value() ?? 0)}
              <span
                class="measure"
                style={{
                  width: `${(100 * (value() ?? 0)) / (props.measures.most()[column()] ?? 1)}%`,
                }}
              />
            </td>
          );
        }}
      </For>
      <td
        class="verdict"
        classList={{
          wrong: /^[✕≠]/.test(verdict(found()[props.index] ?? null, props.index)),
        }}
      >
        {found()[props.index] === undefined
          ? props.measures.busy()
            ? "…"
            : ""
          : verdict(found()[props.index] ?? null, props.index)}
      </td>
    </tr>
  );
}

/** Shows the counts by buffer. */
function Buffers(props: { name: string; buffers: readonly BufferCost[] }) {
  return (
    <details>
      <summary>By buffer, after {props.name}</summary>
      <div class="costs">
        <table>
          <thead>
            <tr>
              <For each={["buffer", "scope", "loads", "stores", "bytes", "lines", "misses"]}>
                {(title) => <th scope="col">{title}</th>}
              </For>
            </tr>
          </thead>
          <tbody>
            <For each={props.buffers}>
              {(buffer) => (
                <tr>
                  <th scope="row">
                    <code>{buffer.name}</code>
                  </th>
                  <td>{buffer.scope}</td>
                  <For
                    each={[buffer.loads, buffer.stores, buffer.bytes, buffer.lines, buffer.misses]}
                  >
                    {(value) => <td class="number">{value.toLocaleString("en")}</td>}
                  </For>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function Costs(props: Costing) {
  const app = useApp();
  const measures = createMeasures(props);
  const { rows, found, busy } = measures;
  const shown = createMemo(() => {
    const at = rows().findLastIndex((row) => row.id === props.step.id);
    return found()[at < 0 ? found().length - 1 : at] ?? null;
  });
  return (
    <section class="wide" aria-label="Cost and check">
      <h3>Is it right, is it better</h3>
      <div class="bar-row">
        <Show
          when={asked()}
          fallback={
            <button type="button" class="primary" onClick={() => setAsked(true)}>
              Run and count
            </button>
          }
        >
          <button type="button" onClick={() => (busy() ? app.stop() : setAsked(false))}>
            {busy() ? "Stop" : "Do not run"}
          </button>
        </Show>
        {number("line", "Line, bytes")}
        {number("size", "Cache, bytes")}
        {number("seed", "Seed of the inputs")}
      </div>
      <Show
        when={asked()}
        fallback={
          <p class="quiet">
            Runs {props.func} after each step on the same inputs, compares the results, and counts
            what it does: by counting, not by a clock.
          </p>
        }
      >
        <div class="costs" role="group" aria-label="Steps by what they do" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">step</th>
                <For each={cells}>
                  {(cell) => (
                    <th scope="col" title={cell.hint}>
                      {cell.title}
                    </th>
                  )}
                </For>
                <th scope="col" style={{ "text-align": "start", "padding-left": "10px" }}>
                  results
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={rows()}>
                {(row, index) => (
                  <Cost
                    row={row}
                    index={index()}
                    current={row.id === props.step.id}
                    measures={measures}
                  />
                )}
              </For>
            </tbody>
          </table>
        </div>
        <Show when={shown()?.cost}>
          {(cost) => <Buffers name={props.step.name} buffers={cost().buffers} />}
        </Show>
        <p class="quiet">
          The cache is a model: lines of one size, the one that was not used for longest makes room;
          only global memory goes through it.
        </p>
      </Show>
    </section>
  );
}
