/**
 * Decides which scripts may run. Scripts written here may; one from a link waits for the user's decision, which holds
 * for exactly that text, in this browser.
 */
import type { Catalogue, RunDocument } from "../engine/protocol";
import { findPass } from "./calls";
import type { State, Trust } from "./model";
import type { Keeper } from "./persist";

/** The most texts with a known decision; every version of the user's own script is one. */
const MOST_KNOWN = 200;

/** Returns the key of a text in the list of decisions; null without browser support (an address without https). */
async function fingerprint(text: string): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Remembers the decisions about scripts. Judges a text by its content, whether it comes from a link, an undo or typing:
 * one that was refused, or waits for a decision, stays so until the user decides.
 */
export class Judge {
  /** Of this visit, also where the browser keeps nothing or makes no hashes. */
  private readonly known = new Map<string, Trust>();

  constructor(private readonly keeper: Keeper) {}

  /** Returns the trust in a text; `otherwise` is for an unknown text. */
  async judge(script: string, otherwise: Trust): Promise<Trust> {
    if (script.trim() === "") return "own";
    const known = this.known.get(script);
    if (known) return known;
    const hash = await fingerprint(script);
    const found = (hash && this.keeper.decision(hash)) || otherwise;
    this.remember(script, found);
    return found;
  }

  /** Returns the trust without waiting, for a text that was judged before. */
  verdict(script: string): Trust | undefined {
    return script.trim() === "" ? "own" : this.known.get(script);
  }

  /** Judges a text from elsewhere: without a decision about it, it asks. */
  async arrived(script: string): Promise<Trust> {
    const trust = await this.judge(script, "ask");
    if (trust === "ask") await this.decide(script, trust);
    return trust;
  }

  /** Remembers the decision about a text. */
  async decide(script: string, trust: Trust): Promise<void> {
    if (script.trim() === "") return;
    this.remember(script, trust);
    const hash = await fingerprint(script);
    if (hash) this.keeper.keepDecision(hash, trust);
  }

  private remember(script: string, trust: Trust): void {
    this.known.delete(script);
    this.known.set(script, trust);
    if (this.known.size > MOST_KNOWN) {
      // Typed texts make room first, so that refusals are not forgotten.
      const spare = [...this.known].find(([, one]) => one === "own") ?? [...this.known][0];
      if (spare) this.known.delete(spare[0]);
    }
  }
}

/** True for a row that only a script can define: the engine has no pass of that name. */
export function needsScript(catalogue: Catalogue | null, call: string): boolean {
  return catalogue !== null && !findPass(catalogue, call);
}

/**
 * Returns the part of a document that is sent to be run. A script that may not run stays here, and so do the rows that
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

/** Says to the script's author why it was stopped. */
export function stoppedScript(reply: { reason?: string; message: string }): string {
  const why =
    reply.reason === "hung"
      ? `Your passes gave ${reply.message} and were stopped`
      : `Your passes were stopped: ${reply.message}`;
  return `${why}. The program and the passes are as you left them; change something and they run again.`;
}
