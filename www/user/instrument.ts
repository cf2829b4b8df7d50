/** Instruments, which watch passes: those of the script, and those that are built in (`tvm.instrument`). */

import { python } from "./attrs";
import type { InstrumentDesc } from "./calls";
import { cross, ofScript, owningScript } from "./engine";
import { IRModule } from "./module";
import { didYouMean, spelt } from "./names";
import { isClass, NAME, type PassInfo, passInfo } from "./pass";
import { refusePromise } from "./scope";
import { shown } from "./types";

/** Instruments: any of the five hooks, under the names of TVM in this language's spelling. */
export interface InstrumentHooks {
  name?: string;
  doc?: string;
  enterPassCtx?(): void;
  exitPassCtx?(): void;
  shouldRun?(module: IRModule, info: PassInfo): boolean | undefined;
  runBeforePass?(module: IRModule, info: PassInfo): void;
  runAfterPass?(module: IRModule, info: PassInfo): void;
}

const HOOKS = {
  enter: "enterPassCtx",
  exit: "exitPassCtx",
  should_run: "shouldRun",
  before: "runBeforePass",
  after: "runAfterPass",
} as const;
const HOOK_NAMES: readonly string[] = Object.values(HOOKS);
/** Returns the name of a hook in Python. */
const inPython = (hook: string) => hook.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

interface Instrument {
  name: string;
  hooks: InstrumentHooks;
  owner: object;
  /** An instrument that is built in, in call notation; else empty. */
  call: string;
}
interface InstrumentFactory {
  name: string;
  create(): object;
}

/** Everything that the script made, for the engine to call by number. */
let instruments: Instrument[] = [];
let classes: InstrumentFactory[] = [];

export function forgetInstruments(): void {
  instruments = [];
  classes = [];
}

function instrumentName(name: unknown): string {
  const text = String(name ?? "");
  if (!NAME.test(text)) throw new TypeError("an instrument needs a name of letters, digits and _");
  return text;
}

/** Refuses hooks with unknown names, which are never called, and instruments without hooks. */
function checkInstrument(hooks: object, name: string): void {
  const names = new Set<string>();
  for (let at = hooks; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const one of Object.getOwnPropertyNames(at)) names.add(one);
  const known = HOOK_NAMES.filter((hook) => names.has(hook));
  for (const one of names) {
    const isMethod = /^(enter|exit|should|run)/i.test(one) && !HOOK_NAMES.includes(one);
    const meant = isMethod ? spelt(one, HOOK_NAMES) : undefined;
    if (meant) throw new TypeError(`${name} has no hook ${one}: did you mean ${meant}?`);
  }
  if (known.length === 0)
    throw new TypeError(`${name} has none of the hooks ${HOOK_NAMES.join(", ")}`);
}

function addInstrument<T extends InstrumentHooks>(hooks: T, name: string, call = ""): T {
  if (!call) checkInstrument(hooks, name);
  instruments.push({ name, hooks, owner: owningScript(), call });
  return hooks;
}

/**
 * Makes an instrument of an object with hooks, or of a class with them: then the result makes one from the
 * constructor's arguments, as TVM's decorator does. It stands among the page's instruments by its name.
 */
// biome-ignore lint/suspicious/noExplicitAny: an instrument or a factory, by what is given
export function passInstrument(hooks: any): any {
  if (!isClass(hooks)) return addInstrument(hooks, instrumentName(hooks?.name));
  const name = instrumentName(hooks.name);
  const create = (...args: unknown[]) => addInstrument(new hooks(...args) as InstrumentHooks, name);
  if (hooks.length === 0) classes.push({ name, create });
  return create;
}

/** Instruments as the engine makes them. */
export function instrumentDescs(list: readonly unknown[]): InstrumentDesc[] {
  if (!Array.isArray(list)) throw new TypeError("instruments must be a list");
  return list.map((hooks) => {
    let index = instruments.findIndex((one) => one.hooks === hooks);
    if (index < 0) {
      if (typeof hooks !== "object" || hooks === null)
        throw new TypeError(`an instrument is needed here, not ${shown(hooks)}`);
      addInstrument(hooks as InstrumentHooks, hooks.constructor.name || "instrument");
      index = instruments.length - 1;
    }
    const { name, call } = instruments[index] as Instrument;
    return { name, index, call };
  });
}

/** Calls a hook about a context of instruments whose context is not entered, as TVM does all the same. */
export function callHook(list: readonly unknown[], what: "enter" | "exit"): void {
  for (const { index } of instrumentDescs(list)) runHook(what, index, new Uint32Array(), null);
}

/** `instrument.PrintAfterAll()`, `instrument.PassPrintingInstrument(["FuseOps"], [])`: those that are built in. */
export const instrument: Record<string, unknown> = new Proxy(
  {},
  {
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (name === "PassTimingInstrument") return PassTimingInstrument;
      if (name === "passInstrument") return passInstrument;
      const known = cross().user_instruments();
      if (!known.includes(name))
        throw new TypeError(
          `there is no instrument ${name}${didYouMean(name, [...known, "passInstrument"])}`,
        );
      return (...args: unknown[]) => {
        const given = args.map((arg) => python(arg, `an argument of ${name}`));
        const call = `${name}(${given.join(", ")})`;
        cross().user_instrument(call);
        const text = () => call;
        return addInstrument(Object.defineProperty({}, "toString", { value: text }), name, call);
      };
    },
  },
);

interface Profile {
  name: string;
  start: number;
  micros: number;
  children: Profile[];
}

/** Makes TVM's PassTimingInstrument: a tree of passes with their times. */
export function PassTimingInstrument(): InstrumentHooks & { render(): string } {
  let top: Profile[] = [];
  const open: Profile[] = [];
  const now = () => performance.now() * 1000;
  const sum = (list: Profile[]) => list.reduce((all, one) => all + one.micros, 0);
  const percent = (part: number, of: number) => (of > 0 ? (100 * part) / of : 0).toFixed(2);
  const hooks: InstrumentHooks & { render(): string } = {
    runBeforePass(_, { name }) {
      const profile = { name, start: now(), micros: 0, children: [] };
      (open.at(-1)?.children ?? top).push(profile);
      open.push(profile);
    },
    runAfterPass() {
      const profile = open.pop();
      if (profile) profile.micros = now() - profile.start;
    },
    exitPassCtx() {
      top = [];
      open.length = 0;
    },
    render() {
      const all = sum(top);
      const lines: string[] = [];
      const stack = top.map((one) => ({ one, depth: 0, parent: all })).reverse();
      for (let next = stack.pop(); next; next = stack.pop()) {
        const { one, depth, parent } = next;
        const own = one.micros - sum(one.children);
        const share = `(${percent(one.micros, all)}%; ${percent(one.micros, parent)}%)`;
        lines.push(
          `${"\t".repeat(depth)}${one.name}: ${one.micros.toFixed(0)}us [${own.toFixed(0)}us] ${share}\n`,
        );
        const below = one.children.map((child) => ({
          one: child,
          depth: depth + 1,
          parent: one.micros,
        }));
        stack.push(...below.reverse());
      }
      return lines.join("");
    },
  };
  return addInstrument(hooks, "PassTimingInstrument");
}

/** Runs a hook of an instrument for the engine. */
export function runHook(
  what: string,
  index: number,
  words: Uint32Array,
  info: [string, number, string[]] | null,
): unknown {
  const one = instruments[index];
  if (!one) throw new Error("there is no such instrument");
  ofScript(one.owner);
  const hook = one.hooks[HOOKS[what as keyof typeof HOOKS]] as
    | ((...args: unknown[]) => unknown)
    | undefined;
  if (!hook) return undefined;
  if (!info) {
    refusePromise(hook.call(one.hooks), "a hook");
    return undefined;
  }
  const [name, optLevel, required] = info;
  const answer: unknown = hook.call(
    one.hooks,
    IRModule.fromWords(words),
    passInfo(name, optLevel, required),
  );
  refusePromise(answer, "a hook");
  // The result of a hook is not logged; only `should_run` returns one.
  return what === "should_run" ? answer : undefined;
}

/** Returns the instruments that the script made, one of each name: for the engine, and for the page. */
export function registeredInstruments() {
  for (const { name, create } of classes)
    if (!instruments.some((one) => one.name === name)) create();
  const shownOnes = instruments.filter(
    ({ name, call }, at) =>
      !call &&
      name !== "PassTimingInstrument" &&
      instruments.findIndex((other) => other.name === name) === at,
  );
  return {
    descs: shownOnes.map((one) => ({
      name: one.name,
      index: instruments.indexOf(one),
      call: "",
    })),
    report: shownOnes.map(({ name, hooks }) => ({
      name,
      hooks: HOOK_NAMES.filter((hook) => hook in hooks).map(inPython),
      doc: hooks.doc ?? "",
    })),
  };
}
