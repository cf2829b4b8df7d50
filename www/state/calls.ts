/** Passes as TVM's Python calls them: `FuseOps(fuse_opt_level=2)`; a bare name is a call without arguments. */
import type { Catalogue, PassDoc, PipelineDoc, RunDocument, UserPass } from "../engine/protocol";

/** Returns the pass of a call: the text before the bracket. */
export function callName(call: string): string {
  const open = call.indexOf("(");
  return (open < 0 ? call : call.slice(0, open)).trim();
}

/** Returns the arguments of a call without the brackets. */
export function callArguments(call: string): string {
  const open = call.indexOf("(");
  return open < 0 ? "" : call.slice(open + 1, call.lastIndexOf(")")).trim();
}

/** Returns the shortest way to write a call: no brackets without arguments. */
export function tidyCall(call: string): string {
  const name = callName(call);
  const inner = callArguments(call);
  return inner ? `${name}(${inner})` : name;
}

const pairs: Record<string, string> = { "(": ")", "[": "]", "{": "}" };

/** Returns the reason why this cannot be a call, or "". Checks only the outer syntax; the engine checks the rest. */
export function callError(call: string): string {
  const text = call.trim();
  if (!text) return "Write a pass, e.g. FoldConstant or FuseOps(fuse_opt_level=2).";
  if (!/^[A-Za-z_][\w.]*/.test(text)) return "A call starts with the name of a pass.";
  const stack: string[] = [];
  let quote = "";
  for (let index = 0; index < text.length; index++) {
    const char = text[index] ?? "";
    if (quote) {
      if (char === "\\") index++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") {
      quote = char;
    } else if (pairs[char]) {
      stack.push(pairs[char]);
    } else if (")]}".includes(char)) {
      if (stack.pop() !== char) return `“${char}” does not close anything here.`;
      if (stack.length === 0 && text.slice(index + 1).trim()) return "One call per row.";
    }
  }
  if (quote) return `A string is not closed: ${quote} is missing.`;
  const open = stack.pop();
  if (open) return `“${open}” is missing.`;
  if (!text.includes("(") && /\s/.test(text)) return "A call has the form Name(argument=value).";
  return "";
}

/** Returns the pass that a call names in a program of this dialect: Relay and Relax both have a FoldConstant. */
export function findPass(
  catalogue: Catalogue | null,
  call: string,
  dialect = "",
): PassDoc | undefined {
  const name = callName(call);
  const passes = catalogue?.passes ?? [];
  const here = passes.filter((pass) => pass.dialects.some((known) => known === dialect));
  for (const list of [here, passes]) {
    const found =
      list.find((pass) => pass.name === name) ?? list.find((pass) => pass.infoName === name);
    if (found) return found;
  }
  return undefined;
}

/** Describes a pass of the user's as the catalogue does the others. */
export function ownPass({ name, kind, optLevel, required, doc }: UserPass): PassDoc {
  const summary = doc.split("\n", 1)[0] || "Written in My passes.";
  return {
    name,
    infoName: name,
    dialects: [],
    kind: kind === "dataflow-block" || kind === "prim-func" ? "function" : kind,
    optLevel,
    required,
    configKeys: [],
    params: [],
    summary,
    call: name,
    available: true,
  };
}

/** Returns the passes of a pipeline that can be run now. */
export function runnable(pipeline: PipelineDoc): string[] {
  const missing = new Set(pipeline.missing);
  return pipeline.passes.filter((call) => !missing.has(call));
}

/**
 * Returns the preset that equals the document, or undefined for the user's own list. If presets differ only in the opt
 * level, it is the one with the document's level.
 */
export function matchingPipeline(
  catalogue: Catalogue | null,
  document: RunDocument,
): PipelineDoc | undefined {
  const same = (catalogue?.pipelines ?? []).filter((pipeline) => {
    const calls = runnable(pipeline);
    return (
      calls.length === document.passes.length &&
      calls.every((call, row) => {
        const item = document.passes[row];
        return item?.enabled && tidyCall(item.call) === tidyCall(call);
      })
    );
  });
  return same.find((pipeline) => pipeline.optLevel === document.optLevel) ?? same[0];
}

/** Splits names written one after the other, by commas or spaces. */
export function splitNames(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}
