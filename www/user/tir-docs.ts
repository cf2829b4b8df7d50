/** The rows of `docs.ts` about the inside of tensor programs. */
import type { Row } from "./docs";
import { BINARY, PRIMS, STMTS } from "./tir-lines.ts";

const lines = [
  ...PRIMS.filter(([name]) => !["Var", "BinaryOp"].includes(name)),
  ...BINARY.map((name): [string, string, string] => [name, "a b", "a b"]),
  ...STMTS,
  ["SBlockRealize", "iterValues predicate block", "iterValues predicate block"] as const,
];
/** Names of fields, without how they cross. */
const names = (text: string) =>
  text
    .split(" ")
    .map((one) => one.replace(/:.*/, ""))
    .filter((one) => one && !one.endsWith("_"))
    .join(", ");
const stmts = new Set([...STMTS.map(([name]) => name), "SBlockRealize"]);

const NODES: Row[] = lines.map(([name, args, fields]) => [
  `tir.${name}`,
  `new tir.${name}(${names(args)}): ${name} { ${names(fields)} }`,
  stmts.has(name)
    ? "A statement of tensor programs, with TVM's fields."
    : "A scalar of tensor programs, with TVM's fields.",
]);

const HOOKS: Row[] = lines.flatMap(([name]): Row[] => {
  const type = stmts.has(name) ? "Stmt" : "PrimExpr";
  return [
    [
      `tir.StmtExprMutator.visit${name}`,
      `visit${name}(node: ${name}): ${type}`,
      `What a ${name} becomes. this.visitParts(node) rebuilds it over its new parts.`,
    ],
    [
      `tir.StmtExprVisitor.visit${name}`,
      `visit${name}(node: ${name}): void`,
      `Called for a ${name}.`,
    ],
  ];
});

const ANALYZER: Row[] = (
  [
    ["simplify", "expr, steps = 2", "PrimExpr", "The simplest form."],
    ["rewriteSimplify", "expr", "PrimExpr", "After the rewriting rules."],
    ["canonicalSimplify", "expr", "PrimExpr", "With sums in normal form."],
    [
      "constIntBound",
      "expr",
      "{ minValue, maxValue }",
      "The least and the greatest value; Infinity beyond all numbers.",
    ],
    ["modularSet", "expr", "{ coeff, base }", "Every value is coeff * k + base."],
    [
      "intSet",
      "expr, domains?: Map<Var, Range>",
      "{ minValue, maxValue }",
      "Values while variables run through ranges.",
    ],
    [
      "canProve",
      "cond, strength = 0",
      "boolean",
      "True if the condition provably always holds; strength 1 tries harder.",
    ],
    ["canProveEqual", "a, b", "boolean", "True if both are provably equal."],
    [
      "canProveGreaterEqual",
      "expr, bound: number",
      "boolean",
      "True if the scalar is provably at least this.",
    ],
    [
      "canProveLess",
      "expr, bound: number",
      "boolean",
      "True if the scalar is provably less than this.",
    ],
    [
      "bind",
      "var, to: PrimExpr | Range, allowOverride = false",
      "void",
      "Binds a variable to a value or to a range.",
    ],
    ["constraintScope", "cond, f: () => T", "T", "Runs f while the condition holds."],
  ] as const
).map(([name, args, result, doc]) => [
  `arith.Analyzer.${name}`,
  `${name}(${args}): ${result}`,
  doc,
]);

const OPERATORS =
  "min(a, b)|max(a, b)|floordiv(a, b)|floormod(a, b)|truncdiv(a, b)|truncmod(a, b)|div(a, b)|all(...conds)|any(...conds)|const(value, dtype?)|ifThenElse(cond, then, other)|callIntrin(dtype, name, ...args)|callExtern(dtype, name, ...args)";

export const TIR: readonly Row[] = [
  ["arith", "new arith.Analyzer()", "TVM's arithmetic over scalars of tensor programs."],
  [
    "arith.Analyzer",
    "new arith.Analyzer(): Analyzer",
    "Knows facts about variables; simplifies and proves with them.",
  ],
  ...ANALYZER,
  [
    "tir.StmtExprVisitor",
    "class tir.StmtExprVisitor { visit(node: Stmt | PrimExpr | PrimFunc): void }",
    "Goes over a tensor program. A hook for each kind of node: visitFor, visitBufferStore, visitAdd; visitBuffer is called where a buffer is defined or used. this.visitParts(node) goes on to the parts.",
  ],
  [
    "tir.StmtExprMutator",
    "class tir.StmtExprMutator { visit(node: Stmt | PrimExpr | PrimFunc) }",
    "Makes another program: a hook gives what stands in a node's place. What did not change stays the same object. visitBuffer gives the buffer in the place of one.",
  ],
  ...HOOKS,
  [
    "tir.postOrderVisit",
    "postOrderVisit(node, f: (node) => void): void",
    "Calls f with every scalar and statement, parts first, each once.",
  ],
  [
    "tir.preOrderVisit",
    "preOrderVisit(node, f: (node) => boolean): void",
    "Calls f with outer nodes first; false leaves out what is inside.",
  ],
  [
    "tir.irTransform",
    "irTransform(stmt, before, after, only?: string[]): Stmt",
    "Changes nodes of these kinds, before and after their parts; null keeps a node.",
  ],
  [
    "tir.substitute",
    "substitute(node, values: Map<Var, PrimExpr>)",
    "Replaces variables in a statement, scalar or PrimFunc.",
  ],
  [
    "tir.Buffer",
    "new tir.Buffer(shape, dtype, { name, scope, strides, elemOffset, data, offsetFactor, dataAlignment }): Buffer",
    "Memory with a shape. buffer.load(i, j) and buffer.store(value, i, j) make an access.",
  ],
  ["tir.BufferRegion", "new tir.BufferRegion(buffer, region: Range[])", "A part of a buffer."],
  ["tir.Range", "new tir.Range(min, extent)", "From min on so many values."],
  [
    "tir.IterVar",
    "new tir.IterVar(dom: Range, var, iterType)",
    'A variable of a block: "spatial", "reduce", "scan" or "opaque".',
  ],
  [
    "tir.MatchBufferRegion",
    "new tir.MatchBufferRegion(buffer, source)",
    "A buffer that stands for a part of another one.",
  ],
  [
    "tir.PrimFunc",
    "new tir.PrimFunc(params, body, retType?, attrs?): PrimFunc",
    "A tensor program over buffers and variables.",
  ],
  [
    "tir.PrimExpr",
    "class tir.PrimExpr { dtype, add(other), sub, mul, floordiv, floormod, equal, notEqual, lt, le, gt, ge, astype(dtype) }",
    "The base of all scalars. Methods make what TVM's operators make; numbers take the other operand's type.",
  ],
  ["tir.Stmt", "class tir.Stmt", "The base of all statements."],
  ["tir.seq", "seq(...stmts: Stmt[]): Stmt", "Statements in order."],
  ...OPERATORS.split("|").map(
    (text): Row => [
      `tir.${text.replace(/\(.*/, "")}`,
      `${text}: PrimExpr`,
      "Makes a scalar, as TVM's function of that name.",
    ],
  ),
  ...NODES,
];
