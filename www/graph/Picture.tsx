/** The picture of a graph: its visible part, navigation, search, and a map of the whole. */
import {
  createEffect,
  createMemo,
  createSignal,
  on,
  onCleanup,
  onMount,
  Show,
  untrack,
} from "solid-js";
import type { Graph } from "../engine/protocol";
import { useApp } from "../panels/context";
import type { Finder } from "../panels/finder";
import { drawing, type Part, TILE } from "./drawing";
import { Minimap } from "./Minimap";
import { fateSign, NODE, type Scene, type Shape, towards } from "./scene";

const ZOOMS = [0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];
/** The smallest scale with legible labels: below it only boxes are drawn. */
const LEGIBLE = 0.5;
/** The height in pixels of the bar that covers the foot of the picture. */
const FOOT = 56;

const fateWords = {
  same: "",
  rewritten: "rewritten",
  made: "made here",
  removed: "removed",
} as const;

export function Picture(props: {
  graph: Graph;
  scene: Scene;
  parents: readonly number[];
  finder: Finder;
  onFold(group: number): void;
}) {
  const app = useApp();
  let view!: HTMLDivElement;
  let picture!: SVGSVGElement;
  const [zoom, setZoom] = createSignal(1);
  const [active, setActive] = createSignal(-1);
  const shape = (): Shape | undefined => props.scene.shapes[active()];

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
  /** Draws, and scrolls to the first change unless there was a view before. */
  const [part, setPart] = createSignal<Part>(
    { left: 0, top: 0, right: 2 * TILE, bottom: 2 * TILE },
    {
      equals: (a, b) =>
        a.left === b.left && a.top === b.top && a.right === b.right && a.bottom === b.bottom,
    },
  );
  /** The visible part, in the units of the picture. */
  const [sight, setSight] = createSignal<Part>({ left: 0, top: 0, right: 0, bottom: 0 });
  const look = () => {
    const scale = zoom();
    const left = view.scrollLeft / scale;
    const top = view.scrollTop / scale;
    const before = (at: number) => (Math.floor(at / TILE) - 0.5) * TILE;
    const after = (at: number) => (Math.ceil(at / TILE) + 0.5) * TILE;
    setSight({
      left,
      top,
      right: left + view.clientWidth / scale,
      bottom: top + view.clientHeight / scale,
    });
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

  const found = createMemo(() => {
    const wanted = props.finder.text().toLowerCase();
    if (!wanted) return [];
    return order().filter((index) => {
      const item = props.scene.shapes[index];
      const node = item && props.graph.nodes[item.id];
      const said = node ? [node.label, node.leaves, node.ty] : [item?.label ?? ""];
      return said.some((text) => text.toLowerCase().includes(wanted));
    });
  });
  props.finder.join({
    count: () => found().length,
    show(at) {
      const index = found()[at];
      if (index === undefined) return;
      setActive(index);
      show(index);
    },
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
    picture.querySelectorAll(".active, .followed-node, .found-node").forEach((node) => {
      node.classList.remove("active", "followed-node", "found-node");
    });
    const at = (index: number) => picture.querySelector(`[data-index="${index}"]`);
    if (active() >= 0) at(active())?.classList.add("active");
    for (const index of found()) at(index)?.classList.add("found-node");
    if (followed() >= 0) at(followed())?.classList.add("followed-node");
  };
  createEffect(on([active, followed, found], mark));

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
      top + height <= view.scrollTop + view.clientHeight - FOOT;
    if (seen) return;
    view.scrollLeft = left + width / 2 - view.clientWidth / 2;
    view.scrollTop = top + height / 2 - (view.clientHeight - FOOT) / 2;
  };
  /** Returns the scale at which all of it is visible, or all of its width. */
  const scaleToFit = (height: boolean) => {
    const { clientWidth, clientHeight } = view;
    const scales = [clientWidth / props.scene.width];
    if (height) scales.push(clientHeight / props.scene.height);
    const best = Math.min(1, ...scales.filter(Number.isFinite));
    return Math.max(ZOOMS[0] as number, Math.floor(best * 100) / 100);
  };
  onMount(() => {
    // To be read, unless all of it fits: the map tells where in it that is.
    const all = scaleToFit(true);
    setZoom(all >= 0.7 ? all : Math.max(0.8, scaleToFit(false)));
    const changed = nextChanged(-1, 1);
    requestAnimationFrame(() => show(changed >= 0 ? changed : (order()[0] ?? 0)));
  });

  const isChanged = (index: number) => (props.scene.shapes[index]?.fate ?? "same") !== "same";
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
    // Keeps the point under the pointer in its place.
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
        classList={{ far: zoom() < LEGIBLE }}
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
      <Minimap
        scene={props.scene}
        sight={sight()}
        onGo={(x, y) => {
          view.scrollLeft = x * zoom() - view.clientWidth / 2;
          view.scrollTop = y * zoom() - view.clientHeight / 2;
        }}
      />
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Smaller" onClick={() => zoomBy(-1)}>
          −
        </button>
        <button
          type="button"
          title="Fit: all of it is seen"
          onClick={() => {
            setZoom(scaleToFit(true));
            view.scrollLeft = 0;
            view.scrollTop = 0;
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
