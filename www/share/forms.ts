/** What is shared besides a link: texts made from the document, its run and one step of it. Nothing here draws or asks. */
import { rowsOf } from "../engine/diff";
import type { Diff, Run, RunDocument } from "../engine/protocol";
import { callName } from "../state/calls";

/** Where a link of some length still fits. Lengths in characters; of the places, the shortest first. */
export const places: readonly { name: string; most: number }[] = [
  { name: "a Discord message", most: 2_000 },
  { name: "an Outlook or Teams link", most: 2_048 },
  { name: "a QR code", most: 2_953 },
  { name: "a Slack message", most: 4_000 },
  { name: "a GitHub comment", most: 65_536 },
  { name: "Safari's address bar", most: 80_000 },
  { name: "Firefox's address bar", most: 1_048_576 },
  { name: "Chrome's address bar", most: 2_097_152 },
];

/** One sentence on where a link of this length fits, and where it does not. */
export function fits(length: number): string {
  const too = places.filter((place) => length > place.most).map((place) => place.name);
  if (too.length === 0) return "It fits everywhere: chats, mails, a GitHub comment, a QR code.";
  if (too.length === places.length)
    return "It is too long for any browser: share the file instead.";
  const last = too.length > 1 ? `${too.slice(0, -1).join(", ")} or ${too.at(-1)}` : too[0];
  return `It is too long for ${last}; elsewhere it fits.`;
}

/** What a link is called: the function names of the program are its best title. */
export function titleOf(document: RunDocument, step: string): string {
  const example = /@([A-Za-z_]\w*)|def (\w+)\(/.exec(document.source.replace(/@(I|R|T)\./g, ""));
  const name = example?.[1] ?? example?.[2] ?? "a program";
  return step ? `passlab: ${step} on ${name}` : `passlab: ${name}`;
}

export const markdownLink = (title: string, href: string): string =>
  `[${title.replace(/[[\]\\]/g, "\\$&")}](${href})`;

/** Lines of unchanged program around a change. */
const CONTEXT = 3;

/** A diff as a unified patch without a head, for a block of Markdown. */
export function unified(diff: Diff): string {
  const lines = rowsOf(diff).flatMap((row): { changed: boolean; text: string }[] => {
    switch (row.kind) {
      case "same":
      case "renumbered":
        return [{ changed: false, text: ` ${row.rightText}` }];
      case "added":
        return [{ changed: true, text: `+${row.rightText}` }];
      case "removed":
        return [{ changed: true, text: `-${row.leftText}` }];
      default:
        return [
          ...(row.left === null ? [] : [{ changed: true, text: `-${row.leftText}` }]),
          ...(row.right === null ? [] : [{ changed: true, text: `+${row.rightText}` }]),
        ];
    }
  });
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.changed),
  );
  const out: string[] = [];
  lines.forEach((line, at) => {
    if (near[at]) out.push(line.text);
    else if (near[at - 1] || at === 0) out.push("@@ … @@");
  });
  return out.join("\n");
}

/** Markdown with the link and the diff of a step. */
export function markdownDiff(title: string, href: string, summary: string[], diff: Diff): string {
  // A fence longer than any in the program.
  const body = unified(diff);
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map((hit) => hit[0].length));
  const fence = "`".repeat(longest + 1);
  const said = summary.map((line) => `- ${line}\n`).join("");
  return `${markdownLink(title, href)}\n\n${said ? `${said}\n` : ""}${fence}diff\n${body}\n${fence}\n`;
}

/** The same on the command line. Links hold no character that a shell would touch. */
export const commandLine = (link: string): string => `passlab open '${link}' | passlab opt -`;

/** A text as a literal of Python. */
function literal(text: string): string {
  const plain = !text.includes("'''") && !/[\\\r]/.test(text) && !text.endsWith("'");
  return plain ? `r'''${text}'''` : JSON.stringify(text);
}

const list = (items: readonly string[]): string =>
  `[${items.map((item) => JSON.stringify(item)).join(", ")}]`;

/** What a pass in JavaScript was given and what it gave. */
export interface Given {
  name: string;
  before: string;
  after: string;
}

/** What TVM is to do again, and where it ends. */
export interface Result {
  dialect: "relay" | "relax";
  /** The calls of passes; in the place of one that only passlab runs, what it gave. */
  steps: readonly (string | Given)[];
  /** The program after the last pass. */
  after: string;
  /** Why there is none: a pass failed. */
  failure: string;
  version: string;
}

/**
 * What of a run TVM is asked to do again. Passes of the script run in passlab only, and the ones that an instrument refused
 * are left out. Null when a text is not to be had.
 */
export async function toRepeat(
  document: RunDocument,
  run: Run,
  version: string,
  textOf: (version: number) => Promise<string | null>,
): Promise<Result | null> {
  const own = new Set(run.script?.passes.map((pass) => pass.name));
  const listed = run.steps.filter((step) => step.depth === 0 && step.role === "listed");
  const steps: (string | Given)[] = [];
  for (const [row, { call, enabled }] of document.passes.entries()) {
    const step = listed.find((one) => one.row === row);
    if (!enabled || step?.reason.startsWith("refused by ")) continue;
    if (!own.has(callName(call))) steps.push(call);
    else if (step?.outcome === "changed") {
      const [before, after] = [await textOf(step.before), await textOf(step.after)];
      if (before === null || after === null) return null;
      steps.push({ name: step.name, before, after });
    }
  }
  const failed = run.steps.find((step) => step.outcome === "failed");
  const last = run.steps.filter((step) => step.depth === 0).at(-1);
  const after = failed ? "" : await textOf(last?.after ?? 0);
  if (after === null) return null;
  const failure = failed ? `${failed.name}: ${failed.reason}` : "";
  return { dialect: run.dialect, steps, after, failure, version };
}

const GIVEN = `
class Given:
    """A pass in JavaScript, which only passlab runs: what it was given and what it gave."""

    def __init__(self, before, after):
        self.before, self.after = before, after

`;

/** A script that runs the same passes on real TVM and asserts that they give what the page showed. */
export function python(document: RunDocument, result: Result, link: string): string {
  const relax = result.dialect === "relax";
  const given = result.steps.some((step) => typeof step !== "string");
  const config = Object.entries(document.config).map(
    ([key, value]) => `${JSON.stringify(key)}: ${value}`,
  );
  const context = [
    `opt_level=${document.optLevel}`,
    ...(document.required.length > 0 ? [`required_pass=${list(document.required)}`] : []),
    ...(document.disabled.length > 0 ? [`disabled_pass=${list(document.disabled)}`] : []),
    ...(config.length > 0 ? [`config={${config.join(", ")}}`] : []),
  ].join(", ");
  const head = `"""The passes of a passlab link, run by TVM itself.

It fails when TVM gives another program than passlab ${result.version} did.
Made for ${relax ? "TVM 0.27 (pip install apache-tvm)" : "TVM 0.19, the last version with Relay"}.
${link}
"""
`;
  const imports = relax
    ? `import ast
import re
import sys
from typing import TypeVar

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# Where passes are, by name: those of Relax go first.
NAMES = {}
for module in ("s_tir", "tirx", "tir"):
    NAMES.update(vars(getattr(getattr(tvm, module, None), "transform", tvm.transform)))
NAMES.update(vars(tvm.transform))
NAMES.update(vars(relax.transform))


def read(text):
    names = {"I": I, "R": R, "T": T, "tvm": tvm}
    for name in re.findall(r"^(\\w+) = TypeVar\\(", text, re.M):
        names[name] = TypeVar(name)
    # The constants stand before the module, too.
    found = re.search(r'^metadata = tvm\\.ir\\.load_json\\(("""[\\s\\S]*?""")\\)', text, re.M)
    if found:
        names["metadata"] = tvm.ir.load_json(ast.literal_eval(found[1]))
    elif "metadata[" in text:
        sys.exit("this program was copied without its metadata, so TVM does not know its constants")
    text = text[re.search(r"^@", text, re.M).start() :]
    program = tvm.script.from_source(text, names, check_well_formed=False)
    return program if isinstance(program, tvm.IRModule) else tvm.IRModule({"main": program})


def equal(module, text):
    # Through text both: what a text does not say, such as types inside of expressions, is found by reading.
    given = read(module.script(show_meta=True))
    tvm.ir.assert_structural_equal(given, read(text), map_free_vars=True)
`
    : `import sys

import tvm

if not hasattr(tvm, "relay"):
    sys.exit(f"this is a program of Relay, which TVM {tvm.__version__} does not have: take TVM 0.19")

from tvm import relay

NAMES = {**vars(tvm.transform), **vars(relay.transform)}


def read(text):
    program = tvm.relay.fromtext(text)
    if not isinstance(program, tvm.IRModule):
        program = tvm.IRModule.from_expr(program)
    return relay.transform.InferType()(program)


def equal(module, text):
    tvm.ir.assert_structural_equal(module, read(text), map_free_vars=True)
`;
  const check = result.failure
    ? `try:
    run()
except Exception as error:  # What TVM raises differs from pass to pass.
    print("TVM fails as passlab did (${result.failure.replace(/[\\"\n]/g, " ")}):", error)
else:
    raise AssertionError("passlab failed here and TVM does not")
`
    : `equal(run(), AFTER)
print("TVM", tvm.__version__, "gives what passlab showed")
`;
  const step = (one: string | Given) =>
    typeof one === "string"
      ? `    ${literal(one)},\n`
      : `    # ${one.name.replace(/\n/g, " ")}\n    Given(${literal(one.before)}, ${literal(one.after)}),\n`;
  const run = given
    ? `def run():
    module = read(BEFORE)
    with tvm.transform.PassContext(${context}):
        for step in PASSES:
            if isinstance(step, Given):
                equal(module, step.before)
                module = read(step.after)
            else:
                module = tvm.transform.Sequential([made(step)])(module)
    return module
`
    : `def run():
    with tvm.transform.PassContext(${context}):
        return tvm.transform.Sequential([made(step) for step in PASSES])(read(BEFORE))
`;
  return `${head}${imports}

def made(call):
    return eval(call if "(" in call else call + "()", NAMES)

${given ? GIVEN : ""}
BEFORE = ${literal(document.source)}

${result.failure ? "" : `AFTER = ${literal(result.after)}\n\n`}PASSES = [
${result.steps.map(step).join("")}]


${run}

${check}`;
}
