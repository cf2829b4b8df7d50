import { RELAX } from "./relax-docs.ts";
import { TIR } from "./tir-docs.ts";

/** An entry of the completion and help of *My passes*: one for each name that a script can use. */
export interface ApiEntry {
  /** `ExprMutator`, or with its class `ExprMutator.visitCall`. */
  name: string;
  /** As TypeScript writes it, on one line: `visitCall(call: Call): Expr`. */
  signature: string;
  /** A few sentences. */
  doc: string;
}

export type Row = readonly [name: string, signature: string, doc: string];

const node = (name: string, args: string, fields: string, doc: string): Row => [
  name,
  `new ${name}(${args}): ${name} { ${fields} }`,
  doc,
];

const PASSES: readonly Row[] = [
  [
    "functionPass",
    "functionPass(options: { name, optLevel?, required?, doc? }, f: (func: Func, mod: IRModule, ctx: PassContext) => Func): Pass",
    "A pass over each function by itself; InferType follows, as in TVM. With a class instead of `f`, whose method is transformFunction, it gives what makes a pass of the constructor's arguments. The pass stands in the list of passes by its name.",
  ],
  [
    "modulePass",
    "modulePass(options: { name, optLevel?, required?, doc? }, f: (mod: IRModule, ctx: PassContext) => IRModule): Pass",
    "A pass over a whole module. Types are not inferred behind it. A class has transformModule.",
  ],
  [
    "dataflowBlockPass",
    "dataflowBlockPass(options: { name, optLevel?, required?, doc? }, f: (block: DataflowBlock, mod: IRModule, ctx: PassContext) => DataflowBlock): Pass",
    "A pass over each dataflow block of Relax. Variables that are visible behind the block must stay. new relax.ExprMutator(mod).visitDataflowBlock(block) is what a mutator makes of it. Relay has no blocks, so there it changes nothing. A class has transformDataflowBlock.",
  ],
  [
    "primFuncPass",
    "primFuncPass(options: { name, optLevel?, required?, doc? }, f: (func: PrimFunc, mod: IRModule, ctx: PassContext) => PrimFunc): Pass",
    "A pass over each tensor program of the module: func.body and func.params are its inside, func.withBody(stmt) is the same with another body. A class has transformPrimFunc.",
  ],
  [
    "sequential",
    "sequential(passes: Pass[], options?: { name?, optLevel?, required?, doc? }): Pass",
    "Passes in a row. The context's opt level, required and disabled passes gate each; what a pass requires runs right before it. With a name it stands in the list of passes.",
  ],
  [
    "transform",
    "transform.FoldConstant(args?: object): Pass",
    "The passes that are built in, by TVM's names, for the program's dialect: transform.FuseOps({ fuse_opt_level: 2 }). relay.transform, relax.transform and tir.transform have those of one dialect. A pass is called with a module and gives a module; its info has name, opt level and required passes. transform.FuseOpsByPattern({ patterns: [[name, pattern, annotations?, check?]] }) takes patterns of relax.dpl; check gets { matchedExpr, annotatedExpr, matchedBindings }. transform.UpdateParamType({ ty_func: (param) => type or null }) takes a function. tir.transform.Apply((func) => func) maps every tensor program, and tir.transform.Filter((func) => boolean) removes those for which it is false.",
  ],
  [
    "Sequential",
    "Sequential(passes: Pass[], options?: { name?, optLevel?, required?, doc? }): Pass",
    "The same as sequential, by TVM's name. What it gives is an instance of Sequential and of Pass.",
  ],
  [
    "Pass",
    "class Pass { info: { name, optLevel, required }; (mod: IRModule | Expr): IRModule }",
    "What all passes are instances of. A pass is called with a module, or with a function or expression, which becomes a module; it runs in the current context, whatever its level.",
  ],
  [
    "ModulePass",
    "class ModulePass extends Pass",
    "What passes over a whole module are instances of.",
  ],
  [
    "FunctionPass",
    "class FunctionPass extends Pass",
    "What passes over each function are instances of.",
  ],
  [
    "DataflowBlockPass",
    "class DataflowBlockPass extends Pass",
    "What passes over dataflow blocks are instances of.",
  ],
  [
    "PrimFuncPass",
    "class PrimFuncPass extends Pass",
    "What passes over tensor programs are instances of.",
  ],
  [
    "rulePass",
    "rulePass(options: { name, optLevel?, required?, doc?, fuel? }, rules: Rule[]): Pass",
    "A function pass that applies rewrite rules until none fits any more.",
  ],
  [
    "rule",
    'rule(text: "lhs => rhs"): Rule; rule(lhs: string, make: (found) => Expr | null): Rule',
    'A rewrite rule as text: rule("add(%x, 0f) => %x"). %x stands for any expression, the same one wherever it is repeated. Constants are compared by value, attributes where they are not the default.',
  ],
  [
    "rewrite",
    "rewrite(expr: Expr, rules: Rule[], fuel = 10000): Expr",
    "Applies rules, parts before wholes, until none fits any more or so many rewrites were made.",
  ],
  [
    "match",
    "match(rule: Rule, expr: Expr): Record<string, Expr> | null",
    "What the variables of a rule stand for when its left side is this expression.",
  ],
  [
    "passInstrument",
    "passInstrument(hooks: { name, enterPassCtx?, exitPassCtx?, shouldRun?, runBeforePass?, runAfterPass? })",
    "An instrument: an object, or a class with these methods, and then what makes one. shouldRun(mod, info), runBeforePass(mod, info) and runAfterPass(mod, info) are called around each pass. It stands among the page's instruments by its name.",
  ],
  [
    "PassTimingInstrument",
    "PassTimingInstrument(): { render(): string }",
    "TVM's timing instrument. Ask it to render before the context is left, which clears it.",
  ],
  [
    "PassContext",
    "new PassContext({ optLevel?, requiredPass?, disabledPass?, instruments?, config? }): PassContext",
    "The options that passes run under. Its run(f) is Python's with: it enters the context, calls f and leaves it, also when f throws.",
  ],
  [
    "PassContext.run",
    "run<T>(f: (ctx: PassContext) => T): T",
    "Enters the context, calls f, and leaves it.",
  ],
  [
    "PassContext.current",
    "static current(): PassContext",
    "The context that is current: the object that was entered, or one that stands for the page's.",
  ],
  [
    "PassContext.overrideInstruments",
    "overrideInstruments(instruments: object[]): void",
    "Replaces its instruments, whether or not it is the current context: exitPassCtx of the old ones is called, then enterPassCtx of the new ones.",
  ],
  [
    "PassContext.registerConfigOption",
    'static registerConfigOption(key: string, type: "bool" | "int" | "str" | "list"): void',
    "Registers a key of the configuration that your passes read from ctx.config; the page's context takes it, too.",
  ],
  [
    "PassContext.listConfigs",
    "static listConfigs(): Record<string, { type: string }>",
    "All keys of the configuration, TVM's and your own.",
  ],
  [
    "PassContext.diagCtx",
    "diagCtx: { emit(diagnostic: Diagnostic): void, render(): void }",
    "Where a pass reports what it finds: ctx.diagCtx.emit(Diagnostic.warning(call, 'odd')). It is listed under Problems and underlined at its place. A pass that reported an error has failed.",
  ],
  [
    "Diagnostic",
    'new Diagnostic(level: "error" | "warning" | "note" | "help", place: Expr | Span | null, message: string)',
    "A finding about a place of the program; Diagnostic.error(place, message) and so on make one.",
  ],
  [
    "Span",
    "class Span { line, column, endLine, endColumn }",
    "A place in the text of the program: expr.span, null where an expression comes from no place.",
  ],
  [
    "instrument",
    "instrument.PrintAfterAll(...args)",
    "The instruments that are built in, by TVM's names and in the order of TVM's arguments: instrument.PassPrintingInstrument(['FuseOps'], []), instrument.PassMemoryInstrument(). What they print stands in the log, or in the console while the script is loaded.",
  ],
];

const VISITORS: readonly Row[] = [
  [
    "ExprMutator",
    "class ExprMutator { memo: Map<Expr, Expr>; visit(expr): Expr; mutate(expr): Expr }",
    "Makes another program of a program. The hooks visit all parts and give the same node when none has changed, else a copy over the new parts. What your hook gives instead is recorded as a rewrite.",
  ],
  [
    "ExprVisitor",
    "class ExprVisitor { memo: Map<Expr, void>; visit(expr): void }",
    "Goes over a program, each node once, and changes nothing.",
  ],
  [
    "ExprFunctor",
    "class ExprFunctor<R> { memo: Map<Expr, R>; visit(expr, ...args): R }",
    "What visitors and mutators have in common: visit finds the hook of the node's kind, and remembers what it gave. More arguments go to the hook, visitCall(call, depth), and on to all parts; then nothing is remembered. A method that looks like a hook and is none is an error.",
  ],
  [
    "MixedModeMutator",
    "class MixedModeMutator { rewriteCall(pre, post), rewriteTuple(pre, post), rewriteTupleGetItem(pre, post) }",
    "A mutator that never recurses over calls, tuples and projections, however long their chain. pre is the node as it was, with its types; post the one over new parts.",
  ],
  [
    "MixedModeVisitor",
    "class MixedModeVisitor { visit(expr): void }",
    "A visitor that sees every call, tuple and projection after what it is computed from.",
  ],
  [
    "TypeVisitor",
    "class TypeVisitor { visitType(type): void; visitTensorType(type), visitDim(dim), ... }",
    "Goes over a type.",
  ],
  [
    "TypeMutator",
    "class TypeMutator { visitType(type): Type; visitTensorType(type), visitDim(dim), ... }",
    "Makes another type of a type. A mutator of expressions whose visitType calls it changes annotations.",
  ],
  [
    "postOrderVisit",
    "postOrderVisit(expr: Expr, f: (expr: Expr) => void): void",
    "Calls f with every node once, parts before wholes.",
  ],
  [
    "postOrderRewrite",
    "postOrderRewrite(expr: Expr, f: (pre: Expr, post: Expr) => Expr): Expr",
    "Calls f for every node, parts before wholes; what it gives stands for the node. Without recursion.",
  ],
  [
    "expandANormalForm",
    "expandANormalForm(first: Let, pre: (op: Let) => void, post: (op: Let) => void): void",
    "Goes along a chain of lets without recursion: pre from the outside in, then post from the inside out.",
  ],
];

const KINDS = [
  "Var",
  "GlobalVar",
  "Op",
  "Constructor",
  "Constant",
  "Tuple",
  "TupleGetItem",
  "Call",
  "Let",
  "If",
  "Function",
  "Match",
  "RefCreate",
  "RefRead",
  "RefWrite",
];

const HOOKS: readonly Row[] = KINDS.flatMap((kind) => {
  const type = kind === "Function" ? "Func" : kind;
  return [
    [
      `ExprMutator.visit${kind}`,
      `visit${kind}(op: ${type}): Expr`,
      `What a ${type} becomes. super.visit${kind}(op) visits the parts.`,
    ],
    [
      `ExprVisitor.visit${kind}`,
      `visit${kind}(op: ${type}): void`,
      `Called for a ${type}. super.visit${kind}(op) visits the parts.`,
    ],
  ] as const;
});

const MORE_HOOKS: readonly Row[] = [
  [
    "ExprMutator.visitVarDef",
    "visitVarDef(variable: Var): Var",
    "A variable where it is bound: a parameter, a let's, a pattern's. What it gives is bound in its place; write it into memo as well, so that uses change with it.",
  ],
  [
    "ExprMutator.visitType",
    "visitType(type: Type): Type",
    "An annotation, a result type or a type argument. The default leaves them.",
  ],
  [
    "ExprMutator.visitPrimExpr",
    "visitPrimExpr(value: Dim): Dim",
    "Relax: an extent or scalar of a shape or a scalar that is a value: a number, a symbol, or what is computed of such.",
  ],
  [
    "ExprVisitor.visitPrimExpr",
    "visitPrimExpr(value: Dim): void",
    "Relax: an extent or scalar of a shape or a scalar that is a value.",
  ],
  [
    "ExprMutator.visitPattern",
    "visitPattern(pattern: Pattern): Pattern",
    "The pattern of an arm of a match.",
  ],
  [
    "ExprMutator.rewriteLet",
    "rewriteLet(pre: Let, post: Expr): Expr",
    "What a let becomes that has been visited. Unlike visitLet it is also called along chains of any length.",
  ],
  [
    "ExprMutator.memo",
    "memo: Map<Expr, Expr>",
    "What each node became. memo.set(op.var, value) makes uses of a variable become a value.",
  ],
  ["ExprVisitor.visitVarDef", "visitVarDef(variable: Var): void", "A variable where it is bound."],
  ["ExprVisitor.visitType", "visitType(type: Type): void", "An annotation or a type argument."],
];

const NODES: readonly Row[] = [
  [
    "Expr",
    "abstract class Expr { checkedType: Type | null }",
    "A node. The same node is the same object: === is identity, as same_as in TVM. Nothing of a node changes.",
  ],
  node(
    "Var",
    "name: string, type?: Type | string",
    "nameHint, typeAnnotation, vid",
    "A variable. Its binding and its uses are the same object.",
  ),
  node("GlobalVar", "name: string", "nameHint", "The name of a function of the module."),
  node(
    "Op",
    "name: string",
    "name, inputs, isStateful, hasKernel, getAttr(name)",
    "An operator. getAttr knows TOpIsStateful, TOpPattern and TNonComputational.",
  ),
  [
    "Constructor",
    "class Constructor { nameHint, belongTo, tag, inputs }",
    "A constructor of an algebraic data type.",
  ],
  [
    "Constant",
    "class Constant { dtype, shape, data, value }",
    "A tensor that is known; data is a typed array, value the element of a scalar. Made by constant(...).",
  ],
  node("Tuple", "fields: Expr[]", "fields", "A tuple."),
  node("TupleGetItem", "tuple: Expr, index: number", "tuple, index", "A projection: tuple.index."),
  node(
    "Call",
    "op: Expr, args: Expr[], attrs?: object, typeArgs?: Type[]",
    "op, args, attrs, typeArgs",
    "A call. Attributes of an operator are completed with their defaults: { ...call.attrs, strides: [2, 2] }.",
  ),
  node("Let", "var: Var, value: Expr, body: Expr", "var, value, body", "let %var = value; body"),
  node(
    "If",
    "cond: Expr, trueBranch: Expr, falseBranch: Expr",
    "cond, trueBranch, falseBranch",
    "A branch on a scalar truth value.",
  ),
  [
    "Function",
    "new Function(params: Var[], body: Expr, retType?: Type, typeParams?: TypeVar[], attrs?: object): Function { params, body, retType, attrs, withAttr(name, value) }",
    "A function of the program, as in TVM; JavaScript's own Function is not to be had here. Also called Func.",
  ],
  ["Func", "Func = Function", "The functions of the program, for instanceof."],
  node(
    "Match",
    "data: Expr, clauses: Clause[], complete = true",
    "data, clauses, complete",
    "A match.",
  ),
  node("Clause", "lhs: Pattern, rhs: Expr", "lhs, rhs", "An arm of a match."),
  ["PatternWildcard", "PatternWildcard(): Pattern", "The pattern _."],
  ["PatternVar", "PatternVar(variable: Var): Pattern", "A pattern that binds a variable."],
  [
    "PatternConstructor",
    "PatternConstructor(ctor: Constructor, fields?: Pattern[]): Pattern",
    "A pattern of a constructor.",
  ],
  ["PatternTuple", "PatternTuple(fields: Pattern[]): Pattern", "A pattern of a tuple."],
  node("RefCreate", "value: Expr", "value", "ref(value)"),
  node("RefRead", "ref: Expr", "ref", "ref_read(ref)"),
  node("RefWrite", "ref: Expr, value: Expr", "ref, value", "ref_write(ref, value)"),
];

const TYPES: readonly Row[] = [
  ["Type", "abstract class Type", "A type. Equal types are the same object."],
  node(
    "TensorType",
    'shape: Dim[] | null, dtype = "float32", ndim?: number',
    "shape, dtype, ndim",
    "A tensor type. In Relay Any is an extent that is not known; in Relax extents are numbers and symbols (tir.Var), and shape may be null and dtype empty.",
  ),
  node("TupleType", "fields: Type[]", "fields", "The type of a tuple."),
  node(
    "FuncType",
    "argTypes: Type[], retType: Type, purity = true",
    "argTypes, retType, purity, isOpaque",
    "The type of a function. Purity is of Relax, as is null for arguments that are not known.",
  ),
  node("RelayRefType", "value: Type", "value", "The type of a reference."),
  ["TypeVar", "class TypeVar { name }", "A type parameter."],
  node("GlobalTypeVar", "name: string", "name", "The name of a type definition."),
  node(
    "TypeCall",
    "func: Type, args: Type[]",
    "func, args",
    "A type definition with its arguments: List[float32].",
  ),
  ["Any", "Any", "An extent that may be anything: ?."],
];

const TOOLS: readonly Row[] = [
  [
    "op",
    "op(name: string): (...args: (Expr | number | Expr[])[], attrs?: object) => Call",
    'Calls of an operator: op("nn.conv2d")(x, w, { strides: [2, 2] }). op("add").op is the operator itself.',
  ],
  [
    "call",
    "call(callee: Expr | string, args: Expr[], attrs?: object): Call",
    "A call of an operator by name, of a function, or of anything.",
  ],
  [
    "relay",
    "relay.nn.relu(x), relay.add(x, y), relay.var(name, type), relay.const(value, dtype), relay.Function",
    "Every operator by its name, and what makes nodes by the names of TVM's Python.",
  ],
  [
    "variable",
    "variable(name: string, type?: Type | string | { shape, dtype }): Var",
    "A new variable.",
  ],
  [
    "constant",
    'constant(value: number | array | TypedArray, dtype = "float32", shape?: number[]): Constant',
    "A constant from a number, nested lists or a typed array.",
  ],
  [
    "parseExpr",
    "parseExpr(text: string, vars?: Record<string, Expr>): Expr",
    'Reads an expression as a program writes it: parseExpr("add(%x, 1f)", { x }); in a program of Relax parseExpr("R.add(x, R.const(1.0))", { x }).',
  ],
  ["parseModule", "parseModule(text: string): IRModule", "Reads a module and infers its types."],
  [
    "parseType",
    "parseType(text: string): Type",
    'Reads a type: parseType("Tensor[(1, 3), float32]").',
  ],
  [
    "text",
    "text(thing: Expr | Type | IRModule): string",
    "What something prints as. console.log does the same.",
  ],
  [
    "freeVars",
    "freeVars(expr: Expr): Var[]",
    "Variables that are used and not bound, in the order of first use.",
  ],
  ["boundVars", "boundVars(expr: Expr): Var[]", "Variables that are bound."],
  ["allVars", "allVars(expr: Expr): Var[]", "Variables that are used or bound."],
  [
    "structuralEqual",
    "structuralEqual(a, b, { mapFreeVars? }): boolean",
    "Equality as TVM defines it: bound variables may have other names.",
  ],
  ["inferType", "inferType(expr: Expr, mod?: IRModule): Expr", "The expression with its types."],
  [
    "evaluate",
    "evaluate(expr: Expr, mod?: IRModule): Expr",
    "The value of an expression that depends on constants only, as a constant or a tuple of such.",
  ],
  [
    "bind",
    "bind(expr: Expr, values: Map<Var, Expr> | Record<string, Expr>): Expr",
    "Replaces variables; parameters of a function that are bound are parameters no longer.",
  ],
  [
    "attrsKey",
    "attrsKey(attrs: object): string",
    "TVM's name for the type of attributes: relay.attrs.Conv2DAttrs.",
  ],
  [
    "IRModule",
    "new IRModule(functions?: Record<string, Func> | [GlobalVar, Func][]): IRModule",
    'A module. It can be changed, which changes no version that the page shows. mod["main"] is a function of it, too.',
  ],
  ["IRModule.functions", "functions: [GlobalVar, Func][]", "Names and functions, in order."],
  ["IRModule.get", "get(name: string | GlobalVar): Func", "The function of that name."],
  [
    "IRModule.has",
    "has(name: string | GlobalVar): boolean",
    "Whether there is a function of that name.",
  ],
  [
    "IRModule.set",
    "set(name: string | GlobalVar, func: Func): IRModule",
    "Adds a function or replaces the one of that name.",
  ],
  ["IRModule.remove", "remove(name: string | GlobalVar): IRModule", "Removes a function."],
  ["IRModule.update", "update(other: IRModule): IRModule", "Adds everything of another module."],
  ["IRModule.show", "show(): void", "Prints it to the console."],
  ["IRModule.copy", "copy(): IRModule", "Another module with the same functions."],
  [
    "IRModule.fromExpr",
    "static fromExpr(expr: Expr): IRModule",
    "A module whose main is this function, or computes this expression of its free variables.",
  ],
];

/** Everything that is global in a script. */
export const API: ApiEntry[] = [
  ...PASSES,
  ...VISITORS,
  ...HOOKS,
  ...MORE_HOOKS,
  ...NODES,
  ...TYPES,
  ...TOOLS,
  ...RELAX,
  ...TIR,
].map(([name, signature, doc]) => ({ name, signature, doc }));
