/**
 * Keeps state across reloads, besides the work itself (`works.ts`): the page's appearance, decisions about scripts,
 * progress in the lessons. Storage may be full, forbidden or hold data of another version, so reads check everything
 * and a failure costs only convenience.
 */
import type { RunDocument } from "../engine/protocol";
import { defaultPreferences, type Preferences, type Trust } from "./model";

export interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
  key(index: number): string | null;
  readonly length: number;
}

const PREFERENCES = "passlab.preferences";
const LESSONS = "passlab.lessons";
const DECISIONS = "passlab.decisions";
/** The number of decisions about scripts that are remembered; the oldest go first. */
const MOST_DECISIONS = 200;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
/** The engine's limit for entries of a list (`MOST_ENTRIES` in `src/repro`): each is drawn. */
const MOST_ENTRIES = 2000;
const strings = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.filter((item): item is string => typeof item === "string").slice(0, MOST_ENTRIES)
    : [];
export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Reads a run document from any value; null if not even a program is in it. */
export function readDocument(value: unknown): RunDocument | null {
  if (!isObject(value) || typeof value.source !== "string") return null;
  const passes = Array.isArray(value.passes) ? value.passes.slice(0, MOST_ENTRIES) : [];
  const config: Record<string, string> = {};
  if (isObject(value.config)) {
    for (const [key, item] of Object.entries(value.config).slice(0, MOST_ENTRIES)) {
      if (typeof item === "string") config[key] = item;
    }
  }
  const level = value.optLevel;
  const files = (Array.isArray(value.files) ? value.files : [])
    .slice(0, MOST_ENTRIES)
    .filter(isObject)
    .map((file) => ({ name: text(file.name), text: text(file.text) }));
  return {
    source: value.source,
    passes: passes
      .filter(isObject)
      .filter((item) => typeof item.call === "string")
      .map((item) => ({ call: text(item.call), enabled: item.enabled !== false })),
    optLevel: typeof level === "number" && level >= 0 && level <= 4 ? Math.round(level) : 2,
    required: strings(value.required),
    disabled: strings(value.disabled),
    config,
    instruments: strings(value.instruments),
    script: text(value.script),
    ...(text(value.parent) ? { parent: text(value.parent) } : {}),
    ...(files.length > 0 ? { files } : {}),
  };
}

function readPreferences(value: unknown): Preferences {
  if (!isObject(value)) return defaultPreferences;
  const result: Record<string, unknown> = { ...defaultPreferences };
  for (const [key, standard] of Object.entries(defaultPreferences)) {
    const kept = value[key];
    if (typeof kept === typeof standard && !Array.isArray(standard)) result[key] = kept;
  }
  const themes: unknown[] = ["system", "light", "dark"];
  if (!themes.includes(result.theme)) result.theme = "system";
  const patience = Number(result.patience);
  result.patience = patience >= 1 && patience <= 600 ? Math.round(patience) : 5;
  const widths = value.widths;
  if (
    Array.isArray(widths) &&
    widths.length === 2 &&
    widths.every((width) => typeof width === "number" && width >= 100 && width <= 800)
  ) {
    result.widths = [widths[0], widths[1]];
  }
  return result as unknown as Preferences;
}

export class Keeper {
  constructor(private readonly storage: Storage | null) {}

  private read(key: string): unknown {
    try {
      return JSON.parse(this.storage?.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }

  private write(key: string, value: unknown): boolean {
    try {
      this.storage?.setItem(key, JSON.stringify(value));
      return this.storage !== null;
    } catch {
      return false;
    }
  }

  /** Returns the decision about the script with this hash, if there is one. */
  decision(hash: string): Trust | null {
    return this.decisions().find(([known]) => known === hash)?.[1] ?? null;
  }

  keepDecision(hash: string, trust: Trust): void {
    const rest = this.decisions().filter(([known]) => known !== hash);
    this.write(DECISIONS, [...rest, [hash, trust]].slice(-MOST_DECISIONS));
  }

  private decisions(): [string, Trust][] {
    const kept = this.read(DECISIONS);
    if (!Array.isArray(kept)) return [];
    return kept.filter(
      (item): item is [string, Trust] =>
        Array.isArray(item) &&
        typeof item[0] === "string" &&
        ["own", "held", "ask"].includes(item[1]),
    );
  }

  /** Returns the lessons that are done. */
  lessons(): string[] {
    const kept = this.read(LESSONS);
    return isObject(kept) ? strings(kept.done) : [];
  }

  keepLessons(done: string[]): void {
    this.write(LESSONS, { done });
  }

  preferences(): Preferences {
    return readPreferences(this.read(PREFERENCES));
  }

  keepPreferences(preferences: Preferences): void {
    this.write(PREFERENCES, preferences);
  }
}

/** Returns the browser's storage, or null where it is switched off. */
export function browserStorage(): Storage | null {
  try {
    const storage = window.localStorage;
    storage.getItem(PREFERENCES);
    return storage;
  } catch {
    return null;
  }
}
