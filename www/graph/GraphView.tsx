/**
 * Shows the dataflow graph of a step, with the nodes that the step removed in their place, so one picture shows before and
 * after; every expression keeps its place from step to step. A table shows the same as text. Loaded on demand.
 */
import { createMemo, createSignal, Match, Show, Switch } from "solid-js";
import type { Graph, Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import type { Finder } from "../panels/finder";
import { Toggle } from "../panels/Toggle";
import { postDominators } from "./dominators";
import { GraphTable } from "./GraphTable";
import "./graph.css";
import { graphOf } from "./only";
import { Picture } from "./Picture";
import { groupKey, sceneOf } from "./scene";

/** Nodes beyond which a graph is drawn only on demand. */
const LARGE = 3000;

/** Counts the nodes of a graph by their fates, and the functions that were made. */
function countsOf(graph: Graph | null) {
  const nodes = graph?.nodes ?? [];
  const of = (fate: string) => nodes.filter((node) => node.fate === fate).length;
  const boxes = graph?.groups.filter((group) => group.made).length ?? 0;
  return {
    boxes,
    all: nodes.length,
    made: of("made"),
    removed: of("removed"),
    rewritten: of("rewritten"),
  };
}

/** Returns the keys of the functions inside of others. */
const innerOf = (graph: Graph | null) =>
  graph?.groups.flatMap((group, index) =>
    group.parent === null ? [] : [groupKey(graph, index)],
  ) ?? [];

/** Shows the counts. */
function Tally(props: { counts: ReturnType<typeof countsOf> }) {
  return (
    <p class="counts">
      <span class="quiet">{props.counts.all - props.counts.removed} nodes</span>
      <Show when={props.counts.made}>
        <span class="tally added">+{props.counts.made} made</span>
      </Show>
      <Show when={props.counts.boxes}>
        <span class="tally added">
          +{props.counts.boxes} {props.counts.boxes === 1 ? "function" : "functions"}
        </span>
      </Show>
      <Show when={props.counts.removed}>
        <span class="tally removed">−{props.counts.removed} removed</span>
      </Show>
      <Show when={props.counts.rewritten}>
        <span class="tally changed">~{props.counts.rewritten} rewritten</span>
      </Show>
    </p>
  );
}

/** Holds the last graph that arrived, of the function that is shown, and the message where there is none. */
function createReady() {
  const app = useApp();
  const whole = createMemo<Graph | null>((last) => {
    const now = app.graph();
    return now.state === "ready" ? now.value : now.state === "failed" ? null : last;
  }, null);
  const func = createMemo(() => app.state().func);
  /** The graph of the function that is shown. */
  const ready = createMemo<Graph | null>(() => {
    const graph = whole();
    return graph && func() ? graphOf(graph, func()) : graph;
  });
  const failed = () => {
    const now = app.graph();
    return now.state === "failed" ? now.message : "";
  };
  return { ready, failed };
}

export default function GraphView(props: { step: Step; finder: Finder }) {
  const { ready, failed } = createReady();
  const [folded, setFolded] = createSignal<ReadonlySet<string>>(new Set<string>());
  const [table, setTable] = createSignal(false);
  const [anyway, setAnyway] = createSignal(false);
  const [dominated, setDominated] = createSignal(false);
  const parents = createMemo(() => {
    const graph = ready();
    return graph && dominated() ? postDominators(graph) : [];
  });
  const foldGroup = (key: string) => {
    const next = new Set(folded());
    if (!next.delete(key)) next.add(key);
    setFolded(next);
  };
  const counts = createMemo(() => countsOf(ready()));
  const large = () => counts().all > LARGE && !anyway();
  const scene = createMemo(() => {
    const graph = ready();
    return graph && !table() && !large()
      ? sceneOf(graph, folded(), parents())
      : sceneOf({ nodes: [], edges: [], groups: [] }, folded());
  });
  const inner = createMemo(() => innerOf(ready()));
  const allFolded = () => inner().length > 0 && inner().every((key) => folded().has(key));

  return (
    <section class="region graph" aria-label="Graph">
      <Switch>
        <Match when={failed()}>
          <p class="empty">The graph could not be made: {failed()}.</p>
        </Match>
        <Match when={!ready()}>
          <p class="empty waiting">Drawing…</p>
        </Match>
        <Match when={ready()}>
          {(graph) => (
            <>
              <div class="graph-bar">
                <Tally counts={counts()} />
                <span class="grow" />
                <Show when={inner().length > 0}>
                  <Toggle
                    label="Fold functions"
                    title="Draw each function inside of another as one node"
                    on={allFolded()}
                    onChange={(on) => setFolded(on ? new Set(inner()) : new Set<string>())}
                  />
                </Show>
                <Toggle
                  label="Dominators"
                  title="From each node to its post-dominator: what FuseOps merges lies between"
                  on={dominated()}
                  onChange={setDominated}
                />
                <Toggle label="As a table" on={table()} onChange={setTable} />
              </div>
              <Show
                when={!large()}
                fallback={
                  <div class="empty">
                    <p>This graph has {counts().all.toLocaleString("en")} nodes.</p>
                    <button type="button" onClick={() => setAnyway(true)}>
                      Draw it
                    </button>
                  </div>
                }
              >
                <Show
                  when={!table()}
                  fallback={
                    <GraphTable
                      graph={graph()}
                      folded={folded()}
                      parents={parents()}
                      onFold={foldGroup}
                    />
                  }
                >
                  <Picture
                    graph={graph()}
                    scene={scene()}
                    parents={parents()}
                    finder={props.finder}
                    onFold={(group) => foldGroup(groupKey(graph(), group))}
                  />
                </Show>
              </Show>
            </>
          )}
        </Match>
      </Switch>
    </section>
  );
}
