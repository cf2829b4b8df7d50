/** The kinds of nodes in tensor programs, as lines; `tir.ts` says what the letters of fields are. */

export type Line = readonly [name: string, args: string, fields: string];

/** Operations of two scalars, in the engine's order. */
export const BINARY =
  "Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or".split(" ");

/** Scalars, in the engine's order. */
export const PRIMS: readonly Line[] = [
  ["IntImm", "dtype value", "value:i"],
  ["FloatImm", "dtype value", "value:f"],
  ["StringImm", "value", "value:n"],
  ["AnyExtent", "", ""],
  ["Var", "name dtype", ""],
  ["BinaryOp", "a b", "a:p b:p"],
  ["Not", "a", "a:p"],
  ["Cast", "dtype value", "value:p"],
  ["Select", "condition trueValue falseValue", "condition:p trueValue:p falseValue:p"],
  ["Call", "dtype op args", "op:n args:P"],
  ["BufferLoad", "buffer indices", "buffer:b indices:P"],
  ["BufferData", "buffer", "buffer:b"],
  ["BufferRef", "buffer", "buffer:b"],
  ["Ramp", "base stride lanes", "base:p stride:p lanes:w"],
  ["Broadcast", "value lanes", "value:p lanes:w"],
  ["Shuffle", "vectors indices", "vectors:C indices:P"],
  ["Let", "var value body", "var:y value:p body:p"],
];

/** Statements, in the engine's order. */
export const STMTS: readonly Line[] = [
  ["SeqStmt", "seq", "seq:S"],
  [
    "For",
    "loopVar min extent kind body threadTag annotations step",
    "loopVar:y min:p extent:p step:?p kind:k threadTag:?n annotations:a body:s",
  ],
  [
    "SBlock",
    "iterVars reads writes nameHint body init allocBuffers matchBuffers annotations",
    "nameHint:n predicate_:?p init:?s body:s bare_:w annotations:a iterVars:I reads:R writes:R allocBuffers:B matchBuffers:M",
  ],
  ["BufferStore", "buffer value indices", "buffer:b value:p indices:P"],
  ["IfThenElse", "condition thenCase elseCase", "condition:p thenCase:s elseCase:?s"],
  ["While", "condition body", "condition:p body:s"],
  ["Bind", "var value", "var:y value:p"],
  ["AttrStmt", "node attrKey value body", "node:t attrKey:n value:p body:s"],
  ["AllocBuffer", "buffer annotations", "buffer:b annotations:a"],
  ["DeclBuffer", "buffer", "buffer:b"],
  ["AssertStmt", "condition kind messageParts", "condition:p kind:n messageParts:N"],
  ["Evaluate", "value", "value:p"],
  ["Return", "value", "value:p"],
  ["Break", "", ""],
  ["Continue", "", ""],
];

/** Values of arguments that were left out. */
export const DEFAULTS: Record<string, unknown> = {
  kind: "serial",
  annotations: {},
  iterVars: [],
  reads: [],
  writes: [],
  allocBuffers: [],
  matchBuffers: [],
  args: [],
  bare_: 1,
};

/** The fields of a buffer. */
export const BUFFER_FIELDS: Record<string, string> = {
  name: "n",
  dtype: "n",
  scope: "n",
  elemOffset: "?p",
  offsetFactor: "w",
  dataAlignment: "w",
  data: "?p",
  layout: "w",
  shape: "C",
  strides: "P",
};
