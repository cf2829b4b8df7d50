/**
 * Makes the other forms of sharing: texts from the document, its run and one step of it. Nothing here draws or asks.
 * Names of steps and files may come from a link, so they are escaped to be nothing but text where they are pasted.
 */
import { rowsOf } from "../engine/diff";
import type { Diff, RunDocument } from "../engine/protocol";

/** The places for links and the longest link of each, in characters; the shortest first. */
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

/** Returns one sentence on where a link of this length fits, and where it does not. */
export function fits(length: number): string {
  const too = places.filter((place) => length > place.most).map((place) => place.name);
  if (too.length === 0) return "It fits everywhere: chats, mails, a GitHub comment, a QR code.";
  if (too.length === places.length)
    return "It is too long for any browser: share the file instead.";
  const last = too.length > 1 ? `${too.slice(0, -1).join(", ")} or ${too.at(-1)}` : too[0];
  return `It is too long for ${last}; elsewhere it fits.`;
}

/** Returns the title of a link: the function names of the program are the best one. */
export function titleOf(document: RunDocument, step: string): string {
  const example = /@([A-Za-z_]\w*)|def (\w+)\(/.exec(document.source.replace(/@(I|R|T)\./g, ""));
  const name = example?.[1] ?? example?.[2] ?? "a program";
  return step ? `passlab: ${step} on ${name}` : `passlab: ${name}`;
}

/** Returns a text on one line without invisible characters: controls, ends of lines, changes of direction. */
export const visible = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim();

/** Escapes a text so that Markdown shows it as it is: no links, no emphasis, no HTML. */
const asMarkdown = (text: string): string => visible(text).replace(/[\\`*_[\]<>&~|#!]/g, "\\$&");

/** Escapes an address so that it ends where the link of Markdown ends. */
const asTarget = (href: string): string =>
  href.replace(/[\s()<>]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`);

export const markdownLink = (title: string, href: string): string =>
  `[${asMarkdown(title)}](${asTarget(href)})`;

/** Lines of unchanged program around a change. */
const CONTEXT = 3;

/** Returns a diff as a unified patch without a head, for a block of Markdown. */
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

/** Writes Markdown with the link and the diff of a step. */
export function markdownDiff(title: string, href: string, summary: string[], diff: Diff): string {
  // A fence longer than any in the program.
  const body = unified(diff);
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map((hit) => hit[0].length));
  const fence = "`".repeat(longest + 1);
  const said = summary.map((line) => `- ${asMarkdown(line)}\n`).join("");
  return `${markdownLink(title, href)}\n\n${said ? `${said}\n` : ""}${fence}diff\n${body}\n${fence}\n`;
}

/** Returns the same for the command line. Links have no character that a shell would interpret. */
export const commandLine = (link: string): string => `passlab open '${link}' | passlab opt -`;
