/** TVM's `BlockBuilder`: programs of Relax put together binding by binding, in normal form and with types. */

import { attrsIdOf } from "./attrs";
import { op } from "./build";
import { BUILD } from "./calls";
import { cross, here, nameId, nameOf, type Space, space } from "./engine";
import { IRModule, needModule } from "./module";
import { Expr, type Func, GlobalVar, needExpr, needVar, nodeAt, Tuple, Var } from "./nodes";
import { type Binding, type BindingBlock, blockFrom, type PrimFunc } from "./relax";
import { asType, type Type } from "./types";

export interface FunctionOptions {
  /** Its attributes. */
  attrs?: Record<string, unknown>;
  /** Without the attribute `global_symbol`. */
  private?: boolean;
  /** True if it has no side effects; true by default. */
  pure?: boolean;
}

type Values = Expr | readonly Values[];

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Converts a list to a tuple. */
function exprOf(value: Values): Expr {
  return Array.isArray(value) ? new Tuple(value.map(exprOf)) : needExpr(value);
}

type Params = Var | readonly Var[] | null | undefined;
const paramWords = (params: Params) =>
  params ? [1, ...[params].flat().map((one) => needVar(one).id)] : [0];

export class BlockBuilder {
  readonly space: Space = space();
  private readonly id: number;

  /** Makes a builder in a module; without one, in an empty module. */
  constructor(module?: IRModule) {
    const words = module ? needModule(module).toWords() : Uint32Array.from([1, 0, 0, 0, 0]);
    this.id = cross().user_builder(words);
  }

  private do(what: keyof typeof BUILD, words: readonly number[] = []): Uint32Array {
    here(this.space);
    return cross().user_builder_do(this.id, BUILD[what], Uint32Array.from(words));
  }

  private node(what: keyof typeof BUILD, words: readonly number[]): Expr {
    return nodeAt(this.do(what, words)[0] as number);
  }

  /** Binds a value in the block under way to a new variable and gives that: `lv` in a dataflow block, else `gv`. */
  emit(value: Values, name = ""): Var {
    return this.node("emit", [exprOf(value).id, name ? nameId(name) + 1 : 0]) as Var;
  }
  /** Binds a value in a dataflow block to a variable that is visible behind it. */
  emitOutput(value: Values, name = ""): Var {
    return this.node("emitOutput", [exprOf(value).id, name ? nameId(name) + 1 : 0]) as Var;
  }
  /** Binds a value to a variable of this type, which is checked when the program runs. */
  matchCast(value: Expr, type: Type | string, name = ""): Var {
    const words = [needExpr(value).id, asType(type).id, name ? nameId(name) + 1 : 0];
    return this.node("matchCast", words) as Var;
  }
  /** Adds a binding as it is: in normal form, and with types. */
  emitNormalized(binding: Binding): void {
    this.do("emitNormalized", binding.words);
  }
  /**
   * Binds a call of a tensor program that computes `f(...args)` to a new variable and returns that. `f` is an operator
   * with a tensor-expression form (`relax.nn.relu`, `op("matmul")`) or its name, or a function of the user's that calls
   * several: they are one program. `{ primfuncNameHint }` as the last argument names it. The program is in the module.
   */
  emitTE(f: ((...args: never[]) => Expr) | string, ...args: unknown[]): Var {
    const make = typeof f === "string" ? op(f) : (f as (...args: unknown[]) => Expr);
    if (typeof make !== "function")
      throw new TypeError("emitTE needs an operator and its arguments: emitTE(relax.nn.relu, x)");
    const last = args.at(-1);
    const hint = isPlain(last) && "primfuncNameHint" in last ? String(last.primfuncNameHint) : "";
    const given = hint ? args.slice(0, -1) : args;
    if ("op" in make && !hint) return this.node("emitTE", [needExpr(make(...given)).id, 0]) as Var;
    // The function's parameters stand for the arguments: they are those of the program, in their order.
    const params: number[] = [];
    const inside = given.map((arg) => {
      if (!(arg instanceof Expr)) return arg;
      const known = this.normalizeArgument(arg);
      const own = new Var(known instanceof Var ? known.nameHint : "x", known.checkedType);
      params.push(own.id, known.id);
      return own;
    });
    const result: Values = make(...inside);
    const name = hint || ("op" in make ? "" : make.name) || "lambda_";
    const words = [exprOf(result).id, nameId(name), params.length / 2, ...params];
    return this.node("composeTE", words) as Var;
  }
  /** Puts an expression into normal form with types; nested calls are bound in the block under way. */
  normalize(expr: Expr): Expr {
    return this.node("normalize", [needExpr(expr).id]);
  }
  /** Normalizes to an operand: a leaf, or the variable that it is bound to now. */
  normalizeArgument(expr: Expr): Expr {
    return this.node("operand", [needExpr(expr).id]);
  }
  /** Returns the value that a variable is bound to; null for parameters and for variables of a match_cast. */
  lookupBinding(variable: Var): Expr | null {
    const id = this.do("lookupBinding", [needVar(variable).id])[0] as number;
    return id === 0 ? null : nodeAt(id - 1);
  }
  /** Returns a name that this builder has not used yet. */
  uniqueName(hint: string): string {
    return nameOf(this.do("uniqueName", [nameId(String(hint))])[0] as number);
  }

  beginBindingBlock(): void {
    this.do("beginBlock", [0]);
  }
  beginDataflowBlock(): void {
    this.do("beginBlock", [1]);
  }
  /** Closes the innermost block: `pre` itself when it has the same bindings. */
  endBlock(pre?: BindingBlock): BindingBlock {
    return blockFrom(this.do("endBlock", [pre ? pre.id + 1 : 0]));
  }
  get currentBlockIsDataflow(): boolean {
    return this.do("isDataflow")[0] === 1;
  }
  /** Opens the scope of a function: it knows the symbols that the types of its parameters define. */
  beginScope(params: readonly Var[] = []): void {
    this.do(
      "beginScope",
      params.map((param) => needVar(param).id),
    );
  }
  /** Opens a scope in which everything of the one around is known. */
  beginInnerScope(): void {
    this.do("beginInnerScope");
  }
  endScope(): void {
    this.do("endScope");
  }

  /**
   * Builds a function: `f` emits its bindings and calls `emitFuncOutput`, which may give the parameters where they are null
   * here. Gives the name of the function in the module.
   */
  function(
    name: string,
    params: Params,
    ...rest: [() => void] | [FunctionOptions, () => void]
  ): GlobalVar {
    const [options, f] = rest.length === 1 ? [{}, rest[0]] : rest;
    const attrs = { ...options.attrs, ...(options.private ? {} : { global_symbol: name }) };
    const pure = options.pure === false ? 0 : 1;
    const words = [nameId(String(name)), attrsIdOf(attrs, null), pure, ...paramWords(params)];
    this.do("beginFunction", words);
    let made = 0;
    try {
      f();
    } finally {
      made = this.do("endFunction")[0] as number;
    }
    if (made === 0) throw new Error("emitFuncOutput must be called in a relax function.");
    return nodeAt(made - 1) as GlobalVar;
  }

  /** Opens a dataflow block in the function under construction. */
  dataflow<T>(f: () => T): T {
    this.do("switchBlock", [1]);
    try {
      return f();
    } finally {
      this.do("switchBlock", [0]);
    }
  }

  /** Sets the result of the function under construction. A list is a tuple. */
  emitFuncOutput(output: Values, params?: Params): GlobalVar {
    const words = [exprOf(output).id, ...paramWords(params)];
    return this.node("emitFuncOutput", words) as GlobalVar;
  }

  /** Adds a function to the module, unless an equal one is there, and gives its name. */
  addFunc(func: Func | PrimFunc, name: string): GlobalVar {
    return this.node("addFunction", [needExpr(func).id, nameId(String(name))]) as GlobalVar;
  }
  /** Puts another function in the place of one. */
  updateFunc(name: GlobalVar | string, func: Func | PrimFunc): void {
    const text = name instanceof GlobalVar ? name.nameHint : String(name);
    this.do("updateFunction", [nameId(text), needExpr(func).id]);
  }
  /** Returns the module as it is now. */
  get(): IRModule {
    return IRModule.fromWords(this.do("module"));
  }
}
