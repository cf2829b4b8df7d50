/** Questions about programs (TVM's `relax.analysis`), which the engine answers by numbers. */
import { allVars, boundVars, freeVars } from "./build";
import { ANALYSIS } from "./calls";
import { cross, nameOf } from "./engine";
import { IRModule, needModule } from "./module";
import { Expr, type Func, needExpr, nodeAt, type Var } from "./nodes";
import { type Binding, type BindingBlock, blockFrom, MatchCast, needBlock, SeqExpr } from "./relax";
import { asType, type Dim, dimAt, type Type, typeAt } from "./types";

type Question = keyof typeof ANALYSIS;

const ask = (what: Question, ...words: number[]) =>
  cross().user_analysis(ANALYSIS[what], Uint32Array.from(words));
const nodes = (what: Question) => (expr: Expr) =>
  Array.from(ask(what, needExpr(expr).id), (id) => nodeAt(id));
const ofExpr = (what: Question) => (expr: Expr) => dims(ask(what, needExpr(expr).id));

function dims(words: Uint32Array): Dim[] {
  const found: Dim[] = [];
  for (let at = 0; at < words.length; at += 3) found.push(dimAt(words, at));
  return found;
}

function problems(thing: IRModule | Func): string[] {
  const alone = thing instanceof Expr;
  const name = (alone && thing.attrs?.global_symbol) || "main";
  const module = alone ? new IRModule({ [String(name)]: thing }) : needModule(thing);
  return Array.from(ask("wellFormed", alone ? 1 : 0, ...module.toWords()), nameOf);
}

export const analysis = {
  freeVars,
  boundVars,
  allVars,
  allGlobalVars: nodes("allGlobalVars"),
  calledGlobalVars: nodes("calledGlobalVars"),
  definedSymbolicVars: ofExpr("definedSymbolicVars"),
  freeSymbolicVars: ofExpr("freeSymbolicVars"),
  containsImpureCall: (expr: Expr, module = new IRModule(), ownName: Expr = expr) =>
    ask("containsImpureCall", needExpr(expr).id, needExpr(ownName).id, ...module.toWords())[0] ===
    1,
  hasReshapePattern: (func: Expr) => ask("hasReshapePattern", needExpr(func).id)[0] === 1,
  getVar2val(func: Expr): Map<Var, Expr> {
    const values = new Map<Var, Expr>();
    const words = ask("blocks", needExpr(func).id);
    for (let at = 0, end = 0; at < words.length; at = end) {
      end = at + 3 + 3 * (words[at + 2] as number);
      for (const one of blockFrom(words.subarray(at, end)).bindings)
        if (!(one instanceof MatchCast)) values.set(one.var, one.value);
    }
    return values;
  },
  nameToBinding(func: Func): Record<string, Binding[]> {
    const found: Record<string, Binding[]> = Object.create(null);
    const { body } = func;
    for (const one of body instanceof SeqExpr ? body.blocks.flatMap((it) => it.bindings) : []) {
      found[one.var.nameHint] ??= [];
      found[one.var.nameHint]?.push(one);
    }
    return found;
  },
  udchain(block: BindingBlock): Map<Var, Var[]> {
    const users = new Map<Var, Var[]>();
    const words = ask("udchain", needBlock(block).id);
    for (let at = 0; at < words.length; at += 2 + (words[at + 1] as number)) {
      const end = at + 2 + (words[at + 1] as number);
      const vars = Array.from(words.subarray(at + 2, end), (id) => nodeAt(id) as Var);
      users.set(nodeAt(words[at] as number) as Var, vars);
    }
    return users;
  },
  /** Returns 0 for never, 1 and 2 for perhaps, 3 for always. */
  typeBaseCheck: (base: Type | string, derived: Type | string) =>
    ask("typeBaseCheck", asType(base).id, asType(derived).id)[0] as number,
  typeLca: (a: Type | string, b: Type | string) =>
    typeAt(ask("typeLca", asType(a).id, asType(b).id)[0] as number),
  checkWellFormed: (thing: IRModule | Func) => problems(thing).length === 0,
  /** Throws the first problem, as TVM 0.27 does; else returns true, as earlier versions did. */
  wellFormed(thing: IRModule | Func): true {
    const [first] = problems(thing);
    if (first) throw new Error(first);
    return true;
  },
};
