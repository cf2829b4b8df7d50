/** Passes, contexts and instruments, as TVM's Python has them (`tvm.transform`, `tvm.instrument`). */
import { python } from "./attrs";
import { fuseOpsByPattern } from "./dpl";
import { cross, here, type Space, space } from "./engine";
import { IRModule, needModule } from "./module";
import { type Expr, Func, nodeAt, type Var } from "./nodes";
import { type BindingBlock, DataflowBlock, needBlock, PrimFunc } from "./relax";
import { keepsOutputs, RelaxExprMutator } from "./relax-functor";
import { refusePromise, Scope } from "./scope";
import { asType, shown, type Type } from "./types";

export interface PassOptions {
  /** Its name in lists and in the trace; by default that of the function or class. */
  name?: string;
  /** The level from which a sequence runs it. 0 by default. */
  optLevel?: number;
  /** Passes that a sequence runs right before it. */
  required?: readonly string[];
  /** What it does, for the list of passes. */
  doc?: string;
}

export interface PassInfo {
  readonly name: string;
  readonly optLevel: number;
  readonly required: readonly string[];
}

type Kind = "built-in" | "module" | "function" | "dataflow-block" | "prim-func" | "sequential";

/** What a pass consists of, for the engine. */
interface Body {
  kind: Kind;
  run: ((...args: never[]) => unknown) | null;
  call: string;
  passes: readonly Pass[];
  doc: string;
}

/** A pass: a function from a module to a module, with `info`. */
export interface Pass {
  (module: IRModule | Expr): IRModule;
  readonly info: PassInfo;
  readonly body: Body;
  readonly space: Space;
}

/** Everything that was made in this space, for the engine to call by number. */
let made: Pass[] = [];
let listed: Pass[] = [];
let instruments: Instrument[] = [];
let classes: InstrumentFactory[] = [];

export function forgetPasses(): void {
  made = [];
  listed = [];
  instruments = [];
  classes = [];
}

class PassBase {}

function isPass(value: unknown): value is Pass {
  return value instanceof PassBase;
}

function makePass(info: PassInfo, body: Body): Pass {
  const pass = ((module: IRModule | Expr) => runPass(pass, module)) as unknown as Pass;
  Object.setPrototypeOf(pass, PassBase.prototype);
  Object.defineProperties(pass, {
    info: { value: Object.freeze(info) },
    body: { value: body },
    space: { value: space() },
    toString: { value: () => describeInfo(info) },
  });
  made.push(pass);
  return pass;
}

/** TVM's words for a PassInfo. */
export function describeInfo({ name, optLevel, required }: PassInfo): string {
  const names = required.length === 0 ? "[]" : `[\n${required.map((one) => `${one}, `).join("")}]`;
  return `The meta data of the pass - pass name: ${name}, opt_level: ${optLevel}, required passes: ${names}\n`;
}

const NAME = /^[A-Za-z_][\w.]*$/;

function infoOf(options: PassOptions, fallback: string): PassInfo {
  const name = String(options.name ?? fallback);
  if (!NAME.test(name) || name.length > 100)
    throw new TypeError(
      `${JSON.stringify(name)} cannot be the name of a pass: write letters, digits and _`,
    );
  const optLevel = options.optLevel ?? 0;
  if (!Number.isInteger(optLevel))
    throw new TypeError(`the opt level of ${name} must be an integer`);
  const required = options.required ?? [];
  if (!Array.isArray(required)) throw new TypeError(`${name}: required must be a list of names`);
  return { name, optLevel, required: Object.freeze(required.map(String)) };
}

/** Puts a pass into the list of passes. */
function list(pass: Pass): Pass {
  const { name } = pass.info;
  if (cross().user_has_pass(name))
    throw new Error(`there is a pass called ${name} already: give yours another name`);
  if (!listed.some((other) => other.info.name === name)) listed.push(pass);
  return pass;
}

// biome-ignore lint/suspicious/noExplicitAny: a class of the user's, with any constructor
type Class = new (...args: any[]) => object;
type Method =
  | "transformModule"
  | "transformFunction"
  | "transformDataflowBlock"
  | "transformPrimFunc";

function isClass(value: unknown): value is Class {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

// biome-ignore lint/suspicious/noExplicitAny: the user's function; what it gives is looked at when it was called
type UserFunction = (...args: any[]) => any;

/** What the three makers have in common: `(options, f)`, `(f, options)`, or `(options)` and then `(f)` as a decorator. */
function maker(kind: Kind, method: Method) {
  const wrap = (options: PassOptions, f: UserFunction | Class): unknown => {
    if (!isClass(f)) {
      const info = infoOf(options, f.name);
      return list(makePass(info, { kind, run: f, call: "", passes: [], doc: options.doc ?? "" }));
    }
    // As TVM's decorator of a class: its constructor's arguments make the pass.
    const create = (...args: unknown[]): Pass => {
      const object = new f(...args) as Record<string, UserFunction>;
      const run = object[method];
      if (typeof run !== "function") throw new TypeError(`${f.name} needs a method ${method}`);
      const body: Body = {
        kind,
        run: run.bind(object),
        call: "",
        passes: [],
        doc: options.doc ?? "",
      };
      return list(makePass(infoOf(options, f.name), body));
    };
    if (f.length === 0) create();
    return create;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a pass, a factory or a decorator, by what is given
  return (first: any, second?: any): any => {
    if (typeof first === "function") return wrap(second ?? {}, first);
    const options = (first ?? {}) as PassOptions;
    return second === undefined
      ? (f: UserFunction | Class) => wrap(options, f)
      : wrap(options, second);
  };
}

/** A pass over a whole module: `(mod, ctx) => mod`. */
export const modulePass = maker("module", "transformModule");
/** A pass over each function by itself: `(func, mod, ctx) => func`. InferType follows. */
export const functionPass = maker("function", "transformFunction");
/** A pass over the dataflow blocks of Relax: `(block, mod, ctx) => block`. Relay has none, so there it does nothing. */
export const dataflowBlockPass = maker("dataflow-block", "transformDataflowBlock");
/** A pass over the tensor programs of a module: `(func, mod, ctx) => func`. */
export const primFuncPass = maker("prim-func", "transformPrimFunc");

type OverModule = (run: UserFunction, module: IRModule, context: PassContext) => IRModule;

/** How passes run that are none of modules or functions. */
const OVER_MODULE: Partial<Record<Kind, OverModule>> = {
  "dataflow-block": (run, module, context) => {
    class Blocks extends RelaxExprMutator {
      override visitDataflowBlock(block: DataflowBlock): BindingBlock {
        const after: unknown = run(block, module, context);
        refusePromise(after);
        if (!(after instanceof DataflowBlock))
          throw new TypeError(`a dataflow block pass must return a block, not ${shown(after)}`);
        keepsOutputs(block, after);
        return super.visitDataflowBlock(needBlock(after));
      }
    }
    const mutator = new Blocks(module);
    const result = module.copy();
    for (const [name, func] of module.functions)
      if (func instanceof Func && !isSkipped(func)) result.set(name, mutator.visit(func) as Func);
    return result;
  },
  "prim-func": (run, module, context) => {
    const result = module.copy();
    for (const [name, func] of module.functions) {
      if (!((func as Expr) instanceof PrimFunc)) continue;
      const after: unknown = run(func, module, context);
      refusePromise(after);
      if (!(after instanceof PrimFunc))
        throw new TypeError(`a PrimFunc pass must return a PrimFunc, not ${shown(after)}`);
      if ((after as Expr) !== func) result.set(name, after as Expr as Func);
    }
    return result;
  },
};

/** Functions that passes leave alone. */
function isSkipped(func: Func): boolean {
  return Boolean(func.attrs?.SkipOptimization || func.attrs?.Compiler);
}

/** Passes in a row, each gated by the context. With a name it stands in the list of passes. */
export function sequential(passes: readonly Pass[], options: PassOptions = {}): Pass {
  for (const pass of passes)
    if (!isPass(pass)) throw new TypeError(`a pass is needed in a sequence, not ${shown(pass)}`);
  const body: Body = {
    kind: "sequential",
    run: null,
    call: "",
    passes: [...passes],
    doc: options.doc ?? "",
  };
  const pass = makePass(infoOf(options, "sequential"), body);
  return options.name ? list(pass) : pass;
}

/** What a function says of the types of parameters, by function and parameter. */
function paramTypes(module: IRModule, f: (param: Var) => Type | string | null) {
  const types: Record<string, string> = {};
  for (const [name, func] of module.functions)
    for (const param of func instanceof Func ? func.params : []) {
      const type = f(param);
      if (type) types[`${name.nameHint}.${param.nameHint}`] = String(asType(type));
    }
  return types;
}

/** A pass that is built in, by TVM's name: `transform.FuseOps({ fuse_opt_level: 2 })`. */
function builtIn(name: string, args: Record<string, unknown> = {}): Pass {
  const info = { name, optLevel: 0, required: [] };
  // Patterns and functions are no text: with them it is a pass of the script's.
  let run: ((module: IRModule) => IRModule) | null = null;
  if (name === "FuseOpsByPattern" && Array.isArray(args.patterns))
    run = (module) => fuseOpsByPattern(args, module);
  if (name === "UpdateParamType" && typeof args.ty_func === "function")
    run = (module) => builtIn(name, { ty_func: paramTypes(module, args.ty_func as never) })(module);
  if (run) return makePass(info, { kind: "module", run, call: "", passes: [], doc: "" });
  const given = Object.entries(args).map(([key, value]) => `${key}=${python(value, key)}`);
  const call = `${name}(${given.join(", ")})`;
  return makePass(info, { kind: "built-in", run: null, call, passes: [], doc: "" });
}

/** `transform.InferType()`, `transform.Sequential([...])` and so on. */
export const transform: Record<string, unknown> = new Proxy(
  {},
  {
    get(_, name) {
      if (typeof name !== "string" || name === "then") return undefined;
      if (name === "Sequential") return sequential;
      if (name === "PassContext") return PassContext;
      return (args?: Record<string, unknown>) => builtIn(name, args);
    },
  },
);

interface PassDesc {
  kind: Kind;
  name: string;
  optLevel: number;
  required: readonly string[];
  index: number;
  call: string;
  passes: number[];
  listed: boolean;
}

/** Passes and their parts for the engine, parts first. */
function describe(roots: readonly Pass[], inList = false): PassDesc[] {
  const place = new Map<Pass, number>();
  const out: PassDesc[] = [];
  const stack = [...roots].reverse();
  for (let pass = stack.at(-1); pass; pass = stack.at(-1)) {
    here(pass.space);
    const missing = pass.body.passes.filter((part) => !place.has(part));
    if (missing.length > 0) {
      stack.push(...missing);
      continue;
    }
    stack.pop();
    if (place.has(pass)) continue;
    place.set(pass, out.length);
    const { kind, call } = pass.body;
    out.push({
      kind,
      ...pass.info,
      index: made.indexOf(pass),
      call,
      passes: pass.body.passes.map((part) => place.get(part) as number),
      listed: inList && roots.includes(pass),
    });
  }
  return out;
}

function runPass(pass: Pass, module: IRModule | Expr): IRModule {
  return IRModule.fromWords(cross().user_run(describe([pass]), needModule(module).toWords()));
}

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
/** The name of a hook in Python. */
const inPython = (hook: string) => hook.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

interface Instrument {
  name: string;
  hooks: InstrumentHooks;
  owner: Space;
}
interface InstrumentFactory {
  name: string;
  create(): object;
}

function instrumentName(name: unknown): string {
  const text = String(name ?? "");
  if (!NAME.test(text)) throw new TypeError("an instrument needs a name of letters, digits and _");
  return text;
}

function addInstrument(hooks: InstrumentHooks, name: string): InstrumentHooks {
  instruments.push({ name, hooks, owner: space() });
  return hooks;
}

/**
 * Makes an instrument of an object with hooks, or of a class with them: then what comes back makes one of the
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

function instrumentDescs(list: readonly unknown[]): { name: string; index: number }[] {
  if (!Array.isArray(list)) throw new TypeError("instruments must be a list");
  return list.map((hooks) => {
    let index = instruments.findIndex((one) => one.hooks === hooks);
    if (index < 0) {
      if (typeof hooks !== "object" || hooks === null)
        throw new TypeError(`an instrument is needed here, not ${shown(hooks)}`);
      addInstrument(hooks as InstrumentHooks, hooks.constructor.name || "instrument");
      index = instruments.length - 1;
    }
    return { name: (instruments[index] as Instrument).name, index };
  });
}

export interface ContextOptions {
  optLevel?: number;
  requiredPass?: readonly string[];
  disabledPass?: readonly string[];
  instruments?: readonly unknown[];
  config?: Record<string, unknown>;
}

/** The options that passes run under. `run(f)` is what Python's `with` is. */
export class PassContext extends Scope {
  readonly optLevel: number;
  readonly requiredPass: readonly string[];
  readonly disabledPass: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  private readonly instruments: readonly unknown[];

  constructor(options: ContextOptions = {}) {
    super();
    this.optLevel = options.optLevel ?? 2;
    this.requiredPass = [...(options.requiredPass ?? [])].map(String);
    this.disabledPass = [...(options.disabledPass ?? [])].map(String);
    this.config = { ...options.config };
    this.instruments = options.instruments ?? [];
    if (!Number.isInteger(this.optLevel)) throw new TypeError("the opt level must be an integer");
  }

  enter(): this {
    const config = Object.entries(this.config).map(([key, value]) => [key, python(value, key)]);
    cross().user_enter({
      optLevel: this.optLevel,
      required: this.requiredPass,
      disabled: this.disabledPass,
      config: Object.fromEntries(config),
      instruments: instrumentDescs(this.instruments),
    });
    return this;
  }

  exit(): void {
    cross().user_exit();
  }

  /** The context that is current. */
  static current(): PassContext {
    const [optLevel, required, disabled, config] = cross().user_context() as [
      number,
      string[],
      string[],
      string[],
    ];
    const entries: Record<string, unknown> = {};
    for (let at = 0; at < config.length; at += 2)
      entries[config[at] as string] = literal(config[at + 1] as string);
    return new PassContext({
      optLevel,
      requiredPass: required,
      disabledPass: disabled,
      config: entries,
    });
  }

  /** Replaces the instruments of the current context: the old ones are left, the new ones entered. */
  overrideInstruments(list: readonly unknown[]): void {
    cross().user_override(instrumentDescs(list));
  }
}

/** A literal of Python, as far as JavaScript has it. */
function literal(text: string): unknown {
  if (text === "True" || text === "False") return text === "True";
  if (text === "None") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** TVM's PassTimingInstrument: a tree of passes with the time that they took. */
export function PassTimingInstrument(): InstrumentHooks & { render(): string } {
  interface Profile {
    name: string;
    start: number;
    micros: number;
    children: Profile[];
  }
  let top: Profile[] = [];
  const open: Profile[] = [];
  const now = () => performance.now() * 1000;
  const sum = (list: Profile[]) => list.reduce((all, one) => all + one.micros, 0);
  const percent = (part: number, of: number) => (of > 0 ? (100 * part) / of : 0).toFixed(2);
  return addInstrument(
    {
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
    } as InstrumentHooks & { render(): string },
    "PassTimingInstrument",
  ) as InstrumentHooks & { render(): string };
}

/** What the engine calls: `(what, index, words, info)`. */
export function host(what: string, index: number, words: Uint32Array, info: unknown): unknown {
  if (what === "ask") return (info as UserFunction)(words, index);
  if (what === "module") {
    const { kind, run } = bodyOf(index);
    const [module, context] = [IRModule.fromWords(words), PassContext.current()];
    const over = OVER_MODULE[kind];
    const result = over ? over(run, module, context) : run(module, context);
    refusePromise(result);
    if (!(result instanceof IRModule))
      throw new TypeError(`a module pass must return a module, not ${shown(result)}`);
    return needModule(result).toWords();
  }
  if (what === "function") {
    const func = nodeAt(words[0] as number);
    const result = bodyOf(index).run(func, IRModule.fromWords(words, 1), PassContext.current());
    refusePromise(result);
    if (!(result instanceof Func))
      throw new TypeError(`a function pass must return a function, not ${shown(result)}`);
    here(result.space);
    return result.id;
  }
  const one = instruments[index];
  if (!one) throw new Error("there is no such instrument");
  here(one.owner);
  const hook = one.hooks[HOOKS[what as keyof typeof HOOKS]] as UserFunction | undefined;
  if (!hook) return undefined;
  if (what === "enter" || what === "exit") {
    refusePromise(hook.call(one.hooks), "a hook");
    return undefined;
  }
  const [name, optLevel, required] = info as [string, number, string[]];
  const about: PassInfo = { name, optLevel, required };
  Object.defineProperty(about, "toString", { value: () => describeInfo(about) });
  const answer: unknown = hook.call(one.hooks, IRModule.fromWords(words), about);
  refusePromise(answer, "a hook");
  // What a hook gives is no text for the log, except the answer to whether the pass may run.
  return what === "should_run" ? answer : undefined;
}

function bodyOf(index: number): { kind: Kind; run: UserFunction } {
  const body = made[index]?.body;
  if (!body?.run) throw new Error("there is no such pass");
  return { kind: body.kind, run: body.run as UserFunction };
}

/** What the script made: for the engine, and for the page. */
export function registered() {
  for (const { name, create } of classes)
    if (!instruments.some((one) => one.name === name)) create();
  const shownOnes = instruments.filter(
    ({ name }, at) =>
      name !== "PassTimingInstrument" &&
      instruments.findIndex((other) => other.name === name) === at,
  );
  return {
    passes: describe(listed, true),
    instruments: shownOnes.map((one) => ({ name: one.name, index: instruments.indexOf(one) })),
    report: {
      passes: listed.map(({ info, body }) => ({
        name: info.name,
        kind: body.kind as Exclude<Kind, "built-in">,
        optLevel: info.optLevel,
        required: [...info.required],
        doc: body.doc,
      })),
      instruments: shownOnes.map(({ name, hooks }) => ({
        name,
        hooks: Object.values(HOOKS)
          .filter((hook) => hook in hooks)
          .map(inPython),
        doc: hooks.doc ?? "",
      })),
    },
  };
}
