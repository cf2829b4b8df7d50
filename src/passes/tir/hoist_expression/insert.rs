//! Inserts hoisted statements around loops.

use super::collect::Loop;
use super::{REQUIRED, Which};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::{Rewriting, StmtMutator, copy_stmt, rewrite_func};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most statements that a function may grow to: every condition doubles the loop that it leaves. TVM knows no limit.
const MOST: usize = 200_000;

/// Makes a function with conditions and values hoisted.
pub(super) fn hoist(store: &mut Store, func: ExprId, loops: Vec<Loop>, which: Which) -> Result<ExprId, Vec<Diagnostic>> {
    let mut moved = FxHashSet::default();
    for around in &loops {
        moved.extend(around.values.iter().filter(|value| which.values & value.from != 0).map(|value| value.var));
        if which.values & REQUIRED != 0 {
            let wanted = around.conditions.iter().filter(|cond| cond.is_wanted(which));
            moved.extend(wanted.flat_map(|cond| &cond.needs));
        }
    }
    let loops = loops.into_iter().map(|around| (around.stmt, around)).collect();
    rewrite_func(store, func, &mut Hoist { loops, moved, which, made: 0 })
}

struct Hoist {
    loops: FxHashMap<StmtId, Loop>,
    /// Variables that are defined before a loop instead of in it.
    moved: FxHashSet<Id<Symbol>>,
    which: Which,
    /// The number of copied statements.
    made: usize,
}

impl StmtMutator for Hoist {
    fn rule(&self) -> &'static str {
        "hoisted"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if let Stmt::Bind { var, .. } = cx.store.stmt(id) {
            return if self.moved.contains(var) { Some(cx.store.no_op()) } else { None };
        }
        let around = self.loops.remove(&id)?;
        let mut new = cx.descend(self, id);
        for cond in around.conditions.iter().rev().filter(|cond| cond.is_wanted(self.which)) {
            let mut other = None;
            if cond.both {
                cx.store.for_each_stmt(new, |_| self.made += 1);
                if self.made > MOST {
                    cx.fail("tir-hoist", format!("hoisting conditions makes more than {MOST} statements"));
                    return None;
                }
                other = Some(copy_stmt(cx.store, new, &[]));
            }
            new = cx.store.add_stmt(Stmt::If { cond: cond.cond, then: new, other });
        }
        let mut all: Vec<StmtId> = Vec::new();
        for value in around.values.iter().filter(|value| self.moved.contains(&value.var)) {
            all.push(cx.store.add_stmt(Stmt::Bind { var: value.var, value: value.value }));
        }
        if all.is_empty() {
            return Some(new);
        }
        all.push(new);
        Some(cx.store.add_stmts(&all))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match *cx.store.prim_of_id(post) {
            PrimExpr::Let { var, body, .. } if self.moved.contains(&var) => body,
            _ => post,
        }
    }
}
