/**
 * Scans JavaScript as far as an editor of scripts needs it: comments, texts, keywords; the names in scope; and members
 * of a class being written. In one pass over the characters, without a grammar: that would be a third of all the code
 * of the page.
 */
import { indentService } from "@codemirror/language";
import { type Extension, Prec, RangeSetBuilder, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { languageOf } from "../user/language";
import { pythonTokens } from "./python";

const languages = new WeakMap<Text, boolean>();

/** True if a script is written in Python. */
export function inPython(doc: Text): boolean {
  const python = languages.get(doc) ?? languageOf(doc.sliceString(0, 20_000)) === "python";
  languages.set(doc, python);
  return python;
}

export interface Token {
  kind: "comment" | "string" | "keyword" | "number" | "type" | "op" | "name" | "sign";
  from: number;
  to: number;
}

export const KEYWORDS: ReadonlySet<string> = new Set(
  "async await break case catch class const continue debugger default delete do else extends false finally for function get if in instanceof let new null of return set static super switch this throw true try typeof undefined var void while yield".split(
    " ",
  ),
);

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?)n?/iy;
/** Behind these a slash divides; elsewhere it begins a pattern. */
const VALUE = /[\w$)\]}]/;
const PATTERN = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;

/** Returns all tokens of a text. An unterminated text or comment reaches to the end, or to the end of its line. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  /** Open braces of templates: how many braces were open in them. */
  const templates: number[] = [];
  let depth = 0;
  let value = false;
  const put = (kind: Token["kind"], from: number, to: number) => {
    tokens.push({ kind, from, to });
    value = kind === "number" || kind === "string" || VALUE.test(text[to - 1] ?? "");
    return to;
  };
  const match = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? "";
  };
  /** Scans a template from its first sign, or the end of an expression in it, to its end or the next one. */
  const template = (from: number) => {
    let at = from + 1;
    while (at < text.length && text[at] !== "`") {
      if (text[at] === "\\") at++;
      else if (text.startsWith("${", at)) {
        templates.push(depth++);
        put("string", from, at + 2);
        value = false;
        return at + 2;
      }
      at++;
    }
    return put("string", from, Math.min(text.length, at + 1));
  };
  for (let at = 0; at < text.length; ) {
    const char = text[at] ?? "";
    if (/\s/.test(char)) at++;
    else if (text.startsWith("//", at)) {
      const end = text.indexOf("\n", at);
      tokens.push({ kind: "comment", from: at, to: end < 0 ? text.length : end });
      at = tokens.at(-1)?.to ?? text.length;
    } else if (text.startsWith("/*", at)) {
      const end = text.indexOf("*/", at + 2);
      tokens.push({ kind: "comment", from: at, to: end < 0 ? text.length : end + 2 });
      at = tokens.at(-1)?.to ?? text.length;
    } else if (char === '"' || char === "'") {
      let end = at + 1;
      while (end < text.length && text[end] !== char && text[end] !== "\n")
        end += text[end] === "\\" ? 2 : 1;
      at = put("string", at, Math.min(text.length, end + (text[end] === char ? 1 : 0)));
    } else if (char === "`") at = template(at);
    else if (char === "}" && templates.at(-1) === depth - 1) {
      depth = templates.pop() as number;
      at = template(at);
    } else if (/\d/.test(char)) at = put("number", at, at + Math.max(1, match(NUMBER, at).length));
    else if (char === "/" && !value && match(PATTERN, at))
      at = put("string", at, at + match(PATTERN, at).length);
    else {
      const word = match(WORD, at);
      const end = at + Math.max(1, word.length);
      if (!word) {
        if (char === "{") depth++;
        else if (char === "}") depth--;
        at = put("sign", at, end);
      } else if (text[at - 1] !== "." && KEYWORDS.has(word)) {
        at = put("keyword", at, end);
        value = /^(this|super|null|true|false|undefined)$/.test(word);
      } else if (/^[A-Z]/.test(word)) at = put("type", at, end);
      else at = put(text[end] === "(" ? "op" : "name", at, end);
    }
  }
  return tokens;
}

const known = new WeakMap<Text, Token[]>();

/** The tokens of a script in the language that it is written in. */
function tokensOfDoc(doc: Text): Token[] {
  const scan = inPython(doc) ? pythonTokens : tokensOf;
  const tokens = known.get(doc) ?? scan(doc.toString());
  known.set(doc, tokens);
  return tokens;
}

/** A place in a script. */
export interface Where {
  /** In a text or a comment, where nothing is completed. */
  quoted: boolean;
  /** The superclass, if a member of a class can stand here; else null. */
  member: { extends: string } | null;
}

export function whereIs(tokens: readonly Token[], text: string, at: number): Where {
  /** The superclass for each open brace; null for one of no class. */
  const open: (string | null)[] = [];
  let head: string | null = null;
  let last = "";
  const word = ({ from, to }: Token) => text.slice(from, to);
  for (const [index, token] of tokens.entries()) {
    if (token.from >= at) break;
    if (token.to >= at) {
      const closed = token.kind === "string" && token.to === at && /["'`/]$/.test(word(token));
      const quoted = (token.kind === "string" && !closed) || token.kind === "comment";
      if (quoted) return { quoted: true, member: null };
      // The word that is being written.
      if (token.kind !== "sign") break;
    }
    if (token.kind === "comment") continue;
    const now = word(token);
    if (token.kind === "keyword" && now === "class") head = "";
    else if (head !== null && now === "extends") {
      const next = tokens[index + 1];
      head = next ? word(next) : "";
    } else if (now === "{") {
      open.push(head);
      head = null;
    } else if (now === "}") open.pop();
    last = now;
  }
  const around = open.at(-1) ?? null;
  const begins =
    last === "{" || last === "}" || last === ";" || /\b(static|async|get|set)$/.test(last);
  return { quoted: false, member: around !== null && begins ? { extends: around } : null };
}

/** Returns the names that a text declares: variables, functions, classes, parameters. */
export function namesIn(text: string): string[] {
  const found = new Set<string>();
  for (const hit of text.matchAll(
    /\b(?:const|let|var|function|class)\s+([\w$]+)|\(([\w$\s,]+)\)\s*(?:=>|\{)/g,
  )) {
    for (const name of (hit[1] ?? hit[2] ?? "").split(",")) {
      if (/^[A-Za-z_$][\w$]*$/.test(name.trim()) && !KEYWORDS.has(name.trim()))
        found.add(name.trim());
    }
  }
  return [...found];
}

const CLASSES: Partial<Record<Token["kind"], Decoration>> = Object.fromEntries(
  (["comment", "string", "keyword", "number", "type", "op"] as const).map((kind) => [
    kind,
    Decoration.mark({ class: `t-${kind}` }),
  ]),
);

class Colours {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = draw(view);
  }

  update({ docChanged, viewportChanged, view }: ViewUpdate) {
    if (docChanged || viewportChanged) this.decorations = draw(view);
  }
}

function draw(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const { from, to } = view.viewport;
  for (const token of tokensOfDoc(view.state.doc)) {
    const mark = CLASSES[token.kind];
    if (mark && token.to > from && token.from < to) builder.add(token.from, token.to, mark);
  }
  return builder.finish();
}

/** A line stands as deep as the one before it, and a step deeper or less deep where a bracket opens or closes. */
const indent = indentService.of((context, at) => {
  const line = context.state.doc.lineAt(at);
  const before = context.state.sliceDoc(0, at).trimEnd();
  const above = context.state.doc.lineAt(before.length).text;
  const depth = /^\s*/.exec(above)?.[0].length ?? 0;
  const opening = inPython(context.state.doc) ? /[[({:]$/ : /[[({]$/;
  const opens = opening.test(before) ? context.unit : 0;
  const rest = context.state.sliceDoc(at, line.to).trimStart();
  return Math.max(0, depth + opens - (/^[\])}]/.test(rest) ? context.unit : 0));
});

/** Colours, indentation, comments. */
export const javascript: Extension = [
  Prec.high(ViewPlugin.fromClass(Colours, { decorations: (colours) => colours.decorations })),
  indent,
];

export { tokensOfDoc };
