/** Bringing programs in: a reproducer file, a program of either dialect, or the files that a compiler wrote after its passes. */
import type { EngineClient } from "../engine/client";
import type { DumpFile, SharedDocument } from "../engine/protocol";
import { emptyDocument, type State } from "./model";

/** More text than this is not opened: it could not be shown either. */
export const MOST = 16_000_000;

/** A file that cannot be read, with the reason for its user. */
export class Unreadable extends Error {}

const HEAD = /^(\/\/|#) passlab \d/;

/** True if a text is a reproducer file: a program with its pipeline in a comment at its head. */
export const isReproducer = (text: string): boolean => HEAD.test(text);

/** Sorts files as a folder does: by their numbers, then by name. */
export function inOrder(files: readonly DumpFile[]): DumpFile[] {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return [...files].sort((a, b) => compare(a.name, b.name));
}

/** True if a file can be a program: excludes files that editors and systems leave in a folder, and binary files. */
export const isProgram = ({ name, text }: DumpFile): boolean =>
  !/(^|\/)[._][^/]*$/.test(name) && text.trim() !== "" && !text.includes("\0");

export function createImporting({
  state,
  plain,
  openProgram,
  openDocument,
  say,
  takeProgress,
}: {
  state(): State;
  plain(): EngineClient;
  /** Puts a program in the place of the one that is there, with a way back. */
  openProgram(source: string, dialect: "relay" | "relax", name: string): void;
  /** Opens a document with script and context; its script waits to be allowed. */
  openDocument(document: SharedDocument, name: string): Promise<void>;
  say(text: string): void;
  /** Takes saved progress of the lessons; false for any other text. */
  takeProgress(text: string): boolean;
}) {
  async function importText(text: string, name: string): Promise<void> {
    if (takeProgress(text)) {
      say(`${name}: your progress in the lessons is here now.`);
      return;
    }
    if (!isReproducer(text)) {
      const answer = await plain().ask({ type: "recognise", text });
      const { dialect, inner } =
        answer.status === "answered" ? answer.value : { dialect: "relay" as const, inner: null };
      openProgram(inner?.[0] ?? text, dialect, name);
      if (inner) say(`${name}: ${inner[1]}.`);
      return;
    }
    const reply = await plain().ask({ type: "read", text });
    const found = reply.status === "answered" ? reply.value : null;
    if (!found?.document) {
      say(`${name} cannot be opened: ${found?.message ?? "the engine failed on it"}.`);
      return;
    }
    await openDocument(found.document, name);
    if (found.message) say(`${name} ${found.message.replace(/^it /, "")}.`);
  }

  /** Opens one file as a program or a reproducer, and several as a trace. */
  async function importFiles(given: readonly DumpFile[]): Promise<void> {
    const size = given.reduce((sum, file) => sum + file.text.length, 0);
    const files = inOrder(given.filter(isProgram));
    const [first, ...rest] = files;
    if (!first) say("There is no program in what you gave.");
    else if (size > MOST) say("That is more than 16 MB of text, which is not opened.");
    else if (rest.length === 0) await importText(first.text, first.name);
    else {
      const folder = /^([^/]+)\//.exec(first.name)?.[1] ?? `${files.length} files`;
      const { optLevel } = state().document;
      const document = { ...emptyDocument, optLevel, source: first.text, files: rest };
      await openDocument({ ...document, view: { step: "", view: "diff" } }, folder);
    }
  }

  /** Opens what a script ran as a trace; the script stays beside it. */
  async function openSteps([first, ...rest]: readonly DumpFile[]): Promise<void> {
    if (!first) return;
    const { optLevel, script } = state().document;
    const document = { ...emptyDocument, optLevel, script, source: first.text, files: rest };
    await openDocument({ ...document, view: { step: "", view: "diff" } }, "What the script ran");
  }

  return { importText, importFiles, openSteps };
}

/** Reads the texts of dropped or chosen files; folders and archives with all files in them. */
export async function textsOf(items: DataTransfer | FileList): Promise<DumpFile[]> {
  const out: DumpFile[] = [];
  const add = async (file: File, name: string) => {
    const { isZip, unzip } = await import("./unzip");
    if (isZip(name, new Uint8Array(await file.slice(0, 3).arrayBuffer()))) {
      const inside = await unzip(new Uint8Array(await file.arrayBuffer()), MOST).catch((error) => {
        throw new Unreadable(`${name} cannot be opened: ${error.message}.`);
      });
      const folder = name.replace(/\.zip$/i, "");
      for (const { name: path, text } of inside) {
        out.push({ name: path.includes("/") ? path : `${folder}/${path}`, text });
      }
      return;
    }
    // Read as far as is needed to refuse it.
    out.push({ name, text: await file.slice(0, MOST + 1).text() });
  };
  if (items instanceof FileList) {
    for (const file of items) await add(file, file.webkitRelativePath || file.name);
    return out;
  }
  // All at once: the browser forgets them after the event.
  const entries = [...items.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const loose = [...items.files];
  const waiting = entries.filter((entry) => entry !== null);
  if (waiting.length === 0) {
    for (const file of loose) await add(file, file.name);
  }
  for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
    const name = entry.fullPath.replace(/^\//, "");
    if (entry.isFile) {
      const file = await new Promise<File>((done, fail) =>
        (entry as FileSystemFileEntry).file(done, fail),
      );
      await add(file, name);
    } else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const part = await new Promise<FileSystemEntry[]>((done, fail) =>
          reader.readEntries(done, fail),
        );
        if (part.length === 0) break;
        waiting.push(...part);
      }
    }
  }
  return out;
}
