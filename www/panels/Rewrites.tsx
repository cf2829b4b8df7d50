/** The rewrites of the step, with a slider: the diff beside it shows those done so far. Loaded on demand. */
import { createEffect, createMemo, For, on, Show } from "solid-js";
import type { Inside } from "../state/rewrites";
import { useApp } from "./context";
import "../styles/rewrites.css";

/** More are not listed at once; the slider goes through all of them. */
const WINDOW = 200;

export default function Rewrites(props: { inside: Inside }) {
  const app = useApp();
  let list!: HTMLOListElement;
  const { at, go } = app.rewrites;
  const count = () => props.inside.list.length;
  const first = createMemo(() =>
    Math.max(0, Math.min(count() - WINDOW, at() - Math.floor(WINDOW / 2))),
  );
  const shown = createMemo(() => props.inside.list.slice(first(), first() + WINDOW));
  const last = () => props.inside.list[at() - 1];
  const words = (rewrite: { pre: string; post: string }) =>
    rewrite.pre === rewrite.post ? rewrite.pre : `${rewrite.pre} → ${rewrite.post}`;
  createEffect(
    on(at, () => list.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" })),
  );
  return (
    <section class="rewrites" aria-label="Rewrites">
      <label class="row">
        <span>Rewrites done</span>
        <input
          type="range"
          min="0"
          max={count()}
          value={at()}
          aria-valuetext={`${at()} of ${count()}${last() ? `, ${last()?.rule}` : ""}`}
          onInput={(event) => go(event.currentTarget.valueAsNumber)}
        />
        <output class="number">
          {at()} of {count()}
        </output>
      </label>
      <Show when={app.rewrites.refused()}>
        {(message) => (
          <p class="quiet" role="status">
            {message()}
          </p>
        )}
      </Show>
      <ol start={first() + 1} ref={list} aria-label="Rewrites in order">
        <For each={shown()}>
          {(rewrite, index) => {
            const number = () => first() + index() + 1;
            return (
              <li classList={{ undone: number() > at() }}>
                <button type="button" aria-current={number() === at()} onClick={() => go(number())}>
                  <span class="number quiet">{number()}</span>
                  <span>{rewrite.rule}</span>
                  <code>{words(rewrite)}</code>
                </button>
              </li>
            );
          }}
        </For>
      </ol>
    </section>
  );
}
