/**
 * Readers of values that may be anything. Each returns what it checked and nothing else of it, or throws.
 * `answers.ts` puts them together.
 */

import type { RunDocument, SharedDocument } from "../engine/protocol";

export type Read<T> = (value: unknown) => T;

export function wrong(wanted: string): never {
  throw new Error(`${wanted} was expected`);
}

export const text: Read<string> = (value) => (typeof value === "string" ? value : wrong("a text"));
export const flag: Read<boolean> = (value) =>
  typeof value === "boolean" ? value : wrong("true or false");
export const real: Read<number> = (value) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : wrong("a number");
export const whole: Read<number> = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : wrong("a whole number");

export function short(limit: number): Read<string> {
  return (value) => {
    const read = text(value);
    return read.length <= limit ? read : `${read.slice(0, limit)}…`;
  };
}

export function oneOf<T extends string>(...names: T[]): Read<T> {
  return (value) => names.find((name) => name === value) ?? wrong(names.join(" or "));
}

export function maybe<T>(read: Read<T>): Read<T | null> {
  return (value) => (value === null || value === undefined ? null : read(value));
}

export function list<T>(read: Read<T>, limit: number): Read<T[]> {
  return (value) => {
    if (!Array.isArray(value)) return wrong("a list");
    if (value.length > limit) return wrong(`a list of at most ${limit}`);
    return value.map(read);
  };
}

export function pair<A, B>(first: Read<A>, second: Read<B>): Read<[A, B]> {
  return (value) =>
    Array.isArray(value) && value.length === 2
      ? [first(value[0]), second(value[1])]
      : wrong("a pair");
}

export function triple<A, B, C>(first: Read<A>, second: Read<B>, third: Read<C>): Read<[A, B, C]> {
  return (value) =>
    Array.isArray(value) && value.length === 3
      ? [first(value[0]), second(value[1]), third(value[2])]
      : wrong("three in a row");
}

/** Own properties only: JSON's `__proto__` is an ordinary name here, and not one of these. */
export function record<T extends object>(fields: { [K in keyof T]: Read<T[K]> }): Read<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return (value) => {
    if (typeof value !== "object" || value === null) return wrong("an object");
    const result: Partial<T> = {};
    for (const name of names) {
      const own = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
      result[name] = fields[name](own);
    }
    return result as T;
  };
}

/** An object of any names with values of one kind. */
export function dictionary<T>(
  longest: number,
  read: Read<T>,
  limit: number,
): Read<Record<string, T>> {
  const entries = list(pair(short(longest), read), limit);
  return (value) =>
    Object.fromEntries(entries(Object.entries(typeof value === "object" && value ? value : {})));
}

/** Reads a field that may be left out. */
export function optional<T>(read: Read<T>): Read<T | undefined> {
  return (value) => (value === null || value === undefined ? undefined : read(value));
}

/** Drops a field that never comes out of a sandbox. */
export const nothing: Read<undefined> = () => undefined;

/** JSON has no infinities and NaN; they come as null. */
export const element: Read<number> = (value) =>
  value === null ? Number.NaN : typeof value === "number" ? value : wrong("an element");

/** A document that was made small. Its script and what is beside it are the page's business: the page has them. */
export function shared(read: Read<RunDocument>): Read<SharedDocument> {
  return (value) => {
    const { parent, files, made, ...kept } = read(value);
    return { ...kept, script: "", view: { step: "", view: "" } };
  };
}
