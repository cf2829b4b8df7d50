/** Names that are not known: an error that says which one was meant, never nothing. */
import { cross } from "./engine";

/** Returns a name without the differences between Python, C++ and JavaScript. */
const bare = (name: string) => name.replace(/_/g, "").toLowerCase();
const camel = (name: string) => name.replace(/(?!^)_([a-z])/g, (_, letter) => letter.toUpperCase());

/** Returns the same name as spelt here: `optLevel` for `opt_level`, `visitCall` for `visit_call_` and `VisitCall`. */
export function spelt(name: string, known: readonly string[]): string | undefined {
  return known.find((one) => one === camel(name)) ?? known.find((one) => bare(one) === bare(name));
}

/** Returns the nearest of the names that there are. */
function nearest(name: string, known: readonly string[]): string | undefined {
  return spelt(name, known) ?? (cross().user_nearest(name, [...known]) || undefined);
}

/** Returns the end of a message about an unknown name. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near ? `: did you mean ${near}?` : `: there are ${known.join(", ")}`;
}

/** Refuses unknown options, which would be ignored. */
export function checkOptions(what: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`the options of ${what} must be an object: { ${known.join(", ")} }`);
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new TypeError(`${what} has no option ${name}${didYouMean(name, known)}`);
}

/** Makes a namespace in which a name that is not known is an error. */
export function strictNamespace<T extends object>(title: string, own: T): T {
  return new Proxy(own, {
    get(target, name) {
      if (
        typeof name !== "string" ||
        name in target ||
        ["then", "toJSON", "prototype"].includes(name)
      )
        return Reflect.get(target, name);
      throw new TypeError(`${title} has no ${name}${didYouMean(name, Object.keys(target))}`);
    },
  });
}

/** Prototypes of classes of this API, whose methods are hooks. */
const own = new WeakSet<object>([Object.prototype]);
/** Prototypes that were checked and are in order. */
const looked = new WeakSet<object>();

/** Classes whose methods are the hooks that there are. */
export function hooksOf(...classes: { prototype: object }[]): void {
  for (const { prototype } of classes) own.add(prototype);
}

/**
 * Refuses a class of the user's with a method that looks like a hook and is none, because it would never be called. A
 * method that the class itself calls is its own.
 */
export function checkHooks(object: object): void {
  const first = Object.getPrototypeOf(object) as object;
  if (looked.has(first) || own.has(first)) return;
  const theirs: object[] = [];
  let at = first;
  for (; !own.has(at); at = Object.getPrototypeOf(at)) theirs.push(at);
  const known: string[] = [];
  for (; at !== Object.prototype; at = Object.getPrototypeOf(at))
    known.push(...Object.getOwnPropertyNames(at).filter((name) => name !== "constructor"));
  for (const prototype of theirs) {
    const { name: title } = prototype.constructor;
    const source = Function.prototype.toString.call(prototype.constructor);
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (known.includes(name) || !/^(visit|rewrite|mutate)/i.test(name)) continue;
      if (new RegExp(`\\bthis\\s*\\.\\s*${name.replace(/\$/g, "\\$")}\\b`).test(source)) continue;
      const meant = /^visit_?expr_?$/i.test(name) ? "visit" : nearest(name, known);
      if (meant) throw new TypeError(`${title} has no hook ${name}: did you mean ${meant}?`);
    }
  }
  for (const prototype of theirs) looked.add(prototype);
}
