/**
 * Defines the language of *My passes*: JavaScript with the names of the API completed and explained. Loaded with the
 * pane that uses it, so that the rest of the page does not wait for it.
 */
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  snippetCompletion,
} from "@codemirror/autocomplete";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, hoverTooltip, placeholder } from "@codemirror/view";
import api from "passlab-api";
import apiPython from "passlab-api-python";
import { fetched } from "../state/texts";
import type { ApiEntry } from "../user/docs";
import { completing } from "./completing";
import { explained } from "./explained";
import { inPython, javascript, KEYWORDS, namesIn, tokensOfDoc, whereIs } from "./javascript";
import { PYTHON_KEYWORDS, pythonNames } from "./python";
import { type Api, apiOf, typeBefore } from "./typed";

function option(label: string, entries: readonly ApiEntry[], type: string): Completion {
  return { label, type, info: () => explained(entries) };
}

const kindOf = ({ name, signature }: ApiEntry) => {
  if (/^[A-Z]/.test(name)) return "class";
  return signature.includes("(") ? "function" : "variable";
};

/** The names to complete and explain. */
interface Names {
  globals: ApiEntry[];
  members: Map<string, ApiEntry[]>;
  globalOptions: Completion[];
  memberOptions: Completion[];
  /** The types for expressions before a dot. */
  api: Api;
  /** The hooks of each class that can be extended, written out when they are chosen. */
  hooks: Map<string, Completion[]>;
}

/** Completes a hook with the body of the default. */
function hookOption(entry: ApiEntry): Completion {
  const name = entry.name.slice(entry.name.lastIndexOf(".") + 1);
  const parameter = name.replace(/^(visit|rewrite)/, "").toLowerCase() || "op";
  const given = /^(if|function|let|var)$/.test(parameter) ? "op" : parameter;
  const gives = !/: void$/.test(entry.signature);
  const body = gives
    ? `const post = super.${name}(\${${given}});\n\treturn \${post};`
    : `super.${name}(\${${given}});\n\t\${}`;
  return snippetCompletion(`${name}(\${${given}}) {\n\t${body}\n}`, {
    label: name,
    type: "method",
    detail: "with its body",
    boost: 1,
    info: () => explained([entry]),
  });
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
  const hooks = new Map<string, Completion[]>();
  for (const entry of entries) {
    const [owner = "", name = "", more] = entry.name.split(".");
    if (more !== undefined || !/^visit[A-Z]|^rewrite[A-Z]/.test(name)) continue;
    if (!entry.signature.includes(","))
      hooks.set(owner, [...(hooks.get(owner) ?? []), hookOption(entry)]);
  }
  return { globals, members, globalOptions, memberOptions, api: apiOf(entries), hooks };
}

const known = new Map<string, Promise<Names>>();

/** Fetches the names with the pane, or those of Python; null after a failure, and the next call tries again. */
async function names(url = api): Promise<Names | null> {
  const found = known.get(url) ?? fetched<ApiEntry[]>(url).then(namesOf);
  known.set(url, found);
  try {
    return await found;
  } catch {
    known.delete(url);
    return null;
  }
}
void names();

/** Snippets of frequent statements, with fields to fill in. */
const PATTERNS: readonly Completion[] = [
  ["if", "if (#{condition}) {\n\t#{}\n}"],
  ["for", "for (const #{item} of #{items}) {\n\t#{}\n}"],
  ["function", "function #{name}(#{}) {\n\t#{}\n}"],
  ["class", "class #{Name} extends ExprMutator {\n\t#{}\n}"],
].map(([label = "", template = ""]) =>
  snippetCompletion(template, { label, detail: "…", type: "keyword" }),
);

const WORDS: readonly Completion[] = [
  ...PATTERNS,
  ...[...KEYWORDS].map((label) => ({ label, type: "keyword" })),
];

/** Members after a dot and in the body of a class, globals elsewhere; nothing in texts and comments. */
async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const { doc } = context.state;
  if (inPython(doc)) return completePython(context);
  const where = whereIs(tokensOfDoc(doc), doc.toString(), context.pos);
  if (where.quoted) return null;
  const word = context.matchBefore(/[\w$]*/);
  const from = word?.from ?? context.pos;
  const member = context.state.sliceDoc(Math.max(0, from - 1), from) === ".";
  if (!context.explicit && !member && from === context.pos) return null;
  const found = await names();
  if (!found) return null;
  const validFor = /^[\w$]*$/;
  if (member) return { from, options: membersAt(context.state, from - 1, found), validFor };
  if (!where.member) {
    const locals = namesIn(doc.toString()).map((label) => ({ label, type: "variable", boost: 1 }));
    return { from, options: [...locals, ...found.globalOptions, ...WORDS], validFor };
  }
  // Completes the hooks of the superclass, written out; before an existing body the name alone.
  const bare = context.state.sliceDoc(context.pos, context.pos + 1) !== "(";
  const hooks = bare ? (found.hooks.get(where.member.extends) ?? []) : [];
  const known = new Set(hooks.map(({ label }) => label));
  const rest = found.memberOptions.filter(({ label }) => !known.has(label));
  return { from, options: [...hooks, ...rest], validFor };
}

/** Completes the names and keywords of a script in Python, and what the package `tvm` has. */
async function completePython(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/\w*/);
  const from = word?.from ?? context.pos;
  const member = context.state.sliceDoc(Math.max(0, from - 1), from) === ".";
  if (!context.explicit && !member && from === context.pos) return null;
  const found = await names(apiPython);
  const own = pythonNames(context.state.doc.toString());
  // Behind a dot stands a method, or a name of a module.
  const options = member
    ? [...(found?.memberOptions ?? []), ...(found?.globalOptions ?? [])]
    : [
        ...own.map((label) => ({ label, type: "variable", boost: 1 })),
        ...[...PYTHON_KEYWORDS].map((label) => ({ label, type: "keyword" })),
        ...(found?.globalOptions ?? []),
      ];
  return { from, options, validFor: /^\w*$/ };
}

/** The fields of all nodes: an expression may have any of them. */
const NODES =
  "Var GlobalVar Op Constructor Constant Tuple TupleGetItem Call Let If Function Match RefCreate RefRead RefWrite".split(
    " ",
  );

/** Returns the members of a class, its own first; of an expression those of every node. */
function fieldsOf(type: string, { api }: Names): Map<string, string> {
  const all = new Map(api.classes.get(type));
  if (type === "Expr" || NODES.includes(type)) all.set("checkedType", "Type | null");
  if (type !== "Expr") return all;
  for (const node of NODES)
    for (const name of api.classes.get(node)?.keys() ?? [])
      if (!all.has(name)) all.set(name, `of ${node}`);
  return all;
}

/** Returns the completions after a dot: the members of the expression before it, or all members. */
function membersAt(state: EditorState, dot: number, found: Names): Completion[] {
  const type = typeBefore(state.doc.toString(), dot, found.api);
  const fields = type === null ? new Map<string, string>() : fieldsOf(type, found);
  if (type === null || fields.size === 0) return found.memberOptions;
  return [...fields].map(([name, detail]) => {
    const entries = (found.members.get(name) ?? []).filter(
      (entry) => entry.name === `${type}.${name}`,
    );
    const owner = found.globals.filter((entry) => entry.name === type);
    return {
      label: name,
      detail,
      type: entries.some((entry) => entry.signature.includes("(")) ? "method" : "property",
      info: () => explained(entries.length > 0 ? entries : owner),
    };
  });
}

const tip = ({ from, to }: { from: number; to: number }, entries: readonly ApiEntry[]) =>
  entries.length === 0
    ? null
    : {
        pos: from,
        end: to,
        above: true,
        create: () => ({ dom: explained(entries.slice(0, 3)) }),
      };

const hover = hoverTooltip(async (view, position) => {
  const python = inPython(view.state.doc);
  const word = view.state.wordAt(position);
  if (!word) return null;
  const name = view.state.sliceDoc(word.from, word.to);
  const isMember = view.state.sliceDoc(Math.max(0, word.from - 1), word.from) === ".";
  const found = await names(python ? apiPython : api);
  if (!found) return null;
  const own = found.globals.filter((entry) => entry.name === name);
  if (python && own.length > 0) return tip(word, own);
  let entries = isMember || own.length === 0 ? (found.members.get(name) ?? []) : own;
  if (isMember && !python) {
    const type = typeBefore(view.state.doc.toString(), word.from - 1, found.api);
    const field = type === null ? undefined : fieldsOf(type, found).get(name);
    const exact = entries.filter((entry) => entry.name === `${type}.${name}`);
    const doc = found.globals.find((entry) => entry.name === type)?.doc ?? "";
    if (exact.length > 0) entries = exact;
    else if (field !== undefined)
      entries = [{ name, signature: field ? `${type}.${name}: ${field}` : `${type}.${name}`, doc }];
  }
  return tip(word, entries);
});

/** The extensions of the editor of scripts. */
export const scriptLanguage: Extension = [
  javascript,
  EditorState.languageData.of(({ doc }) => [
    {
      autocomplete: complete,
      commentTokens: inPython(doc)
        ? { line: "#" }
        : { line: "//", block: { open: "/*", close: "*/" } },
    },
  ]),
  completing(),
  closeBrackets(),
  // A script from a link is read here before it runs, so no part of it may be out of sight or look like something else.
  EditorView.lineWrapping,
  highlightSpecialChars(),
  hover,
  placeholder("A pass, a visitor, an instrument …"),
];
