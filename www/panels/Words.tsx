/** A message of the engine, in which names stand in backquotes. */
import { For, type JSX } from "solid-js";

/** Sets what stands in backquotes as code. No other character has a meaning: types are written with asterisks. */
export function Words(props: { text: string }): JSX.Element {
  // Every second part was in backquotes.
  const parts = () => props.text.split(/`([^`\n]+)`/);
  return <For each={parts()}>{(part, at) => (at() % 2 ? <code>{part}</code> : part)}</For>;
}
