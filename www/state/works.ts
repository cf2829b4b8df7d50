/**
 * Keeps work in this browser: the present document of every tab, and dated copies of replaced ones. Two tabs do not
 * overwrite each other, and a copy stays until newer ones push it out.
 */
import type { RunDocument } from "../engine/protocol";
import type { Attic } from "./attic";
import { asView, type Trust, type View } from "./model";
import { isObject, readDocument, type Storage, text } from "./persist";

/** The document and view of a tab, as stored. */
export interface Draft {
  /** Null for a link whose document is too large to be kept twice: it is decoded again. */
  document: RunDocument | null;
  example: string;
  lesson: string;
  step: string;
  view: View;
  /** The link that this came from and still equals, or empty. */
  link: string;
  trust: Trust;
  /** True if it is as it was opened, so not the user's own work. */
  untouched: boolean;
  /** The copy to which the page offers the way back, or empty. */
  back: string;
}

/** A copy, as lists show it. */
export interface Work {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  /** A short description. */
  title: string;
  /** The reason of its replacement; empty for a draft that another tab shows. */
  why: string;
}

interface Envelope extends Omit<Work, "id"> {
  draft: Draft;
  /** The document stands in the attic. */
  large: boolean;
}

const DRAFT = "passlab.tab.";
const COPY = "passlab.work.";
/** The keys of the first release. */
const OLD = ["passlab.draft", "passlab.before-link"];
/** The numbers of copies, and of other tabs' drafts, that are kept; the oldest go first. */
const MOST_COPIES = 12;
const MOST_TABS = 8;
/** Characters of a document beyond which it goes to the attic. */
const LARGE = 100_000;

function readDraft(value: unknown): Draft | null {
  if (!isObject(value)) return null;
  const document = readDocument(value.document);
  const link = text(value.link);
  if (!document && !link && value.document !== null) return null;
  const trusts: Trust[] = ["ask", "held"];
  return {
    document,
    example: text(value.example),
    lesson: text(value.lesson),
    step: text(value.step),
    view: asView(text(value.view)),
    link,
    trust: trusts.find((trust) => trust === value.trust) ?? "own",
    untouched: value.untouched === true,
    back: text(value.back),
  };
}

/** Returns the name of a document in a list: its first functions, and the number of passes. */
export function titleOf({ document, link }: Draft, example: string): string {
  if (!document) return `A link of ${link.length.toLocaleString("en")} characters`;
  const { source, passes, files } = document;
  const found = [...source.slice(0, 20_000).matchAll(/(?:def )?@(\w+)\s*\(|\bdef (\w+)\(/g)];
  const names = [...new Set(found.flatMap((hit) => hit[1] ?? hit[2] ?? []))].slice(0, 3);
  const name = example || names.map((one) => `@${one}`).join(", ") || source.trim().slice(0, 40);
  if (files?.length) return `${name || "A trace"}, a trace of ${files.length + 1} files`;
  return `${name || "Nothing"}, ${passes.length} ${passes.length === 1 ? "pass" : "passes"}`;
}

export class Works {
  /** Copies that this page made, whether or not they could be stored. */
  private readonly memory = new Map<string, Draft>();
  /** The document of this tab that stands in the attic. */
  private inAttic: RunDocument | null = null;
  private count = 0;

  constructor(
    private readonly storage: Storage | null,
    private readonly attic: Attic,
    /** The identifier of this tab. */
    private tab: string,
    private readonly now: () => number = Date.now,
  ) {}

  /** Called when another tab has the same name: a copy of a tab is born with it. */
  rename(tab: string): void {
    this.tab = tab;
    this.inAttic = null;
  }

  private read(key: string): Envelope | null {
    try {
      const value: unknown = JSON.parse(this.storage?.getItem(key) ?? "null");
      if (!isObject(value)) return null;
      const draft = readDraft(OLD.includes(key) ? value : value.draft);
      const at = typeof value.at === "number" ? value.at : 0;
      const large = value.large === true;
      if (!draft || (!draft.document && !draft.link && !large)) return null;
      return {
        draft,
        at,
        large,
        title: text(value.title) || titleOf(draft, ""),
        why: text(value.why),
      };
    } catch {
      return null;
    }
  }

  private keys(prefix: string): string[] {
    const { storage } = this;
    const keys: string[] = [];
    try {
      for (let index = 0; index < (storage?.length ?? 0); index++) {
        const key = storage?.key(index);
        if (key?.startsWith(prefix)) keys.push(key);
      }
    } catch {
      // Storage that cannot be listed counts as empty.
    }
    return keys;
  }

  private drop(key: string): void {
    try {
      this.storage?.removeItem(key);
    } catch {}
    void this.attic.drop(key);
  }

  /** Returns the entries with a prefix, the newest first. */
  private dated(prefix: string): [key: string, envelope: Envelope][] {
    return this.keys(prefix)
      .flatMap((key): [string, Envelope][] => {
        const envelope = this.read(key);
        return envelope ? [[key, envelope]] : [];
      })
      .sort((a, b) => b[1].at - a[1].at);
  }

  /** Writes; drops the oldest copies if there is no room. */
  private write(key: string, value: unknown): boolean {
    if (!this.storage) return false;
    const json = JSON.stringify(value);
    let spare: string[] | null = null;
    for (;;) {
      try {
        this.storage.setItem(key, json);
        return true;
      } catch {
        spare ??= this.dated(COPY).flatMap(([other]) => (other === key ? [] : [other]));
        const oldest = spare.pop();
        if (!oldest) return false;
        this.drop(oldest);
      }
    }
  }

  /** Stores a draft under a key; the document of a large one goes to the attic unless it stands there already. */
  private async store(key: string, draft: Draft, why: string, known: boolean): Promise<boolean> {
    const { document } = draft;
    const size = document ? sizeOf(document) : 0;
    const envelope = { at: this.now(), title: titleOf(draft, draft.example), why };
    if (size <= LARGE) return this.write(key, { ...envelope, draft, large: false });
    // The link contains the document, so no copy is kept.
    const light = { ...draft, document: null };
    if (draft.link) return this.write(key, { ...envelope, draft: light, large: false });
    if (!this.write(key, { ...envelope, draft: light, large: true })) return false;
    return known || this.attic.put(key, JSON.stringify(document));
  }

  private async whole(key: string, { draft, large }: Envelope): Promise<Draft | null> {
    if (!large) return draft;
    const found = await this.attic.get(key);
    try {
      const document = readDocument(JSON.parse(found ?? "null"));
      return document ? { ...draft, document } : null;
    } catch {
      return null;
    }
  }

  /** Returns the last draft of this tab, else of any tab; null at a first visit. */
  async latest(): Promise<Draft | null> {
    const own = DRAFT + this.tab;
    const mine = this.read(own);
    const other = this.dated(DRAFT)[0];
    const old = this.read(OLD[0] as string);
    const [key, envelope] = mine ? [own, mine] : (other ?? [OLD[0] as string, old]);
    // The way back belongs to the other tab, so it is dropped.
    const found = envelope ? await this.whole(key, envelope) : null;
    return found && key !== own ? { ...found, back: "" } : found;
  }

  /** Keeps the draft. False when the browser refused: then the page says that work is not being kept. */
  async keepDraft(draft: Draft): Promise<boolean> {
    const key = DRAFT + this.tab;
    const known = this.inAttic === draft.document;
    const kept = await this.store(key, draft, "", known);
    this.inAttic = kept && draft.document && sizeOf(draft.document) > LARGE ? draft.document : null;
    if (this.keys(DRAFT).length > MOST_TABS + 1)
      for (const [old] of this.dated(DRAFT).slice(MOST_TABS)) if (old !== key) this.drop(old);
    return kept;
  }

  /**
   * Puts a copy aside before another document replaces it. It can be restored as long as this page is open, and
   * afterwards if `kept` becomes true.
   */
  putAside(draft: Draft, why: string): { id: string; kept: Promise<boolean> } {
    const same = this.dated(COPY)[0];
    const id =
      same && JSON.stringify(same[1].draft.document) === JSON.stringify(draft.document)
        ? same[0].slice(COPY.length)
        : `${this.now().toString(36)}-${this.tab}-${this.count++}`;
    this.memory.set(id, draft);
    const kept = this.store(COPY + id, { ...draft, back: "" }, why, false);
    for (const [old] of this.dated(COPY).slice(MOST_COPIES)) this.drop(old);
    return { id, kept };
  }

  /** True if there is a document to go back to. */
  has(id: string): boolean {
    return this.memory.has(id) || this.read(this.keyOf(id)) !== null;
  }

  async get(id: string): Promise<Draft | null> {
    const known = this.memory.get(id);
    if (known) return known;
    const envelope = this.read(this.keyOf(id));
    return envelope ? this.whole(this.keyOf(id), envelope) : null;
  }

  private keyOf(id: string): string {
    return OLD.includes(id) || id.startsWith(DRAFT) ? id : COPY + id;
  }

  /** Returns all documents that can be restored except `shown`, the newest first: copies, and drafts of other tabs. */
  list(shown: RunDocument | null = null): Work[] {
    const own = DRAFT + this.tab;
    const here = JSON.stringify(shown);
    const found = [
      ...this.dated(COPY).map(([key, one]) => ({ ...one, id: key.slice(COPY.length) })),
      ...[...this.dated(DRAFT), ...OLD.flatMap((key) => this.dated(key))]
        .filter(([key, { draft }]) => key !== own && !draft.untouched)
        .map(([key, one]) => ({ ...one, id: key })),
    ].filter(({ draft }) => !shown || JSON.stringify(draft.document) !== here);
    const stored = new Set(found.map(({ id }) => id));
    const only = [...this.memory]
      .filter(([id]) => !stored.has(id))
      .map(([id, draft]) => ({ id, at: this.now(), title: titleOf(draft, ""), why: "not stored" }));
    return [...only, ...found.sort((a, b) => b.at - a.at)].map(({ id, at, title, why }) => ({
      id,
      at,
      title,
      why,
    }));
  }
}

/** Estimates the number of characters of a document. */
export function sizeOf({ source, script, passes, files = [], parent = "" }: RunDocument): number {
  const lists = passes.reduce((sum, pass) => sum + pass.call.length + 30, 0);
  const more = files.reduce((sum, file) => sum + file.name.length + file.text.length, 0);
  return source.length + script.length + parent.length + lists + more;
}

/** Returns a name for this tab that outlives a reload; `taken` is called when another one turns out to have it. */
export function nameOfTab(taken: (fresh: string) => void): string {
  const fresh = () => crypto.getRandomValues(new Uint32Array(2)).join("").slice(0, 12);
  const KEY = "passlab.tab";
  const put = (name: string) => {
    try {
      sessionStorage.setItem(KEY, name);
    } catch {}
    return name;
  };
  let name = "";
  try {
    name = sessionStorage.getItem(KEY) ?? "";
  } catch {}
  name ||= put(fresh());
  // A duplicate of a tab starts with the same identifier; the older tab answers and keeps it.
  if ("BroadcastChannel" in globalThis) {
    const channel = new BroadcastChannel("passlab.tabs");
    let settled = false;
    setTimeout(() => {
      settled = true;
    }, 500);
    channel.onmessage = ({ data }) => {
      if (data === `is ${name}` && settled) channel.postMessage(`taken ${name}`);
      else if (data === `taken ${name}` && !settled) {
        name = put(fresh());
        taken(name);
      }
    };
    channel.postMessage(`is ${name}`);
  }
  return name;
}
