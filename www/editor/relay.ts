/**
 * Colours for Relay text and TVMScript: one small tokeniser, used by the editor and by the
 * read-only views (line by line, so a line must tell by itself which of the two it is). It follows TVM's lexer where
 * that can be seen: nested comments, `%0` and `%name`, `@global`, `meta[...]`, numbers with their width suffix; and
 * Python where TVMScript is written in it. It never judges; the engine does.
 */
export type Token =
  | "comment"
  | "type-comment"
  | "keyword"
  | "local"
  | "global"
  | "op"
  | "type"
  | "number"
  | "string"
  | "attribute"
  | "meta"
  | null;

/** The number of open `/*`: the only state that reaches from one line into the next. */
export interface Depth {
  comment: number;
}

const KEYWORDS = new Set([
  "let",
  "fn",
  "def",
  "if",
  "else",
  "type",
  "match",
  "extern",
  "free_var",
  "ref",
  "ref_read",
  "ref_write",
  "return",
  "with",
  "class",
  "for",
  "in",
  "while",
  "assert",
  "and",
  "or",
  "not",
  "lambda",
  "pass",
  "from",
  "import",
  "as",
]);
const WORD = /[A-Za-z_][\w.]*/y;
const VARIABLE = /%[\w]+/y;
const GLOBAL = /@\w[\w.]*/y;
const NUMBER = /-?\d[\d.]*(?:e[+-]?\d+)?(?:[fi]\d*)?|-?inff/.source;
/** Numbers of a list are one token: the browser lays out and paints every token separately. */
const NUMBERS = new RegExp(`(?:${NUMBER})(?:, (?:${NUMBER}))*`, "y");
/** Types that are one token together with their brackets, and literals of TIR. */
const WHOLE = /^(?:Tensor|R\.(?:Tensor|Shape|Prim|DTensor)|T\.Buffer)$/;
const LITERAL = /T\.(?:u?int|float|bfloat|bool)\d*\((?:-?\d[\w.+-]*|True|False)\)/y;
const OPEN = "([";
const CLOSE = ")]";
const TYPE =
  /^(?:Tensor|int\d|uint\d|float\d|bfloat|bool$|int$|[RI]\.[A-Z]|T\.(?:u?int\d|float\d|bfloat|bool$|handle$|[A-Z]))/;
/** The most characters around a sign that decide its meaning, so that a long line takes no quadratic time. */
const FAR = 400;
/** Matches lines that only Relay can have: after a match, `//` is a comment and no division. */
const RELAY = /[%@]\w|[;{}]|^\s*$/;

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

/** Returns the token that starts at `at` and where it ends; the end is always beyond `at`. */
export function scan(text: string, at: number, depth: Depth): [Token, number] {
  if (depth.comment > 0) return insideComment(text, at, depth, "comment");
  const char = text[at] ?? "";
  if (char === "/" && text[at + 1] === "/") {
    return RELAY.test(text.slice(Math.max(0, at - FAR), at))
      ? ["comment", text.length]
      : [null, at + 2];
  }
  if (char === "/" && text[at + 1] === "*") {
    depth.comment = 1;
    const typed = /\/\*\s*(?:ty|span)=/y;
    const kind = match(typed, text, at) > 0 ? "type-comment" : "comment";
    return insideComment(text, at + 2, depth, kind);
  }
  if (char === "%") {
    const length = match(VARIABLE, text, at);
    if (length) return ["local", at + length];
  } else if (char === "@") {
    const length = match(GLOBAL, text, at);
    if (length) return ["global", at + length];
  } else if (char === "#") {
    return [text[at + 1] === "[" ? "meta" : "comment", text.length];
  } else if (char === '"') {
    const end = text.indexOf('"', at + 1);
    return ["string", end < 0 ? text.length : end + 1];
  } else if (/[\d-]/.test(char)) {
    const length = match(NUMBERS, text, at);
    if (length) return ["number", at + length];
  } else {
    const literal = char === "T" ? match(LITERAL, text, at) : 0;
    if (literal) return ["number", at + literal];
    const end = at + match(WORD, text, at);
    if (end > at) {
      if (WHOLE.test(text.slice(at, end))) return ["type", closing(text, end)];
      return [word(text, at, end), end];
    }
  }
  return [null, at + 1];
}

/** Returns the end of the bracket that opens at `from`; `from` itself if there is none near on this line. */
function closing(text: string, from: number): number {
  let depth = 0;
  const end = Math.min(text.length, from + FAR);
  for (let at = from; at < end; at++) {
    const char = text[at] ?? "";
    if (OPEN.includes(char)) depth++;
    else if (CLOSE.includes(char)) depth--;
    if (depth <= 0) return depth === 0 && at > from ? at + 1 : from;
  }
  return from;
}

function word(text: string, from: number, to: number): Token {
  const name = text.slice(from, to);
  if ((name === "meta" || name === "metadata") && text[to] === "[") return "meta";
  if (KEYWORDS.has(name)) return "keyword";
  if (name === "True" || name === "False" || name === "None" || name === "nullptr") return "number";
  if (TYPE.test(name)) return "type";
  if (text[to] === "=" && text[to + 1] !== "=") return "attribute";
  if (/^[A-Z]\w*$/.test(name)) return "type";
  if (name.includes(".") || text[to] === "(") return "op";
  return "local";
}

function insideComment(text: string, from: number, depth: Depth, kind: Token): [Token, number] {
  let at = from;
  while (at < text.length) {
    if (text.startsWith("*/", at)) {
      depth.comment--;
      at += 2;
      if (depth.comment === 0) return [kind, at];
    } else if (text.startsWith("/*", at)) {
      depth.comment++;
      at += 2;
    } else {
      at++;
    }
  }
  return [kind, text.length];
}

export interface Piece {
  from: number;
  to: number;
  token: Token;
}

/** Cuts a line in pieces; pieces without a token are joined. */
export function pieces(line: string, depth: Depth = { comment: 0 }): Piece[] {
  const result: Piece[] = [];
  let at = 0;
  while (at < line.length) {
    const [token, end] = scan(line, at, depth);
    const last = result.at(-1);
    if (last && last.token === token && token === null) last.to = end;
    else result.push({ from: at, to: end, token });
    at = end;
  }
  return result;
}
