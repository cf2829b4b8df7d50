/** Everything that is global in a script. */
import { attrsKey } from "./attrs";
import * as builders from "./build";
import * as functors from "./functor";
import { IRModule } from "./module";
import * as nodes from "./nodes";
import * as passes from "./passes";
import * as rules from "./rule";
import * as typeFunctors from "./type-functor";
import * as types from "./types";

builders.setSubstitute((expr, by) => {
  const mutator = new functors.ExprMutator();
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
  Match: nodes.Match,
  Clause: nodes.Clause,
  RefCreate: nodes.RefCreate,
  RefRead: nodes.RefRead,
  RefWrite: nodes.RefWrite,
  PatternWildcard: nodes.PatternWildcard,
  PatternVar: nodes.PatternVar,
  PatternConstructor: nodes.PatternConstructor,
  PatternTuple: nodes.PatternTuple,
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
  ExprMutator: functors.ExprMutator,
  MixedModeVisitor: functors.MixedModeVisitor,
  MixedModeMutator: functors.MixedModeMutator,
  TypeVisitor: typeFunctors.TypeVisitor,
  TypeMutator: typeFunctors.TypeMutator,
  postOrderVisit: functors.postOrderVisit,
  postOrderRewrite: functors.postOrderRewrite,
  expandANormalForm: functors.expandANormalForm,
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
  modulePass: passes.modulePass,
  functionPass: passes.functionPass,
  dataflowBlockPass: passes.dataflowBlockPass,
  sequential: passes.sequential,
  passInstrument: passes.passInstrument,
  PassContext: passes.PassContext,
  PassTimingInstrument: passes.PassTimingInstrument,
  transform: passes.transform,
};

const relay = builders.namespace({
  ...nodeClasses,
  ...typeClasses,
  Function: nodes.Func,
  var: builders.variable,
  const: builders.constant,
  op: builders.op,
  transform: passes.transform,
});

export const API_OBJECTS: Record<string, unknown> = {
  ...nodeClasses,
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
};
