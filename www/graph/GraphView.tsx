/**
 * The dataflow graph of a step. What the step took away is drawn too, where it stood, so one picture shows before and after;
 * every expression keeps its place from step to step. The same as a table, for those who read it that way. Loaded on demand.
 */
import {
  createEffect,
  createMemo,
  createSignal,
  Match,
  on,
  onCleanup,
  onMount,
  Show,
  Switch,
  untrack,
} from "solid-js";
import type { Graph, Step } from "../engine/protocol";
import { useApp } from "../panels/context";
import { Toggle } from "../panels/Toggle";
import { postDominators } from "./dominators";
import { GraphTable } from "./GraphTable";
import "./graph.css";
import {
  dominatorPath,
  edgePath,
  fateSign,
  groupKey,
  NODE,
  type Scene,
  type Shape,
  sceneOf,
  towards,
} from "./scene";

/** Nodes beyond which a graph is drawn only on demand. */
const LARGE = 3000;
const ZOOMS = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? char);

/** A part of the picture, in its own units. */
interface Part {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The part is taken a little larger than what is seen, in steps, so that scrolling seldom draws anew. */
const TILE = 600;

/**
 * What of the scene is in sight, as text: parsed in one go, which is several times faster than making each element by
 * itself. Most of a network is out of sight, and laying out its text is what takes time.
 */
function drawing(scene: Scene, part: Part): string {
  const meets = (left: number, top: number, right: number, bottom: number) =>
    left <= part.right && right >= part.left && top <= part.bottom && bottom >= part.top;
  const boxes = scene.boxes.map((box) => {
    if (!meets(box.left, box.top, box.left + box.width, box.top + box.height)) return "";
    const [first] = box.parts;
    if (!first) return "";
    const rects = box.parts
      .map(
        ({ left, top, width, height }) =>
          `<rect x="${left}" y="${top}" width="${width}" height="${height}" rx="8"/>`,
      )
      .join("");
    // Of several parts only the outline is to be seen: what covers it inside is drawn over it.
    const inner = box.parts.length > 1 ? `<g class="cover">${rects}</g>` : "";
    return `<g class="box${box.made ? " made" : ""}">${rects}${inner}<text data-group="${box.group}" x="${first.left + 8}" y="${first.top + 14}">▾ ${box.made ? "+ " : ""}${escaped(box.title)}</text></g>`;
  });
  const edges = scene.edges.map(([from, to]) => {
    const [a, b] = [scene.shapes[from], scene.shapes[to]];
    if (!a || !b) return "";
    const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x) + 2 * NODE.width];
    if (!meets(left, Math.min(a.y, b.y), right, Math.max(a.y, b.y) + NODE.height)) return "";
    const gone = a.fate === "removed" || b.fate === "removed";
    const made = !gone && (a.fate === "made" || b.fate === "made");
    return `<path class="edge${gone ? " removed" : made ? " made" : ""}" d="${edgePath(a, b)}"/>`;
  });
  const nodes = scene.shapes.map((shape, index) =>
    !meets(shape.x, shape.y, shape.x + NODE.width, shape.y + NODE.height)
      ? ""
      : `<g class="node ${shape.fate}${shape.result ? " result" : ""}" data-index="${index}" transform="translate(${shape.x} ${shape.y})"><rect width="${NODE.width}" height="${NODE.height}" rx="6"/><text class="label" x="8" y="17">${escaped(shape.label)}</text><text class="detail" x="8" y="32">${escaped(shape.detail)}</text></g>`,
  );
  const dominators = scene.dominators.map(([from, to]) => {
    const [a, b] = [scene.shapes[from], scene.shapes[to]];
    if (!a || !b) return "";
    const [left, right] = [Math.min(a.x, b.x) - 24, Math.max(a.x, b.x)];
    return meets(left, Math.min(a.y, b.y), right, Math.max(a.y, b.y) + NODE.height)
      ? `<path class="dominator" d="${dominatorPath(a, b)}"/>`
      : "";
  });
  return boxes.join("") + edges.join("") + dominators.join("") + nodes.join("");
}

const fateWords = {
  same: "",
  rewritten: "rewritten",
  made: "made here",
  removed: "removed",
} as const;

export default function GraphView(props: { step: Step }) {
  const app = useApp();
  const ready = createMemo<Graph | null>((last) => {
    const now = app.graph();
    return now.state === "ready" ? now.value : now.state === "failed" ? null : last;
  }, null);
  const failed = () => {
    const now = app.graph();
    return now.state === "failed" ? now.message : "";
  };
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
  const counts = createMemo(() => {
    const nodes = ready()?.nodes ?? [];
    const of = (fate: string) => nodes.filter((node) => node.fate === fate).length;
    const boxes = ready()?.groups.filter((group) => group.made).length ?? 0;
    return {
      boxes,
      all: nodes.length,
      made: of("made"),
      removed: of("removed"),
      rewritten: of("rewritten"),
    };
  });
  const large = () => counts().all > LARGE && !anyway();
  const scene = createMemo(() => {
    const graph = ready();
    return graph && !table() && !large()
      ? sceneOf(graph, folded(), parents())
      : { shapes: [], boxes: [], edges: [], dominators: [], width: 0, height: 0 };
  });
  const inner = createMemo(() => {
    const graph = ready();
    if (!graph) return [];
    return graph.groups.flatMap((group, index) =>
      group.parent === null ? [] : [groupKey(graph, index)],
    );
  });
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
                <p class="counts">
                  <span class="quiet">{counts().all - counts().removed} nodes</span>
                  <Show when={counts().made}>
                    <span class="tally added">+{counts().made} made</span>
                  </Show>
                  <Show when={counts().boxes}>
                    <span class="tally added">
                      +{counts().boxes} {counts().boxes === 1 ? "function" : "functions"}
                    </span>
                  </Show>
                  <Show when={counts().removed}>
                    <span class="tally removed">−{counts().removed} removed</span>
                  </Show>
                  <Show when={counts().rewritten}>
                    <span class="tally changed">~{counts().rewritten} rewritten</span>
                  </Show>
                </p>
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
                    subject={props.step.id}
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

function Picture(props: {
  graph: Graph;
  scene: Scene;
  parents: readonly number[];
  subject: string;
  onFold(group: number): void;
}) {
  const app = useApp();
  let view!: HTMLDivElement;
  let picture!: SVGSVGElement;
  const [zoom, setZoom] = createSignal(1);
  const [active, setActive] = createSignal(-1);
  const shape = (): Shape | undefined => props.scene.shapes[active()];

  /** Draws, and puts the view where something happened when nothing was looked at before. */
  const [part, setPart] = createSignal<Part>(
    { left: 0, top: 0, right: 2 * TILE, bottom: 2 * TILE },
    {
      equals: (a, b) =>
        a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom,
    },
  );
  const look = () => {
    const scale = zoom();
    const left = view.scrollLeft / scale;
    const top = view.scrollTop / scale;
    const before = (at: number) => (Math.floor(at / TILE) - 0.5) * TILE;
    const after = (at: number) => (Math.ceil(at / TILE) + 0.5) * TILE;
    setPart({
      left: before(left),
      top: before(top),
      right: after(left + view.clientWidth / scale),
      bottom: after(top + view.clientHeight / scale),
    });
  };
  onMount(() => {
    const observer = new ResizeObserver(look);
    observer.observe(view);
    onCleanup(() => observer.disconnect());
  });
  createEffect(on(zoom, () => requestAnimationFrame(look), { defer: true }));
  createEffect(
    on(
      () => props.scene,
      () => setActive(-1),
      { defer: true },
    ),
  );
  createEffect(() => {
    picture.innerHTML = drawing(props.scene, part());
    untrack(mark);
  });
  /** The shape whose expression is followed. */
  const followed = createMemo(() => {
    const entries = app.followed()?.history.entries ?? [];
    const has = new Set(entries.map((entry) => `${entry.version} ${entry.node}`));
    return props.scene.shapes.findIndex((item) => {
      const node = props.graph.nodes[item.id];
      return node && has.has(`${node.version} ${node.node}`);
    });
  });
  const mark = () => {
    picture.querySelectorAll(".active, .followed-node").forEach((node) => {
      node.classList.remove("active", "followed-node");
    });
    const at = (index: number) => picture.querySelector(`[data-index="${index}"]`);
    if (active() >= 0) at(active())?.classList.add("active");
    if (followed() >= 0) at(followed())?.classList.add("followed-node");
  };
  createEffect(on([active, followed], mark));

  const show = (index: number) => {
    const target = props.scene.shapes[index];
    if (!target) return;
    const scale = zoom();
    const [left, top] = [target.x * scale, target.y * scale];
    const [width, height] = [NODE.width * scale, NODE.height * scale];
    const seen =
      left >= view.scrollLeft &&
      top >= view.scrollTop &&
      left + width <= view.scrollLeft + view.clientWidth &&
      top + height <= view.scrollTop + view.clientHeight;
    if (seen) return;
    view.scrollLeft = left + width / 2 - view.clientWidth / 2;
    view.scrollTop = top + height / 2 - view.clientHeight / 2;
  };
  const fitWidth = () => {
    const { width } = props.scene;
    const best = [...ZOOMS].reverse().find((scale) => width * scale <= view.clientWidth);
    // Smaller than half nobody reads it.
    setZoom(Math.max(0.5, Math.min(1, best ?? 0.5)));
  };
  onMount(() => {
    fitWidth();
    const changed = nextChanged(-1, 1);
    requestAnimationFrame(() => show(changed >= 0 ? changed : (order()[0] ?? 0)));
  });

  const isChanged = (index: number) => (props.scene.shapes[index]?.fate ?? "same") !== "same";
  /** Down the picture, row by row. */
  const order = createMemo(() => {
    const { shapes } = props.scene;
    return shapes
      .map((_, index) => index)
      .sort((a, b) => {
        const [one, other] = [shapes[a] as Shape, shapes[b] as Shape];
        return one.y - other.y || one.x - other.x;
      });
  });
  const nextChanged = (from: number, by: 1 | -1): number => {
    const all = order();
    const start = from < 0 ? (by > 0 ? -1 : all.length) : all.indexOf(from);
    for (let at = start + by; at >= 0 && at < all.length; at += by) {
      const index = all[at] as number;
      if (isChanged(index)) return index;
    }
    return -1;
  };
  const jump = (by: 1 | -1) => {
    const next = nextChanged(active(), by);
    if (next < 0) return;
    setActive(next);
    show(next);
  };
  app.panels.offer({ hunk: jump });

  const zoomBy = (by: 1 | -1, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
    const old = zoom();
    const next =
      by > 0
        ? ZOOMS.find((scale) => scale > old)
        : [...ZOOMS].reverse().find((scale) => scale < old);
    if (!next) return;
    // What is under the pointer stays there.
    const [left, top] = [view.scrollLeft + x, view.scrollTop + y].map((at) => (at * next) / old);
    setZoom(next);
    view.scrollLeft = (left ?? 0) - x;
    view.scrollTop = (top ?? 0) - y;
  };
  const open = (index: number) => {
    const target = props.scene.shapes[index];
    if (!target) return;
    if (target.id < 0) {
      props.onFold(-1 - target.id);
      return;
    }
    const node = props.graph.nodes[target.id];
    if (node) app.follow(node.version, { node: node.node });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) {
      const next = active() < 0 ? (order()[0] ?? -1) : towards(props.scene, active(), event.key);
      if (next >= 0) {
        setActive(next);
        show(next);
      }
    } else if (event.key === "Home" || event.key === "End") {
      setActive((event.key === "Home" ? order()[0] : order().at(-1)) ?? -1);
      show(active());
    } else if (event.key === "Enter" || event.key === " ") open(active());
    else if (event.key === "+") zoomBy(1);
    else if (event.key === "-") zoomBy(-1);
    else return;
    event.preventDefault();
  };

  let drag: { x: number; y: number; left: number; top: number; moved: boolean } | null = null;
  const press = (event: PointerEvent) => {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    drag = {
      x: event.clientX,
      y: event.clientY,
      left: view.scrollLeft,
      top: view.scrollTop,
      moved: false,
    };
  };
  const pull = (event: PointerEvent) => {
    if (!drag || event.buttons === 0) {
      drag = null;
      return;
    }
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    drag.moved = true;
    view.scrollLeft = drag.left - dx;
    view.scrollTop = drag.top - dy;
  };
  const click = (event: MouseEvent) => {
    const moved = drag?.moved;
    drag = null;
    if (moved || !(event.target instanceof Element)) return;
    const group = event.target.closest("[data-group]")?.getAttribute("data-group");
    if (group) {
      props.onFold(Number(group));
      return;
    }
    const index = event.target.closest("[data-index]")?.getAttribute("data-index");
    if (!index) return;
    setActive(Number(index));
    open(Number(index));
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = view.getBoundingClientRect();
    zoomBy(event.deltaY < 0 ? 1 : -1, event.clientX - at.left, event.clientY - at.top);
  };
  onMount(() => {
    view.addEventListener("wheel", wheel, { passive: false });
    onCleanup(() => view.removeEventListener("wheel", wheel));
  });

  const spoken = () => {
    const now = shape();
    if (!now) return "";
    const node = props.graph.nodes[now.id];
    const title = props.graph.groups[now.group]?.title ?? "";
    if (!node) return `${title}, folded, ${now.detail}`;
    const parts = [node.label, fateWords[node.fate], node.ty, `in ${title}`];
    if (node.leaves) parts.push(`with ${node.leaves}`);
    if (node.result) parts.push("result");
    const parent = props.graph.nodes[props.parents[now.id] ?? -1];
    if (parent) parts.push(`post-dominated by ${parent.label}`);
    return parts.filter(Boolean).join(", ");
  };

  return (
    <div class="graph-frame">
      <div
        class="graph-view"
        ref={view}
        role="application"
        aria-roledescription="graph"
        aria-label={`Graph of the program, ${props.scene.shapes.length} nodes`}
        tabIndex="0"
        onKeyDown={keys}
        onPointerDown={press}
        onPointerMove={pull}
        onClick={click}
        onScroll={look}
      >
        <svg
          ref={picture}
          aria-hidden="true"
          width={props.scene.width * zoom()}
          height={props.scene.height * zoom()}
          viewBox={`0 0 ${props.scene.width} ${props.scene.height}`}
        />
      </div>
      <p class="sr" role="status">
        {spoken()}
      </p>
      <Show when={shape()}>
        <p class="graph-said" aria-hidden="true">
          {fateSign[shape()?.fate ?? "same"]}
          {spoken()}
        </p>
      </Show>
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Smaller" onClick={() => zoomBy(-1)}>
          −
        </button>
        <button
          type="button"
          title="Fit the width"
          onClick={() => {
            fitWidth();
            view.scrollLeft = 0;
          }}
        >
          Fit, {Math.round(zoom() * 100)} %
        </button>
        <button type="button" aria-label="Larger" onClick={() => zoomBy(1)}>
          +
        </button>
      </div>
    </div>
  );
}
