/** Computes where the rows and the steps of the pass list stand, and which of them are in sight. */
import { createMemo, createSignal } from "solid-js";
import { scriptPasses } from "../../state/model";
import { useApp } from "../context";
import { inSight, type Layout, layoutOf } from "./layout";

export type Places = ReturnType<typeof createPlaces>;

export function createPlaces(top: () => number, height: () => number) {
  const app = useApp();
  const state = app.state;
  const [closed, setClosed] = createSignal<ReadonlySet<string>>(new Set());

  // A row depends on few values, and most of them outlive an edit and its run: a row is drawn anew only when one of
  // these has changed.
  const rows = createMemo(() => state().rows);
  const passes = createMemo(() => state().document.passes);
  /** The rows that the steps belong to. */
  const owners = createMemo(() => state().good?.rows ?? []);
  const inPhases = createMemo(() => state().preferences.phases);
  const text = createMemo(() => state().filter);
  const filtered = createMemo(
    () => text() !== "" || state().func !== "" || state().preferences.changedOnly,
  );
  const layout = createMemo<Layout>(() =>
    layoutOf({
      shown: app.shown(),
      rows: rows(),
      passes: passes(),
      owners: owners(),
      filtered: filtered(),
      text: text(),
      phases: inPhases(),
      closed: closed(),
      selected: app.selected(),
    }),
  );
  const own = createMemo(() => new Set(scriptPasses(state()).map((pass) => pass.name)), undefined, {
    equals: (a, b) => a.size === b.size && [...a].every((name) => b.has(name)),
  });

  const sameList = <T>(a: readonly T[], b: readonly T[]) =>
    a.length === b.length && a.every((item, index) => item === b[index]);
  const seen = createMemo(() => {
    const { rows: at, steps } = layout();
    return inSight(at.size + steps.size, top(), height());
  });
  const rowIds = createMemo(
    () =>
      rows().filter((id) => {
        const place = layout().rows.get(id);
        return place && seen()(place);
      }),
    undefined,
    { equals: sameList },
  );
  // By id, not by object: a row outlives a run, and the focus with it.
  const stepIds = createMemo(
    () =>
      app.shown().flatMap((item) => {
        const place = layout().steps.get(item.index);
        return place && seen()(place) ? [item.step.id] : [];
      }),
    undefined,
    { equals: sameList },
  );
  const rowOf = createMemo(() => new Map(rows().map((id, row) => [id, row])));

  return {
    rows,
    passes,
    owners,
    layout,
    own,
    rowIds,
    stepIds,
    rowOf,
    /** Folds a phase, or unfolds it. */
    foldPhase: (key: string) =>
      setClosed((before) => {
        const after = new Set(before);
        if (!after.delete(key)) after.add(key);
        return after;
      }),
    moveRow(id: number, by: 1 | -1) {
      const from = rowOf().get(id) ?? -1;
      app.dispatch({ type: "move", from, to: from + by });
    },
  };
}
