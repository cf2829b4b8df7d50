/** What is shared besides a link: texts made from the document, its run and one step of it. Nothing here draws or asks. */
import type { Diff, RunDocument } from "../engine/protocol";

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
  const lines = diff.rows.flatMap((row): { changed: boolean; text: string }[] => {
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

/** What a run gave, for the script that asks TVM for the same. */
export interface Result {
  dialect: "relay" | "relax";
  /** The program after the last pass. */
  after: string;
  /** Why there is none: a pass failed. */
  failure: string;
  version: string;
}

/** A script that runs the same passes on real TVM and asserts that they give what the page showed. */
export function python(document: RunDocument, result: Result, link: string): string {
  const relax = result.dialect === "relax";
  const passes = document.passes.filter((pass) => pass.enabled).map((pass) => pass.call);
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
    ? `import tvm
from tvm import relax

# Where passes are, by name: those of Relax go first.
NAMES = {}
for module in ("s_tir", "tirx", "tir"):
    NAMES.update(vars(getattr(getattr(tvm, module, None), "transform", tvm.transform)))
NAMES.update(vars(tvm.transform))
NAMES.update(vars(relax.transform))


def read(text):
    program = tvm.script.from_source(text)
    return program if isinstance(program, tvm.IRModule) else tvm.IRModule({"main": program})
`
    : `import tvm
from tvm import relay

NAMES = {**vars(tvm.transform), **vars(relay.transform)}


def read(text):
    program = tvm.relay.fromtext(text)
    if not isinstance(program, tvm.IRModule):
        program = tvm.IRModule.from_expr(program)
    return relay.transform.InferType()(program)
`;
  const check = result.failure
    ? `try:
    run()
except Exception as error:  # What TVM raises differs from pass to pass.
    print("TVM fails as passlab did (${result.failure.replace(/[\\"\n]/g, " ")}):", error)
else:
    raise AssertionError("passlab failed here and TVM does not")
`
    : `tvm.ir.assert_structural_equal(run(), read(AFTER), map_free_vars=True)
print("TVM", tvm.__version__, "gives what passlab showed")
`;
  return `${head}${imports}

BEFORE = ${literal(document.source)}

${result.failure ? "" : `AFTER = ${literal(result.after)}\n\n`}PASSES = [
${passes.map((call) => `    ${literal(call)},\n`).join("")}]


def run():
    passes = [eval(call if "(" in call else call + "()", NAMES) for call in PASSES]
    with tvm.transform.PassContext(${context}):
        return tvm.transform.Sequential(passes)(read(BEFORE))


${check}`;
}
