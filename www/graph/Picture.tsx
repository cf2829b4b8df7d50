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
import { type Camera, createCamera } from "./camera";
import { drawing } from "./drawing";
import { Minimap } from "./Minimap";
import { fateSign, type Scene, type Shape, towards } from "./scene";

/** The smallest scale with legible labels: below it only boxes are drawn. */
const LEGIBLE = 0.5;

const fateWords = {
  same: "",
  rewritten: "rewritten",
  made: "made here",
  removed: "removed",
} as const;

interface Pictured {
  graph: Graph;
  scene: Scene;
  parents: readonly number[];
  finder: Finder;
  onFold(group: number): void;
}

type Walk = ReturnType<typeof createWalk>;

/** Goes from node to node and from change to change, and opens a node or box. */
function createWalk(props: Pictured, camera: Camera) {
  const app = useApp();
  const [active, setActive] = createSignal(-1);
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
  createEffect(
    on(
      () => props.scene,
      () => setActive(-1),
      { defer: true },
    ),
  );
  const goTo = (index: number) => {
    setActive(index);
    camera.show(index);
  };
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
  return {
    active,
    setActive,
    order,
    goTo,
    open,
    nextChanged,
    jump(by: 1 | -1): void {
      const next = nextChanged(active(), by);
      if (next >= 0) goTo(next);
    },
  };
}

/** Draws the visible part, and marks in it the active node, the found ones and the followed one. */
function createMarks(
  props: Pictured,
  { active, order, goTo }: Walk,
  { part }: Camera,
  picture: () => SVGSVGElement,
) {
  const app = useApp();
  createEffect(() => {
    picture().innerHTML = drawing(props.scene, part());
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
      if (index !== undefined) goTo(index);
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
    const all = picture();
    all.querySelectorAll(".active, .followed-node, .found-node").forEach((node) => {
      node.classList.remove("active", "followed-node", "found-node");
    });
    const at = (index: number) => all.querySelector(`[data-index="${index}"]`);
    if (active() >= 0) at(active())?.classList.add("active");
    for (const index of found()) at(index)?.classList.add("found-node");
    if (followed() >= 0) at(followed())?.classList.add("followed-node");
  };
  createEffect(on([active, followed, found], mark));
}

/** Lets the mouse pull the picture, open the node or box that it clicks, and zoom by its wheel. */
function createPointer(
  props: Pictured,
  { scrollTo, zoomBy }: Camera,
  { setActive, open }: Walk,
  view: () => HTMLElement,
) {
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = view().getBoundingClientRect();
    zoomBy(event.deltaY < 0 ? 1 : -1, event.clientX - at.left, event.clientY - at.top);
  };
  onMount(() => {
    view().addEventListener("wheel", wheel, { passive: false });
    onCleanup(() => view().removeEventListener("wheel", wheel));
  });

  let drag: { x: number; y: number; left: number; top: number; moved: boolean } | null = null;
  return {
    press(event: PointerEvent): void {
      if (event.button !== 0 || event.pointerType !== "mouse") return;
      drag = {
        x: event.clientX,
        y: event.clientY,
        left: view().scrollLeft,
        top: view().scrollTop,
        moved: false,
      };
    },
    pull(event: PointerEvent): void {
      if (!drag || event.buttons === 0) {
        drag = null;
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      drag.moved = true;
      scrollTo(drag.left - dx, drag.top - dy);
    },
    click(event: MouseEvent): void {
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
    },
  };
}

/** Tells about a node or box, for those who do not see it. */
function spokenOf(props: Pictured, now: Shape | undefined): string {
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
}

export function Picture(props: Pictured) {
  const app = useApp();
  let view!: HTMLDivElement;
  let picture!: SVGSVGElement;
  const camera = createCamera(
    () => props.scene,
    () => view,
  );
  const { zoom, zoomBy } = camera;
  const walk = createWalk(props, camera);
  const { active, order, goTo, open } = walk;
  const shape = (): Shape | undefined => props.scene.shapes[active()];
  createMarks(props, walk, camera, () => picture);
  onMount(() => {
    // To be read, unless all of it fits: the map tells where in it that is.
    const all = camera.scaleToFit(true);
    camera.setZoom(all >= 0.7 ? all : Math.max(0.8, camera.scaleToFit(false)));
    const changed = walk.nextChanged(-1, 1);
    requestAnimationFrame(() => camera.show(changed >= 0 ? changed : (order()[0] ?? 0)));
  });
  app.panels.offer({ hunk: walk.jump });

  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) {
      const next = active() < 0 ? (order()[0] ?? -1) : towards(props.scene, active(), event.key);
      if (next >= 0) goTo(next);
    } else if (event.key === "Home" || event.key === "End")
      goTo((event.key === "Home" ? order()[0] : order().at(-1)) ?? -1);
    else if (event.key === "Enter" || event.key === " ") open(active());
    else if (event.key === "+") zoomBy(1);
    else if (event.key === "-") zoomBy(-1);
    else return;
    event.preventDefault();
  };
  const pointer = createPointer(props, camera, walk, () => view);
  const spoken = () => spokenOf(props, shape());

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
        onPointerDown={pointer.press}
        onPointerMove={pointer.pull}
        onClick={pointer.click}
        onScroll={camera.look}
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
        sight={camera.sight()}
        onGo={(x, y) =>
          camera.scrollTo(x * zoom() - view.clientWidth / 2, y * zoom() - view.clientHeight / 2)
        }
      />
      <ZoomBar camera={camera} />
    </div>
  );
}

/** The buttons for the scale. */
function ZoomBar(props: { camera: Camera }) {
  return (
    <div class="graph-zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Smaller" onClick={() => props.camera.zoomBy(-1)}>
        −
      </button>
      <button
        type="button"
        title="Fit: all of it is seen"
        onClick={() => {
          props.camera.setZoom(props.camera.scaleToFit(true));
          props.camera.scrollTo(0, 0);
        }}
      >
        Fit, {Math.round(props.camera.zoom() * 100)} %
      </button>
      <button type="button" aria-label="Larger" onClick={() => props.camera.zoomBy(1)}>
        +
      </button>
    </div>
  );
}
