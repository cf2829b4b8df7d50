/** Modules. Unlike nodes they can be changed, as in TVM; a version that the page shows is not changed by it. */
import { WALK } from "./calls";
import { cross, here, nameId, nameOf, type Space, space } from "./engine";
import { Expr, Func, GlobalVar, needExpr, nodeAt, type Var } from "./nodes";
import { print } from "./output";
import { ExternFunc, PrimFunc } from "./relax";
import { shown } from "./types";

type Functions = Iterable<readonly [GlobalVar | string, Func]> | Record<string, Func>;

function nameText(name: GlobalVar | string): string {
  return name instanceof GlobalVar ? name.nameHint : String(name);
}

function needFunction(value: unknown): Func {
  const node = needExpr(value, "a function");
  // Tensor programs and external functions stand in modules of Relax.
  if (!(node instanceof Func || node instanceof PrimFunc || node instanceof ExternFunc))
    throw new TypeError(`a function is needed here, not ${shown(value)}`);
  return node as Func;
}

export class IRModule {
  readonly space: Space = space();
  private readonly table = new Map<string, Func>();
  /** Dialect, global infos, attributes. */
  private head: readonly number[] = [space().relax ? 1 : 0, 0, 0];
  /** Names and definitions of types. */
  private types: readonly number[] = [];

  /** Makes a module of these functions: an object, or a list of pairs. */
  constructor(functions: Functions = []) {
    const pairs = Symbol.iterator in functions ? functions : Object.entries(functions);
    for (const [name, func] of pairs) this.set(name, func);
  }

  static fromWords(words: Uint32Array, from = 0): IRModule {
    const module = new IRModule();
    module.head = [...words.subarray(from, from + 3)];
    let at = from + 4;
    for (let left = words[from + 3] as number; left > 0; left--, at += 2)
      module.table.set(nameOf(words[at] as number), nodeAt(words[at + 1] as number) as Func);
    module.types = [...words.subarray(at + 1)];
    return module;
  }

  /**
   * Makes a module of this function, by the name that its `global_symbol` says or else `main`; or whose `main` computes
   * this expression of its free variables.
   */
  static fromExpr(expr: Expr): IRModule {
    if (expr instanceof Func)
      return new IRModule({ [String(expr.attrs?.global_symbol ?? "main")]: expr });
    const free = Array.from(
      cross().user_walk(WALK.free, needExpr(expr).id),
      (id) => nodeAt(id) as Var,
    );
    return new IRModule({ main: new Func(free, expr) });
  }

  /** Returns the words for the engine. */
  toWords(): Uint32Array {
    here(this.space);
    const functions = [...this.table].flatMap(([name, func]) => [nameId(name), func.id]);
    const types = [this.types.length / 2, ...this.types];
    return Uint32Array.from([...this.head, this.table.size, ...functions, ...types]);
  }

  /** Returns the function of that name. */
  get(name: GlobalVar | string): Func {
    const func = this.table.get(nameText(name));
    if (!func) throw new Error(`there is no function @${nameText(name)}`);
    return func;
  }

  has(name: GlobalVar | string): boolean {
    return this.table.has(nameText(name));
  }

  /** Adds a function or replaces the one of that name. */
  set(name: GlobalVar | string, func: Func): this {
    here(this.space);
    this.table.set(nameText(name), needFunction(func));
    return this;
  }

  /** The same as `set` (TVM's `update_func`). */
  updateFunc(name: GlobalVar | string, func: Func): this {
    return this.set(name, func);
  }

  remove(name: GlobalVar | string): this {
    this.table.delete(nameText(name));
    return this;
  }

  /** Adds everything of another module; functions of the same name are replaced. */
  update(other: IRModule): this {
    here(other.space);
    for (const [name, func] of other.table) this.table.set(name, func);
    const known = new Set<number>();
    for (let at = 0; at < other.types.length; at += 2) known.add(other.types[at] as number);
    const own: number[] = [];
    for (let at = 0; at < this.types.length; at += 2)
      if (!known.has(this.types[at] as number)) own.push(...this.types.slice(at, at + 2));
    this.types = [...own, ...other.types];
    this.head = this.head.map((word, at) => word || (other.head[at] as number));
    return this;
  }

  /** Returns the names and functions, in order. */
  get functions(): readonly (readonly [GlobalVar, Func])[] {
    return [...this.table].map(([name, func]) => [new GlobalVar(name), func] as const);
  }

  getGlobalVars(): readonly GlobalVar[] {
    return this.functions.map(([name]) => name);
  }

  getGlobalVar(name: string): GlobalVar {
    this.get(name);
    return new GlobalVar(name);
  }

  copy(): IRModule {
    return IRModule.fromWords(this.toWords());
  }

  /** Prints it to the console. */
  show(): void {
    print(String(this));
  }

  /** Returns the module as TVM's `str(mod)` prints it. */
  toString(): string {
    return cross().user_module_text(this.toWords());
  }
}

/**
 * Makes `mod["main"]` work: names that are no properties of a module are functions of it. They are asked last, so
 * that properties cost nothing.
 */
Object.setPrototypeOf(
  IRModule.prototype,
  new Proxy(Object.prototype, {
    get(target, name, receiver) {
      if (typeof name === "string" && receiver instanceof IRModule && receiver.has(name))
        return receiver.get(name);
      return Reflect.get(target, name, receiver);
    },
    set(target, name, value, receiver) {
      if (typeof name !== "string" || !(receiver instanceof IRModule))
        return Reflect.set(target, name, value, receiver);
      receiver.set(name, value);
      return true;
    },
  }),
);

export function needModule(value: unknown): IRModule {
  if (value instanceof Expr) return IRModule.fromExpr(value);
  if (!(value instanceof IRModule)) throw new TypeError(`a module is needed, not ${shown(value)}`);
  here(value.space);
  return value;
}
