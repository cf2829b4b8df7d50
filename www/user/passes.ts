/** Passes, as TVM's Python has them (`tvm.transform`, `tvm.relay.transform`, `tvm.relax.transform`). */

import { python } from "./attrs";
import type { DescKind, PassDesc } from "./calls";
import { PassContext } from "./context";
import { fuseOpsByPattern } from "./dpl";
import { cross, here, newSpace, ofScript } from "./engine";
import { forgetInstruments, passInstrument, registeredInstruments, runHook } from "./instrument";
import { IRModule, needModule } from "./module";
import { spelt } from "./names";
import { type Expr, Func, nodeAt, type Var } from "./nodes";
import { printLater } from "./output";
import {
  type Body,
  type Class,
  DataflowBlockPass,
  FunctionPass,
  forgetMade,
  infoOf,
  isClass,
  isPass,
  ModulePass,
  madeAt,
  makePass as makeWith,
  Pass,
  type PassInfo,
  type PassObject,
  type PassOptions,
  PrimFuncPass,
  passInfo,
  placeOf,
  SEQUENTIAL,
} from "./pass";
import { type BindingBlock, DataflowBlock, needBlock, PrimFunc } from "./relax";
import { keepsOutputs, RelaxExprMutator } from "./relax-functor";
import { refusePromise } from "./scope";
import { asType, shown, type Type } from "./types";

let listed: PassObject[] = [];
/** True while the top level of the script runs. */
let loading = false;

export function setLoading(on: boolean): void {
  loading = on;
}

export function forgetPasses(): void {
  forgetMade();
  forgetInstruments();
  listed = [];
}

const makePass = (info: PassInfo, body: Body, works?: string) =>
  makeWith(info, body, runPass, works);

/** Puts a pass into the list of passes. */
function list(pass: PassObject): PassObject {
  const { name } = pass.info;
  if (cross().user_has_pass(name))
    throw new Error(`there is a pass called ${name} already: give yours another name`);
  if (!listed.some((other) => other.info.name === name)) listed.push(pass);
  return pass;
}

type Method =
  | "transformModule"
  | "transformFunction"
  | "transformDataflowBlock"
  | "transformPrimFunc";

// biome-ignore lint/suspicious/noExplicitAny: the user's function; what it gives is looked at when it was called
type UserFunction = (...args: any[]) => any;

/** Makes a pass maker: `(options, f)`, `(f, options)`, or `(options)` and then `(f)` as a decorator. */
function maker(kind: DescKind, what: string, method: Method) {
  const wrap = (options: PassOptions, f: UserFunction | Class): unknown => {
    const info = infoOf(what, options, typeof f === "function" ? f.name : "");
    if (!isClass(f)) {
      if (typeof f !== "function")
        throw new TypeError(`${what} needs a function or a class, not ${shown(f)}`);
      return list(makePass(info, { kind, run: f, call: "", passes: [], doc: options.doc ?? "" }));
    }
    if (typeof f.prototype[method] !== "function")
      throw new TypeError(`${f.name} needs a method ${method}`);
    // As TVM's decorator of a class: its constructor's arguments make the pass.
    const create = (...args: unknown[]): PassObject => {
      const object = new f(...args) as Record<string, UserFunction>;
      const run = (object[method] as UserFunction).bind(object);
      return list(makePass(info, { kind, run, call: "", passes: [], doc: options.doc ?? "" }));
    };
    if (f.length === 0) create();
    return create;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a pass, a factory or a decorator, by what is given
  return (first: any, second?: any): any => {
    if (typeof first === "function") return wrap(second ?? {}, first);
    const options = (first ?? {}) as PassOptions;
    infoOf(what, options, "decorated");
    return second === undefined
      ? (f: UserFunction | Class) => wrap(options, f)
      : wrap(options, second);
  };
}

/** A pass over a whole module: `(mod, ctx) => mod`. */
export const modulePass = maker("module", "modulePass", "transformModule");
/** A pass over each function by itself: `(func, mod, ctx) => func`. InferType follows. */
export const functionPass = maker("function", "functionPass", "transformFunction");
/** A pass over the dataflow blocks of Relax: `(block, mod, ctx) => block`. Relay has none, so there it does nothing. */
export const dataflowBlockPass = maker(
  "dataflow-block",
  "dataflowBlockPass",
  "transformDataflowBlock",
);
/** A pass over the tensor programs of a module: `(func, mod, ctx) => func`. */
export const primFuncPass = maker("prim-func", "primFuncPass", "transformPrimFunc");

type OverModule = (run: UserFunction, module: IRModule, context: PassContext) => IRModule;

/** Runs passes that are neither module nor function passes over a module. */
const OVER_MODULE: Partial<Record<DescKind, OverModule>> = {
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

/** Makes a sequence of passes, each gated by the context. With a name it stands in the list of passes. */
export function sequential(passes: readonly PassObject[], options: PassOptions = {}): PassObject {
  if (!Array.isArray(passes))
    throw new TypeError(`a sequence is made of a list of passes, not of ${shown(passes)}`);
  for (const pass of passes)
    if (!isPass(pass)) throw new TypeError(`a pass is needed in a sequence, not ${shown(pass)}`);
  const body: Body = {
    kind: "sequential",
    run: null,
    call: "",
    passes: [...passes],
    doc: options.doc ?? "",
  };
  const pass = makePass(infoOf("sequential", options, "sequential"), body);
  return options.name ? list(pass) : pass;
}

/** The same under TVM's name, with or without `new`; such passes are its instances. */
export function Sequential(passes: readonly PassObject[], options?: PassOptions): PassObject {
  return sequential(passes, options);
}
Object.defineProperty(Sequential, "prototype", { value: SEQUENTIAL });

/** Returns the types that a function gives to parameters, by function and parameter. */
function paramTypes(module: IRModule, f: (param: Var) => Type | string | null) {
  const types: Record<string, string> = {};
  for (const [name, func] of module.functions)
    for (const param of func instanceof Func ? func.params : []) {
      const type = f(param);
      if (type) types[`${name.nameHint}.${param.nameHint}`] = String(asType(type));
    }
  return types;
}

/** The dialect that selects among passes of one name: Relay's, Relax's, TIR's, or the one for the program. */
type Dialect = "relay" | "relax" | "tir" | null;

/** Makes a pass that is built in, by TVM's name: `transform.FuseOps({ fuse_opt_level: 2 })`. */
function builtIn(dialect: Dialect, name: string, args: Record<string, unknown> = {}): PassObject {
  const own = listed.find((pass) => pass.info.name === name);
  if (own) return own;
  if (dialect === "tir" && typeof args === "function" && (name === "Apply" || name === "Filter"))
    return overPrimFuncs(name, args);
  if (typeof args !== "object" || args === null || Array.isArray(args) || isPass(args))
    throw new TypeError(
      `${name} takes its arguments by their names: ${name}({ name: value }), not ${shown(args)}`,
    );
  // Patterns and functions are no text: with them it is a pass of the script's.
  let run: ((module: IRModule) => IRModule) | null = null;
  if (name === "FuseOpsByPattern" && Array.isArray(args.patterns))
    run = (module) => fuseOpsByPattern(args, module);
  if (name === "UpdateParamType" && typeof args.ty_func === "function")
    run = (module) =>
      builtIn(dialect, name, { ty_func: paramTypes(module, args.ty_func as never) })(module);
  const body: Body = { kind: "module", run, call: "", passes: [], doc: "" };
  if (run) return makePass(passInfo(name, 0, []), body);
  const given = Object.entries(args).map(([key, value]) => `${key}=${written(value, key)}`);
  const full = dialect === "tir" && !name.includes(".") ? `tir.${name}` : name;
  const call = `${full}(${given.join(", ")})`;
  const relax = dialect === null ? cross().user_is_relax() : dialect !== "relay";
  const [title, optLevel, required, works] = cross().user_pass_info(call, relax) as [
    string,
    number,
    string[],
    string,
  ];
  return makePass(passInfo(title, optLevel, required), { ...body, kind: "built-in", call }, works);
}

/** TVM's `Apply`, which maps every tensor program, and `Filter`, which removes those for which `f` is false. */
function overPrimFuncs(name: string, f: (func: PrimFunc) => unknown): PassObject {
  const run = (module: IRModule) => {
    const result = module.copy();
    for (const [title, func] of module.functions) {
      if (!((func as Expr) instanceof PrimFunc)) continue;
      const after: unknown = f(func as Expr as PrimFunc);
      refusePromise(after);
      if (name === "Filter") {
        if (!after) result.remove(title);
      } else if (after instanceof PrimFunc) {
        if ((after as Expr) !== func) result.set(title, after as Expr as Func);
      } else throw new TypeError(`Apply maps a PrimFunc to a PrimFunc, not to ${shown(after)}`);
    }
    return result;
  };
  const info = passInfo(`tirx.${name}`, 0, []);
  return makePass(info, { kind: "module", run, call: "", passes: [], doc: "" });
}

/** Writes an argument of a pass: a built-in pass as its call. */
function written(value: unknown, name: string): string {
  if (isPass(value) && value.body.kind === "built-in") return value.body.call;
  return python(value, name);
}

/** The names in `transform` besides the passes. */
const BESIDE: Record<string, unknown> = {
  Sequential,
  PassContext,
  Pass,
  ModulePass,
  FunctionPass,
  DataflowBlockPass,
  PrimFuncPass,
  modulePass,
  functionPass,
  dataflowBlockPass,
  primFuncPass,
  passInstrument,
};

function transformOf(dialect: Dialect): Record<string, unknown> {
  return new Proxy(
    {},
    {
      get(_, name) {
        if (typeof name !== "string" || name === "then") return undefined;
        if (Object.hasOwn(BESIDE, name)) return BESIDE[name];
        const meant = spelt(name, Object.keys(BESIDE));
        if (meant)
          throw new TypeError(`transform has no ${name}: did you mean transform.${meant}?`);
        return (args?: Record<string, unknown>) => builtIn(dialect, name, args);
      },
    },
  );
}

/** `transform.InferType()`, `transform.Sequential([...])` and so on: the passes for the program's dialect. */
export const transform = transformOf(null);
/** The same of `relay.transform`, `relax.transform` and `tir.transform`, where two have one name. */
export const transforms = {
  relay: transformOf("relay"),
  relax: transformOf("relax"),
  tir: transformOf("tir"),
};

/** Describes passes and their parts for the engine, parts first. */
function describe(roots: readonly PassObject[]): PassDesc[] {
  const place = new Map<PassObject, number>();
  const out: PassDesc[] = [];
  const stack = [...roots].reverse();
  for (let pass = stack.at(-1); pass; pass = stack.at(-1)) {
    ofScript(pass.script);
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
      index: placeOf(pass),
      call,
      passes: pass.body.passes.map((part) => place.get(part) as number),
      listed: listed.includes(pass),
    });
  }
  return out;
}

function runPass(pass: PassObject, module: IRModule | Expr): IRModule {
  // While the script is loaded those go along that it may require.
  const descs = describe(loading ? [pass, ...listed] : [pass]);
  const which = descs.findIndex((desc) => desc.index === placeOf(pass));
  try {
    return IRModule.fromWords(cross().user_run(descs, which, needModule(module).toWords()));
  } finally {
    printLater();
  }
}

/** Answers the engine's calls: `(what, index, words, info)`. */
export function host(what: string, index: number, words: Uint32Array, info: unknown): unknown {
  if (what === "ask") return (info as UserFunction)(words, index);
  if (what === "memory") return newSpace();
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
  return runHook(what, index, words, info as [string, number, string[]] | null);
}

function bodyOf(index: number): { kind: DescKind; run: UserFunction } {
  const body = madeAt(index)?.body;
  if (!body?.run) throw new Error("there is no such pass");
  return { kind: body.kind, run: body.run as UserFunction };
}

/** Returns the passes and instruments that the script registered: for the engine, and for the page. */
export function registered() {
  const instruments = registeredInstruments();
  return {
    passes: describe(listed),
    instruments: instruments.descs,
    report: {
      passes: listed.map(({ info, body }) => ({
        name: info.name,
        kind: body.kind as Exclude<DescKind, "built-in">,
        optLevel: info.optLevel,
        required: [...info.required],
        doc: body.doc,
      })),
      instruments: instruments.report,
    },
  };
}
