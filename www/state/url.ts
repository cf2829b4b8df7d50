/**
 * Reads links: everything after `#` is the engine's encoding of the shared document. The engine knows the format; this
 * file knows when an address holds one and how to react when it does not decode.
 */
import type { DecodeResult, SharedDocument } from "../engine/protocol";

/** Returns the link in a fragment, without `#`; empty when there is none. Mail programs escape characters in links. */
export function linkOf(hash: string): string {
  const raw = hash.startsWith("#") ? hash.slice(1) : hash;
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

/** Returns the address of this page with a link in it. */
export function withLink(href: string, link: string): string {
  const cut = href.indexOf("#");
  return `${cut < 0 ? href : href.slice(0, cut)}#${link.startsWith("#") ? link.slice(1) : link}`;
}

export type Opened =
  /** A complete document; the message names omitted parts, and is usually empty. */
  | { kind: "whole"; document: SharedDocument; message: string }
  | { kind: "recovered"; document: SharedDocument; message: string }
  | { kind: "lost"; message: string };

const titles: Record<string, string> = {
  "link-version": "This link was made by a newer passlab",
  "link-damaged": "This link is damaged",
  "link-truncated": "This link is cut off",
  "link-too-large": "This link holds more than passlab opens",
};

/** Returns the meaning of a decoded link for the page. */
export function judge(result: DecodeResult): Opened {
  const { document, error, message } = result;
  if (document && !error) return { kind: "whole", document, message };
  const title = titles[error] ?? "This link cannot be read";
  // Drops the start of the engine's message that repeats the title.
  const why = message
    .replace(/\.$/, "")
    .replace(/^(the|this) link (is damaged|was made by a later passlab)$/, "");
  const sentence = why ? `${title}: ${why}.` : `${title}.`;
  if (document) return { kind: "recovered", document, message: sentence };
  return { kind: "lost", message: sentence };
}
