/** A message of the engine, in which names stand in backquotes. */
import { For, type JSX } from "solid-js";
import { quoted } from "../state/quoted";

/** Sets what stands in backquotes as code. */
export function Words(props: { text: string }): JSX.Element {
  return (
    <For each={quoted(props.text)}>{(part, at) => (at() % 2 ? <code>{part}</code> : part)}</For>
  );
}
