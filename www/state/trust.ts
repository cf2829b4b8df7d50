/**
 * Which scripts may run. What is written here may; what came in a link waits until the user has said so, and the answer
 * holds for exactly that text, in this browser.
 */
import type { Catalogue, RunDocument } from "../engine/protocol";
import { findPass } from "./calls";
import type { State, Trust } from "./model";
import type { Keeper } from "./persist";

/** Stands for a text in the list of decisions; null where the browser does not make one (an address without https). */
async function fingerprint(text: string): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How much a script that came from elsewhere is trusted. `state` is what the user works on at the moment. */
export async function judgeScript(
  script: string,
  state: Pick<State, "document" | "trust">,
  keeper: Keeper,
): Promise<Trust> {
  if (script.trim() === "") return "own";
  if (script === state.document.script) return state.trust;
  const hash = await fingerprint(script);
  return (hash && keeper.decision(hash)) || "ask";
}

/** Remembers what was decided about a script. */
export async function decide(script: string, trust: Trust, keeper: Keeper): Promise<void> {
  if (script.trim() === "") return;
  const hash = await fingerprint(script);
  if (hash) keeper.keepDecision(hash, trust);
}

/** A row that only a script can explain: the engine has no pass of that name. */
export function needsScript(catalogue: Catalogue | null, call: string): boolean {
  return catalogue !== null && !findPass(catalogue, call);
}

/**
 * What of a document is sent to be run. A script that may not run stays here, and so do the rows that
 * need it: without it they would only be unknown passes.
 */
export function toSend({ document, rows, trust, catalogue }: State): Sent {
  if (document.script === "") return { document, rows };
  if (document.script.trim() === "") return { document: { ...document, script: "" }, rows };
  if (trust === "own") return { document, rows };
  const kept = (row: number) => !needsScript(catalogue, document.passes[row]?.call ?? "");
  return {
    document: { ...document, passes: document.passes.filter((_, row) => kept(row)), script: "" },
    rows: rows.filter((_, row) => kept(row)),
  };
}

/** A document as it is sent, and the rows of the page that its rows are. */
export interface Sent {
  document: RunDocument;
  rows: readonly number[];
}

/** Why a script was ended, in words for whoever wrote it. */
export function stoppedScript(reply: { reason?: string; message: string }): string {
  const why =
    reply.reason === "hung"
      ? `Your passes gave ${reply.message} and were stopped`
      : `Your passes were stopped: ${reply.message}`;
  return `${why}. The program and the passes are as you left them; change something and they run again.`;
}
