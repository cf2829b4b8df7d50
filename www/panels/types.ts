/** Reads the type of a name from the engine's text, for tooltips: the page hides types in the text by default. */

/** Matches a type comment. */
const COMMENT = /\/\* ty=(.*?) \*\/|\/\* ty=(.*?)\*\//g;

/** Returns the last type comment of a line: that of its binding or expression. */
function ownType(line: string): string {
  const all = [...line.matchAll(COMMENT)].at(-1);
  return (all?.[1] ?? all?.[2] ?? "").trim();
}

/** Returns the annotation at `at`: the text to the next comma, `)` or `=` outside of brackets. */
function annotation(text: string, at: number): string {
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    const char = text[index] ?? "";
    if ("([{<".includes(char)) depth++;
    else if (")]}>".includes(char) && depth-- === 0) return text.slice(at, index).trim();
    else if (depth === 0 && (char === "," || char === "=" || text.startsWith("/*", index)))
      return text.slice(at, index).trim();
  }
  return text.slice(at).trim();
}

/** Returns the type of a name that a line binds: empty if the line does not bind it, or has no type. */
function boundIn(line: string, name: string): string {
  const start = line.trimStart();
  const bare = start.startsWith("let ") ? start.slice(4) : start;
  if (bare.startsWith(name) && /^(: | = |:)/.test(bare.slice(name.length))) {
    if (bare.slice(name.length).startsWith(":")) return annotation(bare, name.length + 1);
    return ownType(line);
  }
  // A parameter, in the head of a function.
  if (!/\bfn \(|\bdef |^%\w+ = fn/.test(line)) return "";
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    const before = line[at - 1] ?? "";
    if ((before === "(" || before === " " || before === ",") && line[at + name.length] === ":")
      return annotation(line, at + name.length + 1);
  }
  return "";
}

/**
 * Returns the type of a word in a line (from 0) of a text, with the name that has it; for a word that is no name, the
 * type of the line's expression. Empty when the text has no type.
 */
export function typeAt(lines: readonly string[], line: number, word: string): string {
  const name = word.replace(/\.\d+$/, "");
  if (/^%|^(lv|gv|x)\w*$|^[a-z_]\w*$/i.test(name)) {
    for (let at = line; at >= 0; at--) {
      const found = boundIn(lines[at] ?? "", name);
      if (found) return `${name}: ${found}`;
    }
  }
  if (name.startsWith("%")) return "";
  return ownType(lines[line] ?? "");
}
