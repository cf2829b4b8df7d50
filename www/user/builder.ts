/** TVM's `BlockBuilder`: programs of Relax put together binding by binding, in normal form and with types. */
import { cross, here, nameId, nameOf, type Space, space } from "./engine";
import { IRModule, needModule } from "./module";
import {
  type AttrsLike,
  type Expr,
  Func,
  GlobalVar,
  needExpr,
  needVar,
  nodeAt,
  type Var,
} from "./nodes";
import { type Binding, type BindingBlock, blockFrom, type PrimFunc, SeqExpr } from "./relax";
import { asType, type Type } from "./types";

/** What the engine's builder does, in its order. */
const DO = {
  beginBlock: 0,
  endBlock: 1,
  emit: 2,
  emitOutput: 3,
  matchCast: 4,
  emitNormalized: 5,
  normalize: 6,
  lookupBinding: 7,
  beginScope: 8,
  beginInnerScope: 9,
  endScope: 10,
  addFunction: 11,
  updateFunction: 12,
  module: 13,
  isDataflow: 14,
  operand: 15,
  uniqueName: 16,
} as const;

export interface FunctionOptions {
  /** Its attributes. */
  attrs?: Record<string, unknown>;
  /** Without the attribute `global_symbol`. */
  private?: boolean;
  /** Whether it has no side effects; true by default. */
  pure?: boolean;
}

/** A function that is being built. */
interface Open {
  name: string;
  params: readonly Var[];
  options: FunctionOptions;
  blocks: BindingBlock[];
  result: GlobalVar | null;
}

export class BlockBuilder {
  readonly space: Space = space();
  private readonly id: number;
  private open: Open | null = null;

  /** A builder in a module; without one, in an empty module. */
  constructor(module?: IRModule) {
    const words = module ? needModule(module).toWords() : Uint32Array.from([1, 0, 0, 0, 0]);
    this.id = cross().user_builder(words);
  }

  private do(what: keyof typeof DO, words: readonly number[] = []): Uint32Array {
    here(this.space);
    return cross().user_builder_do(this.id, DO[what], Uint32Array.from(words));
  }

  private node(what: keyof typeof DO, words: readonly number[]): Expr {
    return nodeAt(this.do(what, words)[0] as number);
  }

  // ---- bindings ----

  /** Binds a value in the block under way to a new variable and gives that: `lv` in a dataflow block, else `gv`. */
  emit(value: Expr, name = ""): Var {
    return this.node("emit", [needExpr(value).id, name ? nameId(name) + 1 : 0]) as Var;
  }
  /** Binds a value in a dataflow block to a variable that is visible behind it. */
  emitOutput(value: Expr, name = ""): Var {
    return this.node("emitOutput", [needExpr(value).id, name ? nameId(name) + 1 : 0]) as Var;
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
  /** There are no tensor expressions here. */
  emitTE(): never {
    throw new Error(
      "emit_te is not here: emit a call of an operator, or callTIR of a PrimFunc that parseModule has read",
    );
  }
  /** An expression in normal form and with types; what is nested is bound in the block under way. */
  normalize(expr: Expr): Expr {
    return this.node("normalize", [needExpr(expr).id]);
  }
  /** The same as an operand: a leaf, or the variable that it is bound to now. */
  normalizeArgument(expr: Expr): Expr {
    return this.node("operand", [needExpr(expr).id]);
  }
  /** The value that a variable is bound to; null for parameters and for what a match_cast binds. */
  lookupBinding(variable: Var): Expr | null {
    const id = this.do("lookupBinding", [needVar(variable).id])[0] as number;
    return id === 0 ? null : nodeAt(id - 1);
  }
  /** A name that this builder did not give yet. */
  uniqueName(hint: string): string {
    return nameOf(this.do("uniqueName", [nameId(String(hint))])[0] as number);
  }

  // ---- blocks and scopes ----

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

  // ---- functions ----

  /** Builds a function: `f` emits its bindings and calls `emitFuncOutput`. Gives the name of the function in the module. */
  function(
    name: string,
    params: readonly Var[],
    ...rest: [() => void] | [FunctionOptions, () => void]
  ): GlobalVar {
    const [options, f] = rest.length === 1 ? [{}, rest[0]] : rest;
    if (this.open) throw new Error("a function is being built already");
    const open: Open = { name: String(name), params, options, blocks: [], result: null };
    this.open = open;
    this.beginScope(params);
    this.beginBindingBlock();
    try {
      f();
    } finally {
      this.open = null;
      if (!open.result) {
        this.endBlock();
        this.endScope();
      }
    }
    if (!open.result) throw new Error(`emitFuncOutput must be called in the function ${name}`);
    return open.result;
  }

  /** A dataflow block in the function that is being built. */
  dataflow<T>(f: () => T): T {
    const open = this.needOpen("dataflow");
    this.close(open);
    this.beginDataflowBlock();
    try {
      return f();
    } finally {
      this.close(open);
      this.beginBindingBlock();
    }
  }

  /** Says what the function that is being built gives. A list is a tuple. */
  emitFuncOutput(output: Expr): GlobalVar {
    const open = this.needOpen("emitFuncOutput");
    if (open.result) throw new Error("emitFuncOutput was called already");
    const body = this.normalizeArgument(output);
    this.close(open);
    const { name, params, options } = open;
    const symbol = options.private ? {} : { global_symbol: name };
    const attrs: AttrsLike = { ...symbol, ...options.attrs };
    const func = new Func(
      params,
      new SeqExpr(open.blocks, body),
      null,
      options.pure ?? true,
      attrs,
    );
    this.endScope();
    open.result = this.addFunc(this.normalize(func) as Func, name);
    return open.result;
  }

  private close(open: Open): void {
    const block = this.endBlock();
    if (block.bindings.length > 0) open.blocks.push(block);
  }

  private needOpen(what: string): Open {
    if (!this.open) throw new Error(`${what} is called inside of function(...)`);
    return this.open;
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
  /** The module as it is now. */
  get(): IRModule {
    return IRModule.fromWords(this.do("module"));
  }
}
