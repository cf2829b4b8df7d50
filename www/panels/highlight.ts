/** Colours matches of a text in the drawn lines without changing elements: by the browser's registry of highlights. */

/** Without the registry only the line of the place that is shown is marked. */
const registry = (globalThis.CSS as { highlights?: Map<string, unknown> } | undefined)?.highlights;

/** By the one who asked, so that two texts beside each other keep theirs. */
const shown = new Map<string, { all: Range[]; now: Range[] }>();

/** Returns the matches of a text in a drawn line, ignoring case. */
export function rangesOf(line: Element, wanted: string): Range[] {
  const nodes: { node: Text; from: number }[] = [];
  let text = "";
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest(".sr, .sign")) continue;
    nodes.push({ node: node as Text, from: text.length });
    text += node.textContent ?? "";
  }
  const place = (offset: number) => {
    const found = nodes.findLast(({ from }) => from <= offset);
    return found && ([found.node, offset - found.from] as const);
  };
  const ranges: Range[] = [];
  const all = text.toLowerCase();
  const needle = wanted.toLowerCase();
  for (let at = all.indexOf(needle); at >= 0; at = all.indexOf(needle, at + needle.length)) {
    const [start, end] = [place(at), place(at + needle.length - 1)];
    if (!start || !end) continue;
    const range = document.createRange();
    range.setStart(...start);
    range.setEnd(end[0], end[1] + 1);
    ranges.push(range);
  }
  return ranges;
}

export function createHighlighter(name: string) {
  return {
    /** Colours these; those in the element more strongly. */
    show(ranges: Range[], element: Element | null): void {
      if (!registry || (ranges.length === 0 && !shown.has(name))) return;
      if (ranges.length === 0) shown.delete(name);
      else {
        const now = ranges.filter((range) => element?.contains(range.startContainer));
        shown.set(name, { all: ranges, now });
      }
      const every = [...shown.values()];
      const Kind = (globalThis as unknown as { Highlight: new (...of: Range[]) => unknown })
        .Highlight;
      registry.set("found", new Kind(...every.flatMap(({ all }) => all)));
      registry.set("found-now", new Kind(...every.flatMap(({ now }) => now)));
    },
  };
}
