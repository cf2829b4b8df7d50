//! Chooses the loops worth dividing, and finds the points where conditions in them change.

use crate::ir::{AttrNode, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::{Analyzer, DEEPEST, Domains, IntSet, deduce_bound};
use crate::tir::binary;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) const HINT: &str = "pragma_loop_partition_hint";

/// Loops that may be divided: those with a hint, and those whose variable a `T.likely` is about.
#[derive(Default)]
pub(super) struct Selector {
    constant_loops: bool,
    pub candidates: FxHashSet<StmtId>,
    /// Variables with a hint.
    pub hinted: FxHashSet<Id<Symbol>>,
    /// Variables of loops around, and whether a `T.likely` names them.
    record: FxHashMap<Id<Symbol>, bool>,
    in_likely: bool,
    /// True if a statement inside must not be divided.
    fixed: bool,
}

impl Selector {
    pub fn new(constant_loops: bool) -> Selector {
        Selector { constant_loops, ..Selector::default() }
    }

    pub fn stmt(&mut self, store: &Store, id: StmtId) {
        match store.stmt(id) {
            Stmt::For(head, body) => {
                let known = [head.min, head.extent].iter().all(|prim| store.as_prim_int(*prim).is_some());
                let watched = self.begin(head.var, !known || self.constant_loops);
                [Some(head.min), Some(head.extent), head.step].into_iter().flatten().for_each(|prim| self.expr(store, prim));
                self.stmt(store, *body);
                self.end(id, head.var, watched);
            }
            Stmt::Attr { node: AttrNode::Thread { var, tag }, key, value, body } if store.str(*key) == "thread_extent" => {
                let is_block = store.str(*tag).starts_with("blockIdx");
                let wanted = is_block && (store.as_prim_int(*value).is_none() || self.constant_loops);
                let watched = self.begin(*var, wanted);
                self.expr(store, *value);
                self.stmt(store, *body);
                self.end(id, *var, watched);
            }
            Stmt::Attr { node, key, value, body } => {
                if store.str(*key) == HINT && store.as_prim_int(*value).is_some_and(|value| value != 0) {
                    let var = match node {
                        AttrNode::Thread { var, .. } => Some(*var),
                        AttrNode::Prim(prim) => match store.prim_of_id(*prim) {
                            PrimExpr::Var(var) => Some(*var),
                            _ => None,
                        },
                        AttrNode::Nothing => None,
                    };
                    self.hinted.extend(var);
                }
                self.expr(store, *value);
                self.stmt(store, *body);
            }
            Stmt::Seq(list) => {
                let before = self.fixed;
                for stmt in store.items(*list) {
                    let so_far = std::mem::replace(&mut self.fixed, before);
                    self.stmt(store, stmt);
                    self.fixed |= so_far;
                }
            }
            stmt => {
                store.for_each_prim_of(stmt, |prim| self.expr(store, prim));
                let mut inner = Vec::new();
                store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
                inner.into_iter().for_each(|stmt| self.stmt(store, stmt));
            }
        }
    }

    /// Starts recording uses of a variable, if `wanted`; a hinted one needs none. True if it is recorded.
    fn begin(&mut self, var: Id<Symbol>, wanted: bool) -> bool {
        let watched = wanted && !self.hinted.contains(&var);
        if watched {
            self.record.entry(var).or_insert(false);
        }
        watched
    }

    fn end(&mut self, id: StmtId, var: Id<Symbol>, watched: bool) {
        let used = watched && self.record.remove(&var).unwrap_or(false) && !self.fixed;
        if used || self.hinted.contains(&var) {
            self.candidates.insert(id);
        }
    }

    fn expr(&mut self, store: &Store, root: PrimId) {
        if store.prim_depth(root) > DEEPEST {
            return;
        }
        match store.prim_of_id(root) {
            PrimExpr::Call { op, .. } if store.str(*op) == "tvm_thread_allreduce" => self.fixed = true,
            PrimExpr::Call { op, args, .. } if store.str(*op) == "likely" => {
                self.in_likely = true;
                args.iter().for_each(|arg| self.expr(store, *arg));
                self.in_likely = false;
            }
            PrimExpr::Var(var) if self.in_likely => {
                if let Some(used) = self.record.get_mut(var) {
                    *used = true;
                }
            }
            node => node.for_each_child(&mut |child| self.expr(store, child)),
        }
    }
}

/// Finds ranges with known conditions: for values of the variable in the set, the condition has this value.
pub(super) struct Finder<'a> {
    pub var: Id<Symbol>,
    pub hinted: bool,
    pub hints: Domains,
    pub relax: Domains,
    /// The variables of loops around.
    pub outer: &'a FxHashSet<Id<Symbol>>,
    pub found: Vec<(PrimId, bool, IntSet)>,
}

impl Finder<'_> {
    pub fn stmt(&mut self, store: &mut Store, id: StmtId) {
        match store.stmt(id).clone() {
            Stmt::For(head, body) => {
                if [head.min, head.extent].iter().any(|prim| uses(store, *prim, &|var| self.outer.contains(&var))) {
                    return;
                }
                let set = interval(store, head.min, head.extent);
                self.within(store, head.var, set, body);
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, key, value, body } if store.str(key) == "thread_extent" => {
                let zero = store.prim_int(0, store.prim_dtype(value));
                let set = IntSet::from_range(store, zero, value);
                self.within(store, var, set, body);
            }
            stmt => {
                let mut roots = Vec::new();
                store.for_each_prim_of(&stmt, |prim| roots.push(prim));
                roots.into_iter().for_each(|prim| self.expr(store, prim));
                let mut inner = Vec::new();
                store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
                inner.into_iter().for_each(|stmt| self.stmt(store, stmt));
            }
        }
    }

    fn within(&mut self, store: &mut Store, var: Id<Symbol>, set: IntSet, body: StmtId) {
        self.hints.entry(var).or_insert(set);
        self.relax.entry(var).or_insert(set);
        self.stmt(store, body);
        self.relax.remove(&var);
        self.hints.remove(&var);
    }

    fn expr(&mut self, store: &mut Store, root: PrimId) {
        if store.prim_depth(root) > DEEPEST {
            return;
        }
        let node = store.prim_rc(root);
        match *node {
            PrimExpr::Call { op, ref args, .. } if store.str(op) == "likely" => {
                args.iter().for_each(|arg| self.condition(store, *arg));
            }
            PrimExpr::Call { op, .. } if store.str(op) == "ignore_loop_partition" => {}
            PrimExpr::Binary { op, .. } if self.hinted && op.is_logic() && !matches!(op, PrimOp::And | PrimOp::Or) => {
                self.condition(store, root);
            }
            ref node => {
                let mut children = Vec::new();
                node.for_each_child(&mut |child| children.push(child));
                children.into_iter().for_each(|child| self.expr(store, child));
            }
        }
    }

    fn condition(&mut self, store: &mut Store, cond: PrimId) {
        if !uses(store, cond, &|var| var == self.var) {
            return;
        }
        let target = store.prim(PrimExpr::Var(self.var));
        let interval = deduce_bound(store, target, cond, &self.hints, &self.relax);
        if !interval.is_nothing() {
            self.add(cond, true, interval);
        }
        let PrimExpr::Binary { op, a, b } = *store.prim_of_id(cond) else { return };
        if interval.is_nothing() && op == PrimOp::Eq {
            let [least, most] = [PrimOp::Ge, PrimOp::Le].map(|op| store.prim_binary(op, a, b));
            let least = deduce_bound(store, target, least, &self.hints, &self.relax);
            let most = deduce_bound(store, target, most, &self.hints, &self.relax);
            let both = IntSet::intersect(store, &[least, most]);
            if !both.is_nothing() {
                return self.add(cond, true, both);
            }
        }
        let inverse = match op {
            PrimOp::Lt => PrimOp::Ge,
            PrimOp::Gt => PrimOp::Le,
            PrimOp::Le => PrimOp::Gt,
            PrimOp::Ge => PrimOp::Lt,
            PrimOp::Eq => PrimOp::Ne,
            PrimOp::Ne => PrimOp::Eq,
            _ => return,
        };
        let inverse = store.prim_binary(inverse, a, b);
        let interval = deduce_bound(store, target, inverse, &self.hints, &self.relax);
        if !interval.is_nothing() {
            self.add(cond, false, interval);
        }
    }

    fn add(&mut self, cond: PrimId, value: bool, interval: IntSet) {
        match self.found.iter_mut().find(|(known, truth, _)| (*known, *truth) == (cond, value)) {
            Some((.., known)) => *known = interval,
            None => self.found.push((cond, value, interval)),
        }
    }
}

/// Returns the part of the loop in which conditions have a value, and these conditions. Nothing where there is none.
pub(super) fn common(
    store: &mut Store,
    analyzer: &mut Analyzer,
    found: &[(PrimId, bool, IntSet)],
    whole: IntSet,
    value: bool,
    hinted: bool,
) -> (IntSet, FxHashSet<PrimId>) {
    let (mut sets, mut conds) = (Vec::new(), FxHashSet::default());
    let mut inside = Vec::new();
    for (cond, _, set) in found.iter().filter(|(_, truth, _)| *truth == value) {
        if !set.meet(store, analyzer, whole).is_nothing() {
            sets.push(*set);
            conds.insert(*cond);
            inside.push((*cond, *set));
        }
    }
    let mut interval = if sets.is_empty() { IntSet::NOTHING } else { IntSet::intersect(store, &sets) };
    if interval.is_nothing() && hinted {
        let mut all = IntSet::EVERYTHING;
        conds.clear();
        for (cond, set) in inside {
            all = all.meet(store, analyzer, set);
            if all.is_nothing() {
                break;
            }
            conds.insert(cond);
            let mut simple = |end: Option<PrimId>| end.map(|end| analyzer.simplify(store, end));
            let (min, max) = (simple(all.lower()), simple(all.upper()));
            interval = IntSet {
                min: min.map_or(all.min, crate::tir::arith::End::At),
                max: max.map_or(all.max, crate::tir::arith::End::At),
            };
        }
    }
    (interval, conds)
}

/// True if an expression contains a variable that `wanted` accepts.
fn uses(store: &Store, root: PrimId, wanted: &dyn Fn(Id<Symbol>) -> bool) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, part| found |= matches!(part, PrimExpr::Var(var) if wanted(*var)));
    found
}

/// Makes the interval from the first to the last value of a loop.
pub(super) fn interval(store: &mut Store, min: PrimId, extent: PrimId) -> IntSet {
    let end = binary(store, PrimOp::Add, min, extent);
    let one = store.prim_int(1, store.prim_dtype(end));
    let last = binary(store, PrimOp::Sub, end, one);
    IntSet::between(min, last)
}
