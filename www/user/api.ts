/** Everything that is global in a script. */
import { analysis } from "./analysis";
import { arith } from "./arith";
import { attrsKey } from "./attrs";
import * as builders from "./build";
import { BlockBuilder } from "./builder";
import * as contexts from "./context";
import { dpl } from "./dpl";
import * as functors from "./functor";
import * as instruments from "./instrument";
import * as matches from "./match";
import * as mixed from "./mixed-mode";
import { IRModule } from "./module";
import { ExprMutator } from "./mutator";
import { hooksOf, strictNamespace } from "./names";
import * as nodes from "./nodes";
import * as pass from "./pass";
import * as passes from "./passes";
import * as relaxNodes from "./relax";
import * as relaxFunctors from "./relax-functor";
import * as rules from "./rule";
import { Span } from "./span";
import * as tirNodes from "./tir";
import { Buffer } from "./tir-buffer";
import * as tirFunctors from "./tir-functor";
import { operators } from "./tir-ops";
import * as tirRegions from "./tir-region";
import * as typeFunctors from "./type-functor";
import * as types from "./types";

builders.setSubstitute((expr, by) => {
  const mutator = new ExprMutator();
  for (const [from, to] of by) mutator.memo.set(from, to);
  return mutator.visit(expr);
});

const nodeClasses = {
  Expr: nodes.Expr,
  Var: nodes.Var,
  GlobalVar: nodes.GlobalVar,
  Op: nodes.Op,
  Constructor: nodes.Constructor,
  Constant: nodes.Constant,
  Tuple: nodes.Tuple,
  TupleGetItem: nodes.TupleGetItem,
  Call: nodes.Call,
  Let: nodes.Let,
  If: nodes.If,
  Match: matches.Match,
  Clause: matches.Clause,
  RefCreate: nodes.RefCreate,
  RefRead: nodes.RefRead,
  RefWrite: nodes.RefWrite,
  PatternWildcard: matches.PatternWildcard,
  PatternVar: matches.PatternVar,
  PatternConstructor: matches.PatternConstructor,
  PatternTuple: matches.PatternTuple,
};

const relaxClasses = {
  DataflowVar: nodes.DataflowVar,
  SeqExpr: relaxNodes.SeqExpr,
  ShapeExpr: relaxNodes.ShapeExpr,
  PrimValue: relaxNodes.PrimValue,
  StringImm: relaxNodes.StringImm,
  DataTypeImm: relaxNodes.DataTypeImm,
  ExternFunc: relaxNodes.ExternFunc,
  PrimFunc: relaxNodes.PrimFunc,
  VarBinding: relaxNodes.VarBinding,
  MatchCast: relaxNodes.MatchCast,
  BindingBlock: relaxNodes.BindingBlock,
  DataflowBlock: relaxNodes.DataflowBlock,
};

const relaxTypes = {
  AnyType: types.AnyType,
  PrimType: types.PrimType,
  ShapeType: types.ShapeType,
  PackedFuncType: types.PackedFuncType,
  StringType: types.StringType,
};

const typeClasses = {
  Any: types.Any,
  Type: types.Type,
  TensorType: types.TensorType,
  TupleType: types.TupleType,
  FuncType: types.FuncType,
  RelayRefType: types.RelayRefType,
  TypeVar: types.TypeVar,
  GlobalTypeVar: types.GlobalTypeVar,
  TypeCall: types.TypeCall,
};

const functorClasses = {
  ExprFunctor: functors.ExprFunctor,
  ExprVisitor: functors.ExprVisitor,
  ExprMutator,
  MixedModeVisitor: mixed.MixedModeVisitor,
  MixedModeMutator: mixed.MixedModeMutator,
  TypeVisitor: typeFunctors.TypeVisitor,
  TypeMutator: typeFunctors.TypeMutator,
  postOrderVisit: mixed.postOrderVisit,
  postOrderRewrite: mixed.postOrderRewrite,
  expandANormalForm: mixed.expandANormalForm,
};

const tools = {
  parseExpr: builders.parseExpr,
  parseModule: builders.parseModule,
  parseType: builders.parseType,
  text: builders.text,
  freeVars: builders.freeVars,
  boundVars: builders.boundVars,
  allVars: builders.allVars,
  structuralEqual: builders.structuralEqual,
  inferType: builders.inferType,
  evaluate: builders.evaluate,
  bind: builders.bind,
  attrsKey,
  rule: rules.rule,
  match: rules.match,
  rewrite: rules.rewrite,
  rulePass: rules.rulePass,
};

const passApi = {
  Pass: pass.Pass,
  ModulePass: pass.ModulePass,
  FunctionPass: pass.FunctionPass,
  DataflowBlockPass: pass.DataflowBlockPass,
  PrimFuncPass: pass.PrimFuncPass,
  Sequential: passes.Sequential,
  modulePass: passes.modulePass,
  functionPass: passes.functionPass,
  dataflowBlockPass: passes.dataflowBlockPass,
  primFuncPass: passes.primFuncPass,
  sequential: passes.sequential,
  passInstrument: instruments.passInstrument,
  PassContext: contexts.PassContext,
  Diagnostic: contexts.Diagnostic,
  Span,
  PassTimingInstrument: instruments.PassTimingInstrument,
  instrument: instruments.instrument,
  transform: passes.transform,
};

hooksOf(
  functors.ExprFunctor,
  functors.ExprVisitor,
  ExprMutator,
  mixed.MixedModeVisitor,
  mixed.MixedModeMutator,
  relaxFunctors.RelaxExprVisitor,
  relaxFunctors.RelaxExprMutator,
  relaxFunctors.DataflowMutator,
  tirFunctors.StmtExprVisitor,
  tirFunctors.StmtExprMutator,
);

const relay = builders.namespace({
  ...nodeClasses,
  ...typeClasses,
  Function: nodes.Func,
  var: builders.variable,
  const: builders.constant,
  op: builders.op,
  transform: passes.transforms.relay,
  _transform: passes.transforms.relay,
});

const relax = builders.namespace({
  ...nodeClasses,
  ...relaxClasses,
  ...typeClasses,
  ...relaxTypes,
  // The names that types had before TVM 0.26.
  TensorStructInfo: types.TensorType,
  ShapeStructInfo: types.ShapeType,
  ObjectStructInfo: types.AnyType,
  PrimStructInfo: types.PrimType,
  TupleStructInfo: types.TupleType,
  FuncStructInfo: types.FuncType,
  DynTensorType: types.DynTensorType,
  MatchShape: relaxNodes.MatchCast,
  Function: nodes.Func,
  BlockBuilder,
  ExprVisitor: relaxFunctors.RelaxExprVisitor,
  ExprMutatorBase: ExprMutator,
  ExprMutator: relaxFunctors.RelaxExprMutator,
  DataflowMutator: relaxFunctors.DataflowMutator,
  callTIR: relaxNodes.callTIR,
  callDPSPacked: relaxNodes.callDPSPacked,
  callPacked: relaxNodes.callPacked,
  analysis,
  dpl,
  const: builders.constant,
  op: builders.op,
  transform: passes.transforms.relax,
});

/** Makes a class that can be called without `new`, as nodes are in Python. */
function callable<T extends object>(type: T): T {
  return new Proxy(type, { apply: (target, _, args) => Reflect.construct(target as never, args) });
}

const tirParts: Record<string, unknown> = {
  ...tirNodes.classes,
  Buffer: Buffer,
  BufferRegion: tirRegions.BufferRegion,
  MatchBufferRegion: tirRegions.MatchBufferRegion,
  Range: tirRegions.Range,
  IterVar: tirRegions.IterVar,
  PrimFunc: relaxNodes.PrimFunc,
};

/** The inside of tensor programs, and passes over them, under TVM's names; any other name is an error. */
const tir = strictNamespace("tir", {
  ...Object.fromEntries(
    Object.entries(tirParts).map(([name, type]) => [name, callable(type as object)]),
  ),
  Stmt: tirNodes.Stmt,
  PrimExpr: tirNodes.TirExpr,
  ...operators,
  StmtExprVisitor: tirFunctors.StmtExprVisitor,
  StmtExprMutator: tirFunctors.StmtExprMutator,
  postOrderVisit: tirFunctors.postOrderVisit,
  preOrderVisit: tirFunctors.preOrderVisit,
  irTransform: tirFunctors.irTransform,
  substitute: tirFunctors.substitute,
  transform: passes.transforms.tir,
});

export const API_OBJECTS: Record<string, unknown> = {
  ...nodeClasses,
  ...relaxClasses,
  ...relaxTypes,
  Func: nodes.Func,
  ...typeClasses,
  ...functorClasses,
  ...tools,
  ...passApi,
  IRModule,
  op: builders.op,
  call: builders.call,
  variable: builders.variable,
  constant: builders.constant,
  relay,
  relax,
  tir,
  arith: strictNamespace("arith", arith),
  BlockBuilder,
};
