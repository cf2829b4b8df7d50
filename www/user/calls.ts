/**
 * Scripts speak to the engine: messages, and numbers that stand for words. Written by `cargo xtask codegen` from
 * `src/boundary`; not to be edited.
 */

/** A pass as a script describes it. */
export interface PassDesc {
  kind: DescKind;
  name: string;
  optLevel: number;
  required: readonly string[];
  /** The number of the script's function. */
  index: number;
  /** A pass of the engine, in call notation; else empty. */
  call: string;
  /** Indices of the parts, which stand before it. */
  passes: readonly number[];
  /** True if it stands in the list of passes, or is only a part of one. */
  listed: boolean;
}

/** The kind of a pass of a script. */
export type DescKind =
  /** A pass of the engine, in call notation. */
  | "built-in"
  /** Other passes, one after the other. */
  | "sequential"
  /** A function of the script that gets functions. */
  | "function"
  /** One that gets modules. */
  | "module"
  /** One that gets dataflow blocks. */
  | "dataflow-block"
  /** One that gets functions of TIR. */
  | "prim-func";

/** An instrument as a script describes it. */
export interface InstrumentDesc {
  name: string;
  /** The number of the script's instrument. */
  index: number;
  /** An instrument of the engine, in call notation; else empty. */
  call: string;
}

/** The options that passes run under. */
export interface ContextDesc {
  optLevel: number;
  required: readonly string[];
  disabled: readonly string[];
  /** Names with Python literals. */
  config: Readonly<Record<string, string>>;
  instruments: readonly InstrumentDesc[];
}

/** The kind of a node, without its contents. The words are TVM's names of the classes. */
export const KIND = {
  /** A variable. */
  Var: 0,
  /** A function of the module, by name. */
  GlobalVar: 1,
  /** An operator. */
  Op: 2,
  /** A constructor of a data type. */
  Constructor: 3,
  /** A tensor. */
  Constant: 4,
  /** A tuple. */
  Tuple: 5,
  /** A field of a tuple. */
  TupleGetItem: 6,
  /** A call. */
  Call: 7,
  /** A binding of Relay. */
  Let: 8,
  /** A branch. */
  If: 9,
  /** A function. */
  Function: 10,
  /** A match of Relay. */
  Match: 11,
  /** A new reference. */
  RefCreate: 12,
  /** The value of a reference. */
  RefRead: 13,
  /** A write to a reference. */
  RefWrite: 14,
  /** Blocks of bindings and their result. */
  SeqExpr: 15,
  /** A shape. */
  ShapeExpr: 16,
  /** A scalar. */
  PrimValue: 17,
  /** A string. */
  StringImm: 18,
  /** An element type. */
  DataTypeImm: 19,
  /** A function of the runtime. */
  ExternFunc: 20,
  /** A tensor program. */
  PrimFunc: 21,
} as const;

/** The kind of a type, before its parts. */
export const TYPE = {
  /** A tensor: element type, extents. */
  tensor: 0,
  /** A tuple: its fields. */
  tuple: 1,
  /** A function: result, number of parameters, parameters, type parameters. */
  func: 2,
  /** A reference. */
  ref: 3,
  /** A type parameter: its number and name. */
  var: 4,
  /** A data type: its name. */
  global: 5,
  /** A data type with arguments. */
  apply: 6,
  /** A type that inference is to find: its number. */
  hole: 7,
  /** Any value. */
  any: 8,
  /** A scalar: its element type. */
  prim: 9,
  /** A shape: extents. */
  shape: 10,
  /** A tensor of which not all is known: one more than the element type or 0, extents. */
  partialTensor: 11,
  /** A function of Relax: result, 1 if pure, 1 if any parameters, parameters. */
  callable: 12,
  /** A function of the runtime. */
  packedFunc: 13,
  /** A string. */
  str: 14,
  /** A type that goes by as a whole. */
  whole: 15,
  /** In rows, a tensor that is spread over devices: its type, mesh, placement. */
  distributed: 16,
} as const;

/** The kind of a pattern of a match, before its parts. */
export const CLAUSE = {
  /** Anything. */
  wildcard: 0,
  /** A variable. */
  var: 1,
  /** A constructor, its fields. */
  ctor: 2,
  /** Fields. */
  tuple: 3,
} as const;

/** The nodes of an expression that a script walks through. */
export const WALK = {
  /** All of them, children first. */
  all: 0,
  /** Its free variables. */
  free: 1,
  /** The variables that it binds. */
  bound: 2,
  /** Both. */
  vars: 3,
} as const;

/** A question about a program, with what it is about. */
export const ANALYSIS = {
  /** An expression: the functions that it names. */
  allGlobalVars: 0,
  /** An expression: the functions that it calls. */
  calledGlobalVars: 1,
  /** A function: the extents that it defines. */
  definedSymbolicVars: 2,
  /** A function: the extents that it uses and does not define. */
  freeSymbolicVars: 3,
  /**
   * An expression, the name of the function around it (or the expression again), a module: 1 if it may have a side effect apart from calling itself.
   */
  containsImpureCall: 4,
  /** A tensor program: 1 if it only reshapes. */
  hasReshapePattern: 5,
  /** An expression: its blocks. */
  blocks: 6,
  /** A block: each variable, the number of its users, and these. */
  udchain: 7,
  /** Two types: 0 to 3, from never to always. */
  typeBaseCheck: 8,
  /** Two types: the narrowest that holds both. */
  typeLca: 9,
  /** 1 for a function alone, a module: what is wrong with it, as names. */
  wellFormed: 10,
} as const;

/**
 * Something that a builder does, with its operands. A name may be missing: 0, else one more than its number.
 */
export const BUILD = {
  /** 1 for a dataflow block. */
  beginBlock: 0,
  /** One more than the block that it may be, or 0: the block. */
  endBlock: 1,
  /** A value, a name. */
  emit: 2,
  /** A value, a name. */
  emitOutput: 3,
  /** A value, a type, a name. */
  matchCast: 4,
  /** A binding. */
  emitNormalized: 5,
  /** An expression. */
  normalize: 6,
  /** A variable: one more than its value, or 0. */
  lookupBinding: 7,
  /** Parameters. */
  beginScope: 8,
  /** Begins a scope in the one that is open. */
  beginInnerScope: 9,
  /** Ends it. */
  endScope: 10,
  /** A function, its name. */
  addFunction: 11,
  /** A name, its function. */
  updateFunction: 12,
  /** The module. */
  module: 13,
  /** 1 if the open block is a dataflow block. */
  isDataflow: 14,
  /** An expression: a variable or a constant that stands for it. */
  operand: 15,
  /** A name: one that nothing has. */
  uniqueName: 16,
  /** A call, a name: the call of the tensor program that it becomes. */
  emitTE: 17,
  /** A name, attributes, 1 if pure, parameters. */
  beginFunction: 18,
  /** 1 for a dataflow block. */
  switchBlock: 19,
  /** The result, parameters. */
  emitFuncOutput: 20,
  /** One more than the function's name, or 0. */
  endFunction: 21,
  /** An expression, a name, the number of parameters, each with its value. */
  composeTE: 22,
} as const;

/** Something that is done with patterns. */
export const DPL = {
  /** One pattern and an expression. */
  match: 0,
  /** All of a context and a block. */
  matchBlock: 1,
  /** One pattern, and a function in which calls are replaced. */
  rewriteCall: 2,
  /** A context, and a function in which bindings are replaced. */
  rewriteBindings: 3,
  /** Patterns by name, and a module whose matches become functions. */
  fuse: 4,
} as const;

/** The kind of a pattern, before its parts. */
export const PATTERN = {
  /** Anything. */
  wildcard: 0,
  /** A constant. */
  const: 1,
  /** A variable: its name. */
  var: 2,
  /** A variable of a dataflow block: its name. */
  dfv: 3,
  /** A function of the module: its name. */
  gv: 4,
  /** An external function: its name. */
  extern: 5,
  /** This very expression. */
  expr: 6,
  /** A call: callee, 1 if there may be more arguments, arguments. */
  call: 7,
  /** A function: body, 1 if any parameters, parameters. */
  function: 8,
  /** A tuple: its fields. */
  tuple: 9,
  /** A tuple in any order: its fields. */
  unordered: 10,
  /** A field of a tuple: the tuple, one more than the index or 0. */
  item: 11,
  /** One of two. */
  or: 12,
  /** Both. */
  and: 13,
  /** Not that. */
  not: 14,
  /** With attributes. */
  attr: 15,
  /** With a type. */
  type: 16,
  /** With a shape. */
  shape: 17,
  /** With an element type. */
  dtype: 18,
  /** Extents. */
  extents: 19,
} as const;

/** The subject of a row of a table: each has ids of its own. */
export const SPACE = {
  /** Expressions. */
  expr: 0,
  /** Types. */
  type: 1,
  /** Scalars. */
  prim: 2,
  /** Statements. */
  stmt: 3,
  /** Scalar variables. */
  symbol: 4,
  /** Buffers. */
  buffer: 5,
  /** Attributes. */
  attrs: 6,
  /** Objects. */
  object: 7,
  /** Blocks of bindings. */
  block: 8,
  /** Patterns of a match. */
  pattern: 9,
  /** Definitions of types. */
  adt: 10,
  /** Type variables. */
  typevar: 11,
  /** Names, which are no rows: they stand in them. */
  name: 12,
} as const;
