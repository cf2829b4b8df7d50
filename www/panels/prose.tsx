/** The little Markdown that lessons and documentation are written in: paragraphs, lists, `code`, **strong**, *names*. */
import { For, type JSX } from "solid-js";

function inline(text: string): JSX.Element[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part) => {
    if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong>{inline(part.slice(2, -2))}</strong>;
    if (part.startsWith("*") && part.length > 2) return <em>{part.slice(1, -1)}</em>;
    return part;
  });
}

/** Makes a text in a line of its own. */
export const Inline = (props: { text: string }) => <>{inline(props.text)}</>;

export function Prose(props: { text: string }) {
  return (
    <For each={props.text.trim().split(/\n\s*\n/)}>{(paragraph) => <p>{inline(paragraph)}</p>}</For>
  );
}
