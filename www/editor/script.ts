/**
 * The language of *My passes*: JavaScript with the names of the API completed and explained. Loaded with the pane that
 * uses it, so that nobody else waits for it.
 */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
} from "@codemirror/autocomplete";
import { javascriptLanguage, localCompletionSource, snippets } from "@codemirror/lang-javascript";
import { HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import {
  EditorView,
  highlightSpecialChars,
  hoverTooltip,
  placeholder,
  tooltips,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import api from "passlab-api";
import { fetched } from "../state/texts";
import type { ApiEntry } from "../user/docs";

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "t-comment" },
  { tag: [tags.keyword, tags.self, tags.operatorKeyword], class: "t-keyword" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], class: "t-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "t-number" },
  { tag: [tags.className, tags.typeName], class: "t-type" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    class: "t-op",
  },
]);

/** What is said of a name: how it is called, and what it does. */
function explained(entries: readonly ApiEntry[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "api-doc";
  for (const entry of entries) {
    const signature = box.appendChild(document.createElement("code"));
    signature.textContent = entry.signature;
    const doc = box.appendChild(document.createElement("p"));
    doc.textContent = entry.doc;
  }
  return box;
}

function option(label: string, entries: readonly ApiEntry[], type: string): Completion {
  return { label, type, info: () => explained(entries) };
}

const kindOf = ({ name, signature }: ApiEntry) => {
  if (/^[A-Z]/.test(name)) return "class";
  return signature.includes("(") ? "function" : "variable";
};

/** What there is to be completed and explained. */
interface Names {
  globals: ApiEntry[];
  members: Map<string, ApiEntry[]>;
  globalOptions: Completion[];
  memberOptions: Completion[];
}

function namesOf(entries: readonly ApiEntry[]): Names {
  const globals = entries.filter((entry) => !entry.name.includes("."));
  const members = new Map<string, ApiEntry[]>();
  for (const entry of entries) {
    const dot = entry.name.lastIndexOf(".");
    if (dot < 0) continue;
    const name = entry.name.slice(dot + 1);
    members.set(name, [...(members.get(name) ?? []), entry]);
  }
  const globalOptions = globals.map((entry) => option(entry.name, [entry], kindOf(entry)));
  const memberOptions = [...members].map(([name, found]) => {
    const called = found.some((entry) => entry.signature.includes("("));
    return option(name, found, called ? "method" : "property");
  });
  return { globals, members, globalOptions, memberOptions };
}

let known: Promise<Names> | null = null;

/** Fetched with the pane; null where that fails, and then it is tried again when it is next asked for. */
async function names(): Promise<Names | null> {
  known ??= fetched<ApiEntry[]>(api).then(namesOf);
  try {
    return await known;
  } catch {
    known = null;
    return null;
  }
}
void names();

/** Members after a dot and in the body of a class, globals elsewhere; nothing in texts and comments. */
const KEYWORDS =
  "break case const continue default delete extends false finally in instanceof let new return static super switch this throw true typeof var yield";

/** Statements and words of the language; a script imports and exports nothing. */
const WORDS: readonly Completion[] = [
  ...snippets.filter(({ label }) => label !== "import"),
  ...KEYWORDS.split(" ").map((label) => ({ label, type: "keyword" })),
];

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const at = syntaxTree(context.state).resolveInner(context.pos, -1);
  if (/Comment|String|RegExp|Template/.test(at.name)) return null;
  const word = context.matchBefore(/[\w$]*/);
  const from = word?.from ?? context.pos;
  const member = context.state.sliceDoc(Math.max(0, from - 1), from) === ".";
  const declared =
    at.name === "PropertyDefinition" || at.name === "ClassBody" || at.parent?.name === "ClassBody";
  if (!context.explicit && !member && from === context.pos) return null;
  const found = await names();
  if (!found) return null;
  const options = member || declared ? found.memberOptions : [...found.globalOptions, ...WORDS];
  return { from, options, validFor: /^[\w$]*$/ };
}

const hover = hoverTooltip(async (view, position) => {
  const word = view.state.wordAt(position);
  if (!word) return null;
  const name = view.state.sliceDoc(word.from, word.to);
  const isMember = view.state.sliceDoc(Math.max(0, word.from - 1), word.from) === ".";
  const found = await names();
  if (!found) return null;
  const own = found.globals.filter((entry) => entry.name === name);
  const entries = isMember || own.length === 0 ? (found.members.get(name) ?? []) : own;
  if (entries.length === 0) return null;
  return {
    pos: word.from,
    end: word.to,
    above: true,
    create: () => ({ dom: explained(entries.slice(0, 3)) }),
  };
});

/**
 * The extensions of the editor of scripts. Put together here and not by the package's `javascript()`, which has TypeScript and
 * JSX with it.
 */
export const scriptLanguage: Extension = [
  javascriptLanguage,
  javascriptLanguage.data.of({ autocomplete: complete }),
  javascriptLanguage.data.of({ autocomplete: localCompletionSource }),
  autocompletion({ icons: false, maxRenderedOptions: 60 }),
  closeBrackets(),
  // What came in a link is read here before it runs: nothing of it may stand out of sight or look like something else.
  EditorView.lineWrapping,
  highlightSpecialChars(),
  syntaxHighlighting(colours),
  hover,
  // Beside the editor there is more room than in it.
  tooltips({ position: "fixed", parent: document.body }),
  placeholder("A pass, a visitor, an instrument …"),
];
