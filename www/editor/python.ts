/** Scans Python as far as an editor of scripts needs it: comments, texts, keywords, numbers, decorators and names. */
import type { Token } from "./javascript";

export const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case self".split(
    " ",
  ),
);

const LEXEME =
  /(?<comment>#[^\n]*)|(?<string>(?:\b[rbuft]{1,2})?(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(?<op>@[\w.]+)|(?<number>\b(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?)j?)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<sign>[^\s\w])/giu;

/** All tokens of a text. A text in three quotes that nothing ends goes on to the end. */
export function pythonTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const { index, 0: whole, groups = {} } of text.matchAll(LEXEME)) {
    const to = index + whole.length;
    let kind: Token["kind"] = "sign";
    if (groups.word === undefined)
      for (const one of ["comment", "string", "op", "number"] as const)
        if (groups[one] !== undefined) kind = one;
    if (groups.word !== undefined) {
      if (text[index - 1] !== "." && PYTHON_KEYWORDS.has(whole)) kind = "keyword";
      else if (/^[A-Z]/.test(whole)) kind = "type";
      else kind = text[to] === "(" ? "op" : "name";
    }
    // A decorator begins a line; elsewhere the sign multiplies matrices.
    if (
      kind === "op" &&
      whole.startsWith("@") &&
      !/(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, index - 200), index))
    )
      tokens.push(
        { kind: "sign", from: index, to: index + 1 },
        { kind: "name", from: index + 1, to },
      );
    else tokens.push({ kind, from: index, to });
  }
  return tokens;
}

/** The names that a text uses, without those of members. */
export function pythonNames(text: string): string[] {
  const found = new Set<string>();
  for (const { kind, from, to } of pythonTokens(text))
    if (/^(?:name|type|op)$/.test(kind) && text[from - 1] !== "." && text[from] !== "@")
      found.add(text.slice(from, to));
  return [...found];
}
