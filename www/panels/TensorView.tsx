/** A tensor as a table or as a heat map, one slice of its last two axes at a time. Loaded on demand. */
import { createEffect, createMemo, createSignal, Index, Show } from "solid-js";
import type { ValuePart } from "../engine/protocol";
import {
  colour,
  factsOf,
  indexOf,
  legend,
  MOST_CELLS,
  MOST_COLUMNS,
  MOST_ROWS,
  number,
  sizeOf,
  sliceOf,
} from "../state/tensor";
import "../styles/values.css";

export type Look = "table" | "map";

export function TensorView(props: {
  part: ValuePart;
  look: Look;
  /** The tensor to compare with: heat maps of both have one scale. */
  beside?: ValuePart | undefined;
}) {
  const [at, setAt] = createSignal<readonly number[]>([]);
  const leading = () => props.part.shape.slice(0, -2);
  const slice = createMemo(() => sliceOf(props.part, at()));
  const facts = createMemo(() => factsOf(props.part.data));
  const scale = createMemo(() => {
    const both = [facts(), props.beside ? factsOf(props.beside.data) : null].filter(
      (one) => one !== null,
    );
    return {
      least: Math.min(...both.map(({ least }) => least)),
      most: Math.max(...both.map(({ most }) => most)),
    };
  });
  const missing = () => sizeOf(props.part.shape) - props.part.data.length;
  const place = (where: number) => `[${indexOf(where, props.part.shape).join(", ")}]`;
  const scalar = () => props.part.shape.length === 0;
  return (
    <div class="tensor">
      <h4>
        <code>{props.part.name}</code>{" "}
        <span class="quiet">
          {props.part.dtype}
          {props.part.dtype && !scalar() ? `[${props.part.shape.join(", ")}]` : ""}
        </span>
      </h4>
      <Show
        when={props.part.data.length > 0 && !scalar()}
        fallback={<pre tabIndex="0">{props.part.text}</pre>}
      >
        <p class="quiet">
          <Show when={facts()} fallback="no finite element">
            {(now) => (
              <>
                least {number(now().least)} at {place(now().leastAt)}, most {number(now().most)} at{" "}
                {place(now().mostAt)}, mean {number(now().mean)}
                {now().odd > 0 ? `, ${now().odd} not finite` : ""}
              </>
            )}
          </Show>
          {missing() > 0
            ? `. Of the first ${props.part.data.length} elements; ${missing()} more are not shown`
            : ""}
        </p>
        <Show when={leading().length > 0}>
          <div class="row slices" role="group" aria-label={`Slice of ${props.part.name}`}>
            <Index each={leading()}>
              {(extent, axis) => (
                <label>
                  <span>axis {axis}</span>
                  <input
                    type="number"
                    min="0"
                    max={extent() - 1}
                    value={at()[axis] ?? 0}
                    onInput={(event) => {
                      const wanted = Math.floor(event.currentTarget.valueAsNumber || 0);
                      const next = leading().map((_, other) => at()[other] ?? 0);
                      next[axis] = Math.max(0, Math.min(extent() - 1, wanted));
                      setAt(next);
                    }}
                  />
                  <span class="quiet">of {extent()}</span>
                </label>
              )}
            </Index>
          </div>
        </Show>
        <Show
          when={props.look === "map" && facts()}
          fallback={<Table part={props.part} slice={slice()} />}
        >
          <HeatMap part={props.part} slice={slice()} {...scale()} />
        </Show>
      </Show>
    </div>
  );
}

type Drawn = { part: ValuePart; slice: ReturnType<typeof sliceOf> };

function Table(props: Drawn) {
  const rows = () => Math.min(props.slice.rows, MOST_ROWS);
  const columns = () => Math.min(props.slice.columns, MOST_COLUMNS);
  const count = (n: number) => Array.from({ length: n }, (_, index) => index);
  const cell = (row: number, column: number) => {
    const element = props.slice.element(row, column);
    return element === undefined ? "…" : number(element);
  };
  const cut = () => rows() < props.slice.rows || columns() < props.slice.columns;
  return (
    <>
      <div class="cells" tabIndex="0" role="group" aria-label={`Elements of ${props.part.name}`}>
        <table>
          <thead>
            <tr>
              <td />
              <Index each={count(columns())}>{(column) => <th scope="col">{column()}</th>}</Index>
            </tr>
          </thead>
          <tbody>
            <Index each={count(rows())}>
              {(row) => (
                <tr>
                  <th scope="row">{row()}</th>
                  <Index each={count(columns())}>
                    {(column) => <td>{cell(row(), column())}</td>}
                  </Index>
                </tr>
              )}
            </Index>
          </tbody>
        </table>
      </div>
      <Show when={cut()}>
        <p class="quiet">
          The first {rows()} of {props.slice.rows} rows and {columns()} of {props.slice.columns}{" "}
          columns.
        </p>
      </Show>
    </>
  );
}

function HeatMap(props: Drawn & { least: number; most: number }) {
  let canvas!: HTMLCanvasElement;
  const rows = () => Math.min(props.slice.rows, MOST_CELLS);
  const columns = () => Math.min(props.slice.columns, MOST_CELLS);
  const [said, setSaid] = createSignal("");
  createEffect(() => {
    const [height, width] = [rows(), columns()];
    const { slice, least, most } = props;
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const image = context?.createImageData(width, height);
    if (!context || !image) return;
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const element = slice.element(row, column);
        const finite = element !== undefined && Number.isFinite(element);
        const share = finite ? (most > least ? (element - least) / (most - least) : 0.5) : 0;
        // Draws NaN and infinities in grey.
        image.data.set(
          [...(finite ? colour(share) : [128, 128, 128]), 255],
          4 * (row * width + column),
        );
      }
    }
    context.putImageData(image, 0, 0);
  });
  const point = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows());
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns());
    const element = props.slice.element(row, column);
    setSaid(element === undefined ? "" : `[${row}, ${column}] ${number(element)}`);
  };
  const side = () => Math.max(1, Math.min(24, Math.floor(360 / Math.max(rows(), columns()))));
  return (
    <div class="heat">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Heat map of ${props.part.name}: ${rows()} rows, ${columns()} columns, from ${number(props.least)} (dark) to ${number(props.most)} (light). The table has the numbers.`}
        style={{ width: `${columns() * side()}px`, height: `${rows() * side()}px` }}
        onPointerMove={point}
        onPointerLeave={() => setSaid("")}
      />
      <p class="legend" aria-hidden="true">
        <span>{number(props.least)}</span>
        <span class="ramp" style={{ background: legend }} />
        <span>{number(props.most)}</span>
        <span class="quiet">{said()}</span>
      </p>
    </div>
  );
}
