/** Operators and names of a program, completed and explained in its editor. Loaded once the first screen is drawn. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Extension, Text } from "@codemirror/state";
import { hoverTooltip } from "@codemirror/view";
import type { OpDoc } from "../engine/protocol";
import { completing } from "./completing";
import { explained } from "./explained";

/** Characters of a program that are looked through for names. */
const FURTHEST = 200_000;

/** Guesses the dialect: a program of Relax shows it in its types or in its first words. */
export const dialectOf = (text: string): "relay" | "relax" =>
  /\bR\.\w|@I\.ir_module|@R\.function/.test(text) ? "relax" : "relay";

/** Returns the signature of an operator: `nn.relu(data)`, attributes with their defaults. */
export function signatureOf(op: OpDoc): string {
  const attrs = op.attrs.map(({ name, default: value }) =>
    value === null ? name : `${name}=${value}`,
  );
  return `${op.name}(${[...op.args, ...attrs].join(", ")})`;
}

const PATTERNS: Readonly<Record<string, string>> = {
  ElemWise: "element by element",
  Broadcast: "a broadcast",
  Injective: "each element of the result is one of the input",
  CommReduce: "a reduction",
  OutEWiseFusable: "large; element by element operators are fused behind it",
  Tuple: "a tuple",
  Opaque: "opaque; fused with nothing",
};

export function docOf(op: OpDoc): { signature: string; doc: string } {
  const pattern = op.pattern && `For fusion: ${PATTERNS[op.pattern] ?? op.pattern}.`;
  return { signature: signatureOf(op), doc: [op.doc, pattern].filter(Boolean).join("\n") };
}

/** Returns the names of a program that begin with a sign, each once. */
export function namesOf(text: string, sign: "%" | "@"): string[] {
  const pattern = sign === "%" ? /%[A-Za-z_]\w*/g : /@\w+/g;
  return [...new Set(text.slice(0, FURTHEST).match(pattern))];
}

const KEYWORDS = {
  relay: "let fn if else def match ref_read ref_write",
  relax: "def return with class",
};

export function programWords(ops: () => readonly OpDoc[]): Extension {
  /** By the catalogue, which comes once. */
  const options = new WeakMap<readonly OpDoc[], Record<string, Completion[]>>();
  const optionsOf = (dialect: "relay" | "relax"): Completion[] => {
    const all = ops();
    const known = options.get(all) ?? {};
    options.set(all, known);
    known[dialect] ??= [
      ...all
        .filter((op) => op.dialects.includes(dialect))
        .map((op) => ({ label: op.name, type: "function", info: () => explained([docOf(op)]) })),
      ...KEYWORDS[dialect].split(" ").map((label) => ({ label, type: "keyword" })),
    ];
    return known[dialect];
  };
  /** Known of a text as long as it is that text: a program of thousands of lines is not read with every letter. */
  const dialects = new WeakMap<Text, "relay" | "relax">();
  const dialectIn = (doc: Text) => {
    const known = dialects.get(doc) ?? dialectOf(doc.sliceString(0, 2000));
    dialects.set(doc, known);
    return known;
  };

  function complete(context: CompletionContext): CompletionResult | null {
    const word = context.matchBefore(/[%@]?[A-Za-z_][\w.]*|[%@]/);
    if (!word && !context.explicit) return null;
    const from = word?.from ?? context.pos;
    const text = word?.text ?? "";
    const { doc } = context.state;
    const line = doc.lineAt(context.pos);
    if (/\/\/|^\s*#|^[^"]*("[^"]*"[^"]*)*"[^"]*$/.test(line.text.slice(0, context.pos - line.from)))
      return null;
    if (text.startsWith("%") || text.startsWith("@")) {
      if (text.length < 2 && !context.explicit) return null;
      const names = namesOf(doc.toString(), text.startsWith("%") ? "%" : "@").filter(
        (name) => name !== text,
      );
      return {
        from,
        options: names.map((label) => ({ label, type: "variable" })),
        validFor: /^[%@]\w*$/,
      };
    }
    // One letter is the name of a variable as often.
    if (text.length < 2 && !context.explicit) return null;
    return { from, options: optionsOf(dialectIn(doc)), validFor: /^[\w.]*$/ };
  }

  const hover = hoverTooltip((view, position) => {
    const line = view.state.doc.lineAt(position);
    for (const hit of line.text.matchAll(/[A-Za-z_][\w.]*/g)) {
      const from = line.from + hit.index;
      if (from > position || from + hit[0].length < position) continue;
      const dialect = dialectIn(view.state.doc);
      const op = ops().find(({ name, dialects }) => name === hit[0] && dialects.includes(dialect));
      if (!op) return null;
      return {
        pos: from,
        end: from + hit[0].length,
        above: true,
        create: () => ({ dom: explained([docOf(op)]) }),
      };
    }
    return null;
  });

  return [completing({ override: [complete] }), hover];
}
