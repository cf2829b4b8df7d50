//! Rewrites statements with the facts that hold there: ranges of loops, conditions of branches (TVM's
//! `IRMutatorWithAnalyzer`, `src/arith/ir_mutator_with_analyzer.cc`).

use super::arith::{Analyzer, DEEPEST, Scope};
use super::effect::is_pure;
use super::{Rewriting, StmtMutator, math};
use crate::ir::{AttrNode, DType, Id, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::tir::binary;
use rustc_hash::FxHashSet;

/// An analyzer and the conditions that hold at the statement under way.
#[derive(Default)]
pub struct Known {
    /// The facts that hold here.
    pub analyzer: Analyzer,
    open: Vec<Scope>,
    /// The variables of loops, blocks and threads so far, with first value and number of values.
    iters: Vec<Iter>,
    /// Conditions that hold here and are about such variables.
    predicates: Vec<PrimId>,
}

/// A variable that runs: first value and number of values.
type Iter = (Id<Symbol>, (PrimId, PrimId));

/// A mutator that keeps facts.
pub trait Knowing: StmtMutator {
    /// Returns the facts at the statement under way.
    fn known(&mut self) -> &mut Known;
}

impl Known {
    /// Derives facts from the parameters of a function: extents are not negative.
    pub fn of_params(store: &mut Store, func: &PrimFunc) -> Known {
        let mut known = Known::default();
        for param in &func.params {
            let PrimParam::Buffer(buffer) = *param else { continue };
            for extent in store.buffer(buffer).shape.clone() {
                known.analyzer.mark_non_negative(store, extent);
            }
        }
        known
    }

    /// Returns a mark for [`Known::end`].
    pub fn begin(&self) -> usize {
        self.open.len()
    }

    /// Forgets the conditions that were said since `begin`.
    pub fn end(&mut self, begin: usize) {
        while self.open.len() > begin {
            if let Some(scope) = self.open.pop() {
                self.analyzer.exit(scope);
            }
        }
    }

    /// Adds a condition that holds from here on.
    pub fn holds(&mut self, store: &mut Store, cond: PrimId) {
        let scope = self.analyzer.enter(store, cond);
        self.open.push(scope);
    }

    /// The same with the facts of quotients in it: `x // 8 == 2` means that `x` is from 16 to 23.
    pub fn holds_with_quotients(&mut self, store: &mut Store, cond: PrimId) {
        self.holds(store, cond);
        for fact in quotient_facts(store, cond) {
            self.holds(store, fact);
        }
    }

    /// Adds the facts of a loop, a block or a binding of threads about its variables.
    pub fn bind_variables(&mut self, store: &mut Store, id: StmtId) {
        match store.stmt(id).clone() {
            Stmt::For(head, _) => self.bind_iter(store, head.var, head.min, head.extent),
            Stmt::Block(block) => {
                for iter in store.prim_block(block).clone().iters {
                    self.bind_iter(store, iter.var, iter.min, iter.extent);
                }
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, value, .. } => {
                let zero = store.prim_int(0, store.prim_dtype(value));
                self.bind_iter(store, var, zero, value);
            }
            _ => {}
        }
    }

    fn bind_iter(&mut self, store: &mut Store, var: Id<Symbol>, min: PrimId, extent: PrimId) {
        self.analyzer.bind_range(store, var, min, extent);
        match self.iters.iter_mut().find(|(known, _)| *known == var) {
            Some((_, range)) => *range = (min, extent),
            None => self.iters.push((var, (min, extent))),
        }
    }

    /// Returns the variables of an index with their ranges, and the condition on them besides their ranges.
    pub fn iters_of(&self, store: &mut Store, index: PrimId) -> (Vec<Iter>, Option<PrimId>) {
        let all = self.predicates.iter().copied();
        let predicate = all.reduce(|all, one| binary(store, PrimOp::And, all, one));
        let mut used = FxHashSet::default();
        for root in predicate.into_iter().chain([index]) {
            store.for_each_prim(root, &mut |_, part| {
                if let PrimExpr::Var(symbol) = part {
                    used.insert(*symbol);
                }
            });
        }
        (self.iters.iter().filter(|(var, _)| used.contains(var)).copied().collect(), predicate)
    }

    /// Notes a condition if it is about a variable that runs and reads no memory; [`Known::unnote`] takes it back.
    fn note(&mut self, store: &Store, cond: PrimId) -> usize {
        let before = self.predicates.len();
        let mut uses = false;
        store.for_each_prim(cond, &mut |_, part| {
            uses |= matches!(part, PrimExpr::Var(symbol) if self.iters.iter().any(|(var, _)| var == symbol));
        });
        if uses && is_pure(store, cond) {
            self.predicates.push(cond);
        }
        before
    }

    fn unnote(&mut self, before: usize) {
        self.predicates.truncate(before);
    }
}

/// Rewrites a choice or binding, whose operands know its condition or value; nothing for other expressions. The
/// facts are forgotten outside of it.
pub fn enter_knowing(mutator: &mut dyn Knowing, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
    if cx.store.prim_depth(id) > DEEPEST {
        return None;
    }
    let expr = cx.store.prim_rc(id);
    let (cond, then, other, is_call) = match *expr {
        PrimExpr::Call { op, ref args, .. } if args.len() == 3 && cx.store.str(op) == "if_then_else" => {
            (args[0], args[1], args[2], true)
        }
        PrimExpr::Select { cond, then, other } => (cond, then, other, false),
        PrimExpr::Let { var, value, body } => {
            let new = cx.prim(as_mutator(mutator), value);
            if is_pure(cx.store, new) {
                mutator.known().analyzer.bind(cx.store, var, new);
            }
            let body = cx.apart(|cx| cx.prim(as_mutator(mutator), body));
            return Some(cx.store.prim(PrimExpr::Let { var, value: new, body }));
        }
        _ => return None,
    };
    let new_cond = cx.prim(as_mutator(mutator), cond);
    let begin = mutator.known().begin();
    mutator.known().holds_with_quotients(cx.store, new_cond);
    let noted = if is_call { Some(mutator.known().note(cx.store, new_cond)) } else { None };
    let new_then = cx.apart(|cx| cx.prim(as_mutator(mutator), then));
    mutator.known().end(begin);
    if let Some(before) = noted {
        mutator.known().unnote(before);
    }
    let opposite = math::not(cx.store, new_cond);
    let noted = match is_call {
        true => {
            mutator.known().holds(cx.store, opposite);
            Some(mutator.known().note(cx.store, opposite))
        }
        false => {
            let opposite = mutator.known().analyzer.rewrite_simplify(cx.store, opposite);
            mutator.known().holds(cx.store, opposite);
            None
        }
    };
    let new_other = cx.apart(|cx| cx.prim(as_mutator(mutator), other));
    mutator.known().end(begin);
    if let Some(before) = noted {
        mutator.known().unnote(before);
    }
    Some(match cx.store.as_prim_int(new_cond) {
        Some(0) => new_other,
        Some(_) => new_then,
        None => {
            let mut new = [new_cond, new_then, new_other].into_iter();
            let new = expr.over(&mut |old| new.next().unwrap_or(old));
            cx.store.prim(new)
        }
    })
}

/// Rewrites the parts of a statement with the facts that it adds.
pub fn descend_knowing(mutator: &mut dyn Knowing, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
    let begin = mutator.known().begin();
    let new = match cx.store.stmt(id).clone() {
        Stmt::If { cond, then, other } => branch(mutator, cx, id, (cond, then, other)),
        Stmt::Bind { var, .. } => {
            let new = cx.descend(as_mutator(mutator), id);
            if let Stmt::Bind { value, .. } = *cx.store.stmt(new)
                && is_pure(cx.store, value)
            {
                mutator.known().analyzer.bind(cx.store, var, value);
            }
            return new;
        }
        Stmt::Assert { .. } => {
            let new = cx.descend(as_mutator(mutator), id);
            if let Stmt::Assert { cond, .. } = *cx.store.stmt(new) {
                mutator.known().holds(cx.store, cond);
            }
            return new;
        }
        Stmt::Seq(_) => return cx.descend(as_mutator(mutator), id),
        Stmt::For(head, _) => {
            mutator.known().bind_variables(cx.store, id);
            let zero = cx.store.prim_int(0, cx.store.prim_dtype(head.extent));
            let runs = binary(cx.store, PrimOp::Gt, head.extent, zero);
            mutator.known().holds_with_quotients(cx.store, runs);
            cx.descend(as_mutator(mutator), id)
        }
        _ => {
            mutator.known().bind_variables(cx.store, id);
            cx.descend(as_mutator(mutator), id)
        }
    };
    mutator.known().end(begin);
    new
}

fn as_mutator(mutator: &mut dyn Knowing) -> &mut dyn StmtMutator {
    mutator
}

/// Rewrites a branch: each side has the fact of its side, and a known condition decides.
fn branch(
    mutator: &mut dyn Knowing,
    cx: &mut Rewriting<'_>,
    id: StmtId,
    (cond, then, other): (PrimId, StmtId, Option<StmtId>),
) -> StmtId {
    let new_cond = cx.root(as_mutator(mutator), cond);
    let real = match cx.store.prim_of_id(new_cond) {
        PrimExpr::Call { op, args, .. } if cx.store.str(*op) == "likely" && args.len() == 1 => args[0],
        _ => new_cond,
    };
    let begin = mutator.known().begin();
    mutator.known().holds_with_quotients(cx.store, real);
    let noted = mutator.known().note(cx.store, real);
    cx.forget();
    let new_then = cx.visit(as_mutator(mutator), then);
    mutator.known().end(begin);
    mutator.known().unnote(noted);
    cx.forget();
    let new_other = other.map(|other| {
        let opposite = math::not(cx.store, real);
        let opposite = mutator.known().analyzer.rewrite_simplify(cx.store, opposite);
        mutator.known().holds(cx.store, opposite);
        let new = cx.visit(as_mutator(mutator), other);
        mutator.known().end(begin);
        cx.forget();
        new
    });
    match cx.store.as_prim_int(real) {
        Some(0) => new_other.unwrap_or_else(|| cx.store.no_op()),
        Some(_) => new_then,
        None if (new_cond, new_then, new_other) == (cond, then, other) => id,
        None => cx.store.rebuild_stmt(id, Stmt::If { cond: new_cond, then: new_then, other: new_other }),
    }
}

/// Derives facts about dividends from comparisons of quotients with numbers in a conjunction.
fn quotient_facts(store: &mut Store, cond: PrimId) -> Vec<PrimId> {
    let (mut facts, mut todo) = (Vec::new(), vec![cond]);
    while let Some(id) = todo.pop() {
        let expr = store.prim_rc(id);
        match &*expr {
            PrimExpr::Binary { op: PrimOp::And, a, b } => todo.extend([*b, *a]),
            PrimExpr::Call { op, args, .. }
                if store.str(*op) == "bitwise_and"
                    && args.len() == 2
                    && args.iter().all(|arg| store.prim_dtype(*arg) == DType::BOOL) =>
            {
                todo.extend([args[1], args[0]]);
            }
            PrimExpr::Binary { op, a, b } => {
                quotient_fact(store, *op, *a, *b, &mut facts);
                quotient_fact(store, op.mirrored(), *b, *a, &mut facts);
            }
            _ => {}
        }
    }
    facts
}

/// Derives a fact from `a // divisor op value`.
fn quotient_fact(store: &mut Store, op: PrimOp, quotient: PrimId, value: PrimId, facts: &mut Vec<PrimId>) {
    let PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } = *store.prim_of_id(quotient) else { return };
    let (Some(value), Some(divisor)) = (store.as_prim_int(value), store.as_prim_int(b)) else { return };
    let (Some(low), Some(high)) = (value.checked_mul(divisor), value.checked_add(1).and_then(|n| n.checked_mul(divisor))) else {
        return;
    };
    if divisor <= 0 {
        return;
    }
    let mut say = |op, bound| {
        let bound = store.prim_int(bound, store.prim_dtype(a));
        facts.push(binary(store, op, a, bound));
    };
    match op {
        PrimOp::Eq => {
            say(PrimOp::Ge, low);
            say(PrimOp::Lt, high);
        }
        PrimOp::Lt => say(PrimOp::Lt, low),
        PrimOp::Le => say(PrimOp::Lt, high),
        PrimOp::Gt => say(PrimOp::Ge, high),
        PrimOp::Ge => say(PrimOp::Ge, low),
        _ => {}
    }
}
