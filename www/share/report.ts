/** A bug report about a pass, as Markdown for an issue: the link, the program, the list, versions, and the Python for TVM. */
import type { WorkerLike } from "../engine/client";
import type { Culprit, SharedDocument } from "../engine/protocol";
import { asideEngine, textsOf } from "../state/aside";
import { markdownLink, visible } from "./forms";
import { python, toRepeat } from "./python";

/** A block of code that nothing in it ends. */
export function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n*$/, "\n")}${fence}\n`;
}

export async function bugReport({
  document,
  culprit,
  property,
  version,
  link,
  isKnown,
  spawn,
}: {
  document: SharedDocument;
  culprit: Culprit | null;
  property: string;
  version: string;
  link(document: SharedDocument): Promise<string>;
  isKnown(call: string): boolean;
  spawn(): WorkerLike;
}): Promise<string> {
  const client = asideEngine(spawn);
  let script = "";
  let language = "";
  try {
    const { script: _, ...plain } = document;
    const run = await client.ask({ type: "run", document: { ...plain, script: "" } });
    if (run.status === "answered" && run.value.ok && !document.script) {
      language = run.value.dialect === "relay" ? "" : "python";
      const textOf = async (at: number) => (await textsOf(client, [at])).get(at) ?? null;
      const result = await toRepeat(document, run.value, version, isKnown, textOf);
      if (typeof result !== "string") script = python(document, result, "");
    }
  } finally {
    client.dispose();
  }
  const name = visible(culprit?.name ?? "").replace(/[\\`*_[\]<>&~|#!@]/g, "\\$&");
  const rewrite = culprit?.rewrite ? `, rewrite ${culprit.rewrite} of ${culprit.rewrites}` : "";
  const calls = document.passes.filter((pass) => pass.enabled).map((pass) => pass.call);
  const title = `Reproducer: ${culprit?.name || "passes"}`;
  return [
    `**${name || "A list of passes"}**${rewrite} loses this property:\n`,
    fenced("", `${property}\n${culprit?.why ?? ""}`),
    `${markdownLink(title, await link(document))}, passlab ${visible(version)} (Relay of TVM 0.19; Relax and TIR of TVM 0.27)\n`,
    `Passes, at opt level ${document.optLevel}:\n`,
    fenced("", calls.join("\n")),
    "Program:\n",
    fenced(language, document.source),
    ...(script ? ["The same with TVM:\n", fenced("python", script)] : []),
  ].join("\n");
}
