/** The rows of `docs.ts` about patterns. */
import type { Row } from "./docs";

const maker = (name: string, args: string, doc: string): Row => [
  `relax.dpl.${name}`,
  `relax.dpl.${name}(${args}): DFPattern`,
  doc,
];

const MAKERS: readonly Row[] = [
  [
    "relax.dpl",
    "const { wildcard, isOp, rewriteCall } = relax.dpl",
    "Dataflow patterns: what expressions look like. One that is written in two places has to match the same expression in both.",
  ],
  maker("wildcard", "", "Anything."),
  maker(
    "isOp",
    "name: string",
    'An operator. A pattern is called to make a call of it: isOp("relax.add")(wildcard(), isConst()). Sums and products match with their operands swapped too. { vargDefaultWildcard: true } as the last argument lets more arguments follow.',
  ),
  maker("isConst", "", "A constant."),
  maker(
    "isVar",
    'name = ""',
    "A variable, of this name where one is given, that is bound to nothing known.",
  ),
  maker("isDfv", 'name = ""', "A variable of a dataflow block."),
  maker("isGv", 'name = ""', "A function of the module whose name has this in it."),
  maker("isExpr", "expr: Expr", "What is structurally equal to this expression."),
  maker("isTuple", "fields: DFPattern[], unordered = false", "A tuple of these fields."),
  maker(
    "isTupleGetItem",
    "tuple: DFPattern, index?: number",
    "A field of a tuple; any without an index.",
  ),
  maker("isShape", "shape: Dim[]", "R.shape of these extents."),
  maker("isCallTIR", "name: string, args?: DFPattern[]", "R.call_tir of a tensor program."),
  maker(
    "isCallDPSPacked",
    "name: string, args?: DFPattern[]",
    "R.call_dps_packed of this function.",
  ),
  maker("isCallPacked", "name: string, args?: DFPattern[]", "R.call_packed of this function."),
  maker("FunctionPattern", "params: DFPattern[] | null, body: DFPattern", "A function."),
  maker("reject", "pattern: DFPattern", "Anything else: pattern.not()."),
  maker("hasDtype", "dtype: string, pattern = wildcard()", "pattern.hasDtype(dtype)"),
  maker("hasAttr", "attrs: object, pattern = wildcard()", "pattern.hasAttr(attrs)"),
  [
    "relax.dpl.rewriteCall",
    "relax.dpl.rewriteCall(pattern: DFPattern, rewriter: (expr: Expr, matched: Map<DFPattern, Expr>) => Expr, func: Function, mod?: IRModule): Function",
    "Replaces what looks like the pattern by what the rewriter makes of it, and clears up behind it, until nothing changes. To leave an expression, give it back.",
  ],
  [
    "relax.dpl.rewriteBindings",
    "relax.dpl.rewriteBindings(ctx: PatternContext, rewriter: (matched: Map<DFPattern, Var>, bindings: Map<Var, Expr>) => Map<Var, Expr>, func: Function, mod?: IRModule): Function",
    "Finds the patterns of a context together and gives the variables that they stand for new values.",
  ],
];

const method = (name: string, args: string, result: string, doc: string): Row => [
  `relax.dpl.${name}`,
  `${name.split(".").pop()}(${args}): ${result}`,
  doc,
];

const METHODS: readonly Row[] = [
  [
    "relax.dpl.DFPattern",
    "class DFPattern { (...args: DFPattern[]): DFPattern }",
    "A pattern; pattern(a, b) is a call of it. Where TVM has |, & and ~ there are or, and and not.",
  ],
  method("DFPattern.or", "other: DFPattern", "DFPattern", "One of both, this one preferred."),
  method("DFPattern.and", "other: DFPattern", "DFPattern", "Both."),
  method("DFPattern.not", "", "DFPattern", "Anything else."),
  method(
    "DFPattern.hasAttr",
    "attrs: object",
    "DFPattern",
    "A call or function with these attributes: { axis: 1 }.",
  ),
  method(
    "DFPattern.hasTy",
    "type: Type | string",
    "DFPattern",
    "With a type that this one covers.",
  ),
  method("DFPattern.hasDtype", "dtype: string", "DFPattern", "A tensor of this element type."),
  method("DFPattern.hasShape", "shape: Dim[]", "DFPattern", "A tensor of this shape."),
  method(
    "DFPattern.match",
    "expr: Expr, values?: Map<Var, Expr>",
    "boolean",
    "Whether the expression looks like this. Variables are followed to what values says of them.",
  ),
  method(
    "DFPattern.extractMatchedExpr",
    "expr: Expr, values?: Map<Var, Expr>",
    "Map<DFPattern, Expr> | null",
    "What every part of the pattern stands for; null when the expression does not look like this.",
  ),
  method(
    "DFPattern.usedBy",
    "other: DFPattern, index = -1",
    "PatternSeq",
    "Says in the current context that other uses this, as its argument of that index. A call says so of its arguments by itself.",
  ),
  method(
    "DFPattern.onlyUsedBy",
    "other: DFPattern, index = -1",
    "PatternSeq",
    "And that nobody else does.",
  ),
  method("DFPattern.forkTo", "...users: DFPattern[]", "void", "usedBy of each."),
  method(
    "DFPattern.sameShapeAs",
    "...others: DFPattern[]",
    "void",
    "Says that the shapes are the same.",
  ),
  method("DFPattern.dup", "", "DFPattern", "The same pattern, which may stand for something else."),
  [
    "relax.dpl.PatternContext",
    "new PatternContext(incremental = false): PatternContext",
    "Patterns that use one another: new PatternContext().run((ctx) => ...) is Python's with, and notes who uses whom. An incremental one begins with what the current one knows.",
  ],
  method("PatternContext.run", "f: (ctx) => T", "T", "Calls f with this as the current context."),
  method(
    "PatternContext.matchDfb",
    "block: DataflowBlock",
    "Map<DFPattern, Var> | null",
    "The variable of the block that each pattern stands for.",
  ),
];

export const PATTERNS: readonly Row[] = [...MAKERS, ...METHODS];
