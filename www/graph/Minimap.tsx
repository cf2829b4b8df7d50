/** A small map of the whole graph and its visible part. For the pointer: the keyboard goes from node to node. */
import { createMemo, Show } from "solid-js";
import type { Part } from "./drawing";
import { type Fate, NODE, type Scene } from "./scene";

/** The most that it takes, in pixels. */
const MOST = { width: 168, height: 128 };

const FATES: readonly Fate[] = ["same", "rewritten", "made", "removed"];

export function Minimap(props: {
  scene: Scene;
  sight: Part;
  /** Puts this place of the picture into the middle of the view. */
  onGo(x: number, y: number): void;
}) {
  const scale = createMemo(() =>
    Math.min(MOST.width / props.scene.width, MOST.height / props.scene.height),
  );
  /** One path for all nodes of a fate: a network has thousands. */
  const paths = createMemo(() =>
    FATES.map((fate) => ({
      fate,
      path: props.scene.shapes
        .filter((shape) => shape.fate === fate)
        .map(({ x, y }) => `M${x} ${y}h${NODE.width}v${NODE.height}h-${NODE.width}z`)
        .join(""),
    })),
  );
  const isPart = () => {
    const { left, top, right, bottom } = props.sight;
    const { width, height } = props.scene;
    return right > 0 && (left > 1 || top > 1 || right < width - 1 || bottom < height - 1);
  };
  const go = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    event.preventDefault();
    const map = (event.currentTarget as Element).getBoundingClientRect();
    props.onGo((event.clientX - map.left) / scale(), (event.clientY - map.top) / scale());
  };
  return (
    <Show when={isPart()}>
      <svg
        class="minimap"
        aria-hidden="true"
        width={Math.max(12, props.scene.width * scale())}
        height={Math.max(12, props.scene.height * scale())}
        viewBox={`0 0 ${props.scene.width} ${props.scene.height}`}
        preserveAspectRatio="none"
        onPointerDown={go}
        onPointerMove={go}
      >
        {paths().map(({ fate, path }) => path && <path class={fate} d={path} />)}
        <rect
          class="sight"
          x={props.sight.left}
          y={props.sight.top}
          width={Math.min(props.scene.width, props.sight.right) - props.sight.left}
          height={Math.min(props.scene.height, props.sight.bottom) - props.sight.top}
        />
      </svg>
    </Show>
  );
}
