/** Draws the visible part of the graph, as text of SVG. */
import { dominatorPath, edgePath, NODE, type Scene } from "./scene";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => ESCAPES[char] ?? char);

/** A part of the picture, in its own units. */
export interface Part {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The drawn part is a little larger than the visible one, in steps, so that scrolling seldom draws anew. */
export const TILE = 600;

/** The number of background tints, which tell adjacent boxes apart; one function has one tint. */
const TINTS = 4;

const ARROWS = ["same", "made", "removed"]
  .map(
    (kind) =>
      `<marker id="arrow-${kind}" class="arrow ${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8Z"/></marker>`,
  )
  .join("");

/**
 * Draws the visible part of the scene as text: the browser parses it in one go, several times faster than making each
 * element. Most of a network is out of sight, and laying out its text is what takes time.
 */
export function drawing(scene: Scene, part: Part): string {
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
    // Several parts show only their outline: a cover is drawn over the inside.
    const inner = box.parts.length > 1 ? `<g class="cover">${rects}</g>` : "";
    const joints = box.joints.map((path) => `<path class="joint" d="${path}"/>`).join("");
    return `<g class="box${box.made ? " made" : ""} tint-${box.group % TINTS}">${joints}${rects}${inner}<text data-group="${box.group}" x="${first.left + 8}" y="${first.top + 14}">▾ ${box.made ? "+ " : ""}${escaped(box.title)}</text></g>`;
  });
  const edges = scene.edges.map(([from, to]) => {
    const [a, b] = [scene.shapes[from], scene.shapes[to]];
    if (!a || !b) return "";
    const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x) + 2 * NODE.width];
    if (!meets(left, Math.min(a.y, b.y), right, Math.max(a.y, b.y) + NODE.height)) return "";
    const gone = a.fate === "removed" || b.fate === "removed";
    const made = !gone && (a.fate === "made" || b.fate === "made");
    const kind = gone ? "removed" : made ? "made" : "same";
    return `<path class="edge ${kind}" marker-end="url(#arrow-${kind})" d="${edgePath(a, b, scene.rows)}"/>`;
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
  return ARROWS + boxes.join("") + edges.join("") + dominators.join("") + nodes.join("");
}
