/** Passing work on: the link in the address, other forms of the same, and opening links of others. */
import type { EngineClient } from "../engine/client";
import type { Made, RunDocument, SharedDocument } from "../engine/protocol";
import type { Address } from "./address";
import type { createKeeping } from "./keeping";
import { toShared } from "./model";
import type { Store } from "./store";
import type { Judge } from "./trust";
import { judge as judgeLink, withLink } from "./url";

/** Returns the message for a document with another result here than where its link was made. */
function otherResult(made: Made, here: string): string {
  if (made.engine === here) {
    return "These passes gave another result where this link was made. What you see is what they give now.";
  }
  return `This link was made with passlab ${made.engine}, where these passes gave another result. What you see is what passlab ${here} gives.`;
}

/** The options for opening a document. */
export interface Opening {
  /** The document that replaces the user's own work, as the beginning of a sentence. */
  what: string;
  /** The link that it is from, in the address already. */
  link?: string;
  lesson?: string;
  /** It came with the page: its script may run. */
  trusted?: boolean;
  /** It is nowhere else to be had. */
  own?: boolean;
}

interface Sharing {
  store: Store;
  address: Address;
  /** Puts a text on the clipboard. */
  copy(text: string): Promise<void>;
  judge: Judge;
  /** Returns the engine that knows no script: it encodes and decodes. */
  plain(): EngineClient;
  /** Returns the step that is shown, to be named in a link. */
  stepId(): string;
  /** Returns the hash of the last good run's result; empty when it is not available. */
  hash(): Promise<string>;
  keeping: ReturnType<typeof createKeeping>;
  /** Leaves the present document for another one; null: the address is already that of the new one. */
  leave(to: string | null): void;
}

/** Makes the other forms of the shown document: its link, and the reproducer. */
function createLinks({ store: { state }, address, copy, plain, stepId, hash }: Sharing) {
  /** Returns the engine's version and the hash of its result, if the shared document is the one that ran. */
  async function made(): Promise<Made> {
    const { good, document, catalogue, trust } = state();
    const ran = good?.document === document && trust === "own";
    const result = ran ? await hash() : "";
    return { engine: result ? (catalogue?.version ?? "") : "", result };
  }

  /** Returns the document in the form for sharing. */
  const passedOn = async () => {
    const id = stepId();
    return toShared(state(), id, await made());
  };

  /** The address of a document; empty when it could not be made. */
  async function linkOf(document: SharedDocument): Promise<string> {
    const reply = await plain().ask({ type: "encode", document });
    return reply.status === "answered" ? withLink(address.bare(), reply.value) : "";
  }

  /** The address with everything in it. */
  const linkNow = async (): Promise<string> => linkOf(await passedOn());

  /** The reproducer file; null when it could not be made. */
  async function reproducer(): Promise<string | null> {
    const reply = await plain().ask({ type: "write", document: await passedOn() });
    return reply.status === "answered" ? reply.value : null;
  }

  async function copyText(text: string): Promise<boolean> {
    try {
      await copy(text);
      return true;
    } catch {
      return false;
    }
  }
  return { linkOf, linkNow, reproducer, copyText };
}

export function createSharing(given: Sharing) {
  const {
    store: { state, dispatch },
    address,
    judge,
    plain,
    hash,
    keeping,
    leave,
  } = given;
  const links = createLinks(given);
  /** The claim of a link about the result of the document that was opened from it. */
  let claim: Made | null = null;
  let claimed: RunDocument | null = null;

  /** Compares with the claim of a link once its document has run: says so if the result differs. */
  async function checkClaim(): Promise<void> {
    const { good, document, trust, catalogue } = state();
    if (!claim || document !== claimed || good?.document !== document || trust !== "own") return;
    const made = claim;
    claim = null;
    const found = await hash();
    if (!found || found === made.result || state().document !== document) return;
    inform(otherResult(made, catalogue?.version ?? made.engine));
  }

  const inform = (text: string) =>
    dispatch({ type: "notice", notice: { tone: "info", text, action: null, label: "" } });

  let recovered: SharedDocument | null = null;

  /** Replaces the present document by one from elsewhere; true when that was own work and a way back is offered. */
  async function openDocument(
    document: SharedDocument,
    { what, link = "", lesson = "", trusted = false, own = false }: Opening,
  ): Promise<boolean> {
    const { script } = document;
    // Judges first: the following steps happen at once, so that text typed meanwhile is put aside, too.
    const known = script === state().document.script ? state().trust : null;
    const trust = trusted ? "own" : (known ?? (await judge.arrived(script)));
    const offer = keeping.putAside(what);
    leave(link ? null : lesson ? `${address.bare()}#lesson=${lesson}` : address.bare());
    address.show(link, () => dispatch({ type: "open", document, trust, lesson, own }));
    keeping.hold(state().document);
    offer?.();
    return offer !== null;
  }

  /** Opens a link. The user's own work is put aside, never overwritten. */
  async function openLink(link: string): Promise<void> {
    if (!link) return;
    address.expect(link);
    const reply = await plain().ask({ type: "decode", link });
    const opened =
      reply.status === "answered"
        ? judgeLink(reply.value)
        : {
            kind: "lost" as const,
            message: "This link could not be opened: the engine failed on it.",
          };
    if (opened.kind === "whole") {
      await openDocument(opened.document, { what: "Opened from a link", link });
      claim = opened.document.made?.result ? opened.document.made : null;
      claimed = state().document;
      if (opened.message) inform(`This link ${opened.message.replace(/^it /, "")}.`);
      return;
    }
    const text = `${opened.message} Your own program is untouched.`;
    recovered = opened.kind === "recovered" ? opened.document : null;
    const [action, label] = recovered
      ? (["open-recovered", "Open what could be read"] as const)
      : ([null, ""] as const);
    dispatch({ type: "notice", notice: { tone: "error", text, action, label } });
  }

  /** Puts the state into the address and on the clipboard. */
  async function share(): Promise<string> {
    const shared = state().document;
    const href = await links.linkNow();
    if (!href) return "The link could not be made.";
    if (state().document !== shared) return "The program changed meanwhile.";
    address.shared(href);
    // One's own link opens here without a question.
    if (state().trust === "own") void judge.decide(state().document.script, "own");
    keeping.keepSoon();
    // The panel that opens shows the length of the link and which places can hold it.
    return (await links.copyText(href)) ? "Link copied." : "The link is in the address bar.";
  }

  return {
    openLink,
    openDocument,
    async openRecovered(): Promise<void> {
      if (recovered) await openDocument(recovered, { what: "Opened from a damaged link" });
    },
    share,
    links,
    checkClaim,
  };
}
