/** The rows of `docs.ts` about Relax. */
import type { Row } from "./docs";
import { PATTERNS } from "./dpl-docs.ts";

const node = (name: string, args: string, fields: string, doc: string): Row => [
  name,
  `new ${name}(${args}): ${name} { ${fields} }`,
  doc,
];

const NODES: readonly Row[] = [
  node(
    "DataflowVar",
    "name: string, type?: Type | string",
    "nameHint, checkedType, isDataflow",
    "Relax: a variable that is visible in its dataflow block only.",
  ),
  node(
    "SeqExpr",
    "blocks: BindingBlock[], body: Expr",
    "blocks, body",
    "Relax: blocks of bindings, then a result: the body of a function or a branch.",
  ),
  node(
    "BindingBlock",
    "bindings: Binding[]",
    "bindings, isDataflow",
    "Relax: bindings in order, which may have side effects and branches.",
  ),
  node(
    "DataflowBlock",
    "bindings: Binding[]",
    "bindings, isDataflow",
    "Relax: a block without side effects and branches: with R.dataflow().",
  ),
  node("VarBinding", "var: Var, value: Expr", "var, value", "Relax: var = value."),
  node(
    "MatchCast",
    "var: Var, value: Expr, type: Type | string",
    "var, value, type",
    "Relax: var = R.match_cast(value, type): the type is checked when the program runs, and symbols in it are defined. Once MatchShape.",
  ),
  node("ShapeExpr", "values: Dim[]", "values", "Relax: a shape as a value: R.shape([n, 4])."),
  node(
    "PrimValue",
    'value: Dim, dtype = "int64"',
    "value, dtype",
    "Relax: a scalar as a value; a fraction is a float32.",
  ),
  node("StringImm", "value: string", "value", 'Relax: R.str("text").'),
  node("DataTypeImm", "value: string", "value", 'Relax: R.dtype("float32").'),
  node("ExternFunc", "symbol: string", "globalSymbol", "Relax: a function that is linked in."),
  [
    "PrimFunc",
    "class PrimFunc { params, buffers, body, attrs, retType, withAttr(name, value), withBody(stmt) }",
    "A tensor program. String(func) is its text; parseModule reads one, tir.PrimFunc makes one. Parameters are buffers and variables.",
  ],
  ["PrimFunc.withBody", "withBody(stmt: Stmt): PrimFunc", "The same with another body."],
  ["PrimFunc.withAttr", "withAttr(name: string, value): PrimFunc", "The same with an attribute."],
];

const TYPES: readonly Row[] = [
  ["AnyType", "new AnyType(): AnyType", "Relax: any value: R.Any, once R.Object."],
  node("PrimType", "dtype: string", "dtype", "Relax: a scalar that is no tensor: T.int64."),
  node(
    "ShapeType",
    "values: Dim[] | null, ndim = -1",
    "values, ndim",
    "Relax: a shape as a value: R.Shape([n, 4]).",
  ),
  ["PackedFuncType", "new PackedFuncType(): PackedFuncType", "Relax: R.PackedFunc."],
  ["StringType", "new StringType(): StringType", "Relax: a string as a value."],
  [
    "tir",
    'tir.Var(name: string, dtype = "int64"): PrimExpr',
    "A new variable of tensor programs, or a symbolic extent: const n = tir.Var('n'); new TensorType([n, n.mul(2)]). Nodes, visitors and passes of TIR are in tir, too.",
  ],
];

const NAMESPACE: readonly Row[] = [
  [
    "relax.analysis",
    "const { udchain, getVar2val } = relax.analysis",
    "Questions about programs, by TVM's names.",
  ],
  [
    "relax",
    "relax.nn.conv2d(x, w, { padding: 1 }), relax.reshape(x, [4, 2]), relax.Var, relax.Function(params, body, retType, isPure, attrs)",
    "Every operator of Relax by its name, called as TVM's Python calls it, and what makes nodes and types. The old names of types (TensorStructInfo and so on) are here too.",
  ],
  [
    "relax.callTIR",
    "relax.callTIR(func: GlobalVar, args: Expr[], out: Type | Type[]): Call",
    "R.call_tir: calls a tensor program, which writes outputs of these types.",
  ],
  [
    "relax.callDPSPacked",
    "relax.callDPSPacked(name: string, args: Expr[], out: Type | Type[]): Call",
    "R.call_dps_packed: the same of a packed function.",
  ],
  [
    "relax.callPacked",
    "relax.callPacked(name: string, args: Expr[], out?: Type): Call",
    "R.call_packed: a call of a packed function, which may have side effects.",
  ],
  [
    "relax.ExprVisitor",
    "class relax.ExprVisitor { visit(expr): void }",
    "The visitor of Relax: what is used twice is visited twice.",
  ],
  [
    "relax.ExprMutatorBase",
    "relax.ExprMutatorBase = ExprMutator",
    "A mutator that does without normal form and builder. What it changes has no types until the pass is done.",
  ],
  [
    "relax.ExprMutator",
    "class relax.ExprMutator { constructor(mod?: IRModule); builder: BlockBuilder; varRemap: Map<number, Var> }",
    "The mutator of programs in normal form. Bindings go to its builder one by one, so hooks may emit more; what they give is put into normal form and gets its type.",
  ],
  [
    "relax.ExprMutator.builder",
    "builder: BlockBuilder",
    "Where bindings go: this.builder.emit(value) binds a value before the binding under way.",
  ],
  [
    "relax.ExprMutator.lookupBinding",
    "lookupBinding(variable: Var): Expr | null",
    "The value that a variable is bound to; null for parameters.",
  ],
  [
    "relax.ExprMutator.reEmitBinding",
    "reEmitBinding(binding: VarBinding, value: Expr): void",
    "Binds what the value of a binding has become; uses of the variable follow its new type.",
  ],
  [
    "relax.ExprMutator.visitWithNewScope",
    "visitWithNewScope(expr: Expr, params?: Var[]): Expr",
    "Visits the body of a function: the symbols of the parameters' types are known in it, and no others.",
  ],
  [
    "relax.ExprMutator.visitWithInnerScope",
    "visitWithInnerScope(expr: Expr): Expr",
    "Visits a branch: what is around it is known in it.",
  ],
  [
    "relax.DataflowMutator",
    "class relax.DataflowMutator { constructor(mod?: IRModule) }",
    "A relax.ExprMutator whose hooks are called in dataflow blocks only.",
  ],
];

const ANALYSES: readonly Row[] = (
  [
    ["freeVars", "expr: Expr", "Var[]", "Variables that are used and not bound."],
    [
      "boundVars",
      "expr: Expr",
      "Var[]",
      "Variables that are bound. Symbols are no variables here: see definedSymbolicVars.",
    ],
    ["allVars", "expr: Expr", "Var[]", "Variables that are used or bound."],
    ["allGlobalVars", "expr: Expr", "GlobalVar[]", "Functions of the module that are mentioned."],
    [
      "calledGlobalVars",
      "expr: Expr",
      "GlobalVar[]",
      "Functions of the module that are called, also by call_tir.",
    ],
    [
      "definedSymbolicVars",
      "expr: Expr",
      "Dim[]",
      "Symbols that parameters and match_cast define.",
    ],
    ["freeSymbolicVars", "expr: Expr", "Dim[]", "Symbols that are used and not defined."],
    [
      "containsImpureCall",
      "expr: Expr, mod?: IRModule",
      "boolean",
      "Whether something in it may have side effects; without the module its functions count as pure.",
    ],
    [
      "hasReshapePattern",
      "func: PrimFunc",
      "boolean",
      "Whether a tensor program only copies elements in their order.",
    ],
    ["getVar2val", "func: Function", "Map<Var, Expr>", "What variables are bound to."],
    [
      "nameToBinding",
      "func: Function",
      "Record<string, Binding[]>",
      "The bindings by the names of their variables.",
    ],
    [
      "udchain",
      "block: DataflowBlock",
      "Map<Var, Var[]>",
      "For each variable those whose values use it.",
    ],
    [
      "typeBaseCheck",
      "base: Type, derived: Type",
      "number",
      "Whether a value of one type fits the other: 0 never, 1 and 2 perhaps, 3 always. Once struct_info_base_check.",
    ],
    ["typeLca", "a: Type, b: Type", "Type", "The type that covers both and says most."],
    ["wellFormed", "thing: IRModule | Function", "true", "Throws what is wrong first."],
    ["checkWellFormed", "thing: IRModule | Function", "boolean", "Whether nothing is wrong."],
  ] as const
).map(([name, args, result, doc]) => [
  `relax.analysis.${name}`,
  `relax.analysis.${name}(${args}): ${result}`,
  doc,
]);

const BUILDER: readonly Row[] = [
  [
    "BlockBuilder",
    "new BlockBuilder(mod?: IRModule): BlockBuilder",
    "Builds functions of Relax binding by binding, in normal form and with types. What does not fit is an exception where it is emitted.",
  ],
  [
    "BlockBuilder.function",
    "function(name: string, params: Var | Var[] | null, options?: { attrs, private, pure }, f: () => void): GlobalVar",
    "Builds a function of the module: f emits its bindings and calls emitFuncOutput, which gives the parameters where they are null here. Python's with bb.function(...). Another one may be built inside.",
  ],
  [
    "BlockBuilder.dataflow",
    "dataflow<T>(f: () => T): T",
    "A dataflow block in the function that is being built.",
  ],
  [
    "BlockBuilder.emit",
    "emit(value: Expr, name?: string): Var",
    "Binds a value to a new variable, lv in a dataflow block, else gv.",
  ],
  [
    "BlockBuilder.emitOutput",
    "emitOutput(value: Expr, name?: string): Var",
    "Binds a value in a dataflow block to a variable that is visible behind it.",
  ],
  [
    "BlockBuilder.emitFuncOutput",
    "emitFuncOutput(output: Expr | list, params?: Var[]): GlobalVar",
    "Says what the function that is being built gives; a list is a tuple. Called once.",
  ],
  [
    "BlockBuilder.matchCast",
    "matchCast(value: Expr, type: Type | string, name?: string): Var",
    "Binds a value to a variable of this type, which is checked when the program runs.",
  ],
  [
    "BlockBuilder.emitNormalized",
    "emitNormalized(binding: Binding): void",
    "Adds a binding as it is: its value is in normal form and has a type.",
  ],
  [
    "BlockBuilder.emitTE",
    "emitTE(f: Operator | string | ((...args) => Expr), ...args): Var",
    "Adds the tensor program of an operator to the module and binds its call: emitTE(relax.nn.conv2d, x, w, { padding: [1, 1] }). A function that calls several makes one program of them: emitTE((a, b) => relax.nn.relu(relax.matmul(a, b)), x, w). { primfuncNameHint } as the last argument is its name.",
  ],
  [
    "BlockBuilder.normalize",
    "normalize(expr: Expr): Expr",
    "The expression in normal form and with types; what is nested is bound in the block under way.",
  ],
  [
    "BlockBuilder.normalizeArgument",
    "normalizeArgument(expr: Expr): Expr",
    "The expression as an operand: a leaf, or the variable that it is bound to now.",
  ],
  [
    "BlockBuilder.lookupBinding",
    "lookupBinding(variable: Var): Expr | null",
    "The value that a variable is bound to; null for parameters and for what a match_cast binds.",
  ],
  [
    "BlockBuilder.beginBindingBlock",
    "beginBindingBlock(): void",
    "Opens a block; endBlock closes it.",
  ],
  ["BlockBuilder.beginDataflowBlock", "beginDataflowBlock(): void", "Opens a dataflow block."],
  [
    "BlockBuilder.endBlock",
    "endBlock(pre?: BindingBlock): BindingBlock",
    "Closes the innermost block and gives it: pre itself when it has the same bindings.",
  ],
  [
    "BlockBuilder.currentBlockIsDataflow",
    "currentBlockIsDataflow: boolean",
    "Whether the innermost block is a dataflow block.",
  ],
  [
    "BlockBuilder.beginScope",
    "beginScope(params?: Var[]): void",
    "Opens the scope of a function: it knows the symbols that its parameters define.",
  ],
  [
    "BlockBuilder.beginInnerScope",
    "beginInnerScope(): void",
    "Opens a scope that knows what the one around it knows.",
  ],
  ["BlockBuilder.endScope", "endScope(): void", "Closes the innermost scope."],
  [
    "BlockBuilder.addFunc",
    "addFunc(func: Function | PrimFunc, name: string): GlobalVar",
    "Adds a function to the module, unless an equal one is there, and gives its name.",
  ],
  [
    "BlockBuilder.updateFunc",
    "updateFunc(name: GlobalVar | string, func: Function | PrimFunc): void",
    "Puts another function in the place of one.",
  ],
  ["BlockBuilder.get", "get(): IRModule", "The module as it is now."],
  ["BlockBuilder.uniqueName", "uniqueName(hint: string): string", "A name not given yet."],
];

const KINDS: readonly [kind: string, type: string][] = [
  ["DataflowVar", "DataflowVar"],
  ["SeqExpr", "SeqExpr"],
  ["ShapeExpr", "ShapeExpr"],
  ["PrimValue", "PrimValue"],
  ["StringImm", "StringImm"],
  ["DataTypeImm", "DataTypeImm"],
  ["ExternFunc", "ExternFunc"],
  ["PrimFunc", "PrimFunc"],
];

/** Hooks of both: name, parameter, the mutator's result, description. */
const MORE: readonly [name: string, arg: string, result: string, doc: string][] = [
  ["visitBindingBlock", "block: BindingBlock", "BindingBlock", "goes on by what the block is."],
  ["visitBindingBlock_", "block: BindingBlock", "BindingBlock", "a block without dataflow."],
  ["visitDataflowBlock", "block: DataflowBlock", "BindingBlock", "a dataflow block."],
  ["visitBinding", "binding: Binding", "Binding", "goes on by what the binding is."],
  ["visitVarBinding", "binding: VarBinding", "Binding", "var = value."],
  ["visitMatchCast", "binding: MatchCast", "Binding", "var = R.match_cast(value, type)."],
  ["visitVarDef_", "variable: Var", "Var", "the definition of an ordinary variable."],
  ["visitDataflowVarDef", "variable: DataflowVar", "Var", "the definition of a dataflow variable."],
];

const HOOKS: readonly Row[] = [
  ...KINDS.flatMap(([kind, type]): Row[] => [
    [
      `ExprMutator.visit${kind}`,
      `visit${kind}(op: ${type}): Expr`,
      `Relax: what a ${type} becomes. super.visit${kind}(op) visits the parts.`,
    ],
    [`ExprVisitor.visit${kind}`, `visit${kind}(op: ${type}): void`, `Relax: called for a ${type}.`],
  ]),
  ...MORE.flatMap(([name, arg, result, doc]): Row[] => [
    [
      `ExprMutator.${name}`,
      `${name}(${arg}): ${result}`,
      `Relax: ${doc}${result === "Binding" ? " In relax.ExprMutator it emits into builder and gives nothing." : ""}`,
    ],
    [`ExprVisitor.${name}`, `${name}(${arg}): void`, `Relax: ${doc}`],
  ]),
];

export const RELAX: readonly Row[] = [
  ...NAMESPACE,
  ...PATTERNS,
  ...ANALYSES,
  ...BUILDER,
  ...NODES,
  ...TYPES,
  ...HOOKS,
];
