//! Finds the conditions and values that can leave each loop.

use super::{BIND, BOOLEAN, IF_EXPRESSION, IF_STATEMENT, LET_EXPRESSION, REQUIRED, USING_BLOCK_VAR, Which};
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::DEEPEST;
use crate::tir::effect::is_pure;
use rustc_hash::{FxHashMap, FxHashSet};

/// A condition that does not change in a loop.
pub(super) struct Condition {
    pub cond: PrimId,
    /// Its source, a bit of `hoisted_conditionals`.
    from: i64,
    uses_block_var: bool,
    /// The variables that it needs.
    pub needs: FxHashSet<Id<Symbol>>,
    /// True if there is an `else` branch.
    pub both: bool,
}

impl Condition {
    pub fn is_wanted(&self, which: Which) -> bool {
        which.conditions & self.from != 0
            && (self.needs.is_empty() || which.values & (REQUIRED | BIND) != 0)
            && (which.conditions & USING_BLOCK_VAR != 0 || !self.uses_block_var)
    }
}

/// A value that does not change in a loop.
pub(super) struct Value {
    pub var: Id<Symbol>,
    pub value: PrimId,
    /// Its source, a bit of `hoisted_let_bindings`.
    pub from: i64,
}

/// The conditions and values that can leave a loop or the launch of threads.
pub(super) struct Loop {
    pub stmt: StmtId,
    var: Id<Symbol>,
    is_block_var: bool,
    pub values: Vec<Value>,
    pub conditions: Vec<Condition>,
    /// True if its body is a sequence of several statements: then nothing leaves it.
    in_sequence: bool,
}

/// Returns all loops and launches of a body, inner ones first.
pub(super) fn loops(store: &Store, body: StmtId, which: Which) -> Result<Vec<Loop>, Vec<Diagnostic>> {
    let mut collector = Collector {
        store,
        which,
        active: Vec::new(),
        done: Vec::new(),
        block_vars: FxHashSet::default(),
        loops_of: FxHashMap::default(),
        needs_of: FxHashMap::default(),
        error: None,
    };
    collector.stmt(body);
    match collector.error {
        Some(error) => Err(vec![error]),
        None => Ok(collector.done),
    }
}

struct Collector<'a> {
    store: &'a Store,
    which: Which,
    active: Vec<Loop>,
    done: Vec<Loop>,
    block_vars: FxHashSet<Id<Symbol>>,
    /// The loops that the value of a variable depends on, also through others.
    loops_of: FxHashMap<Id<Symbol>, FxHashSet<Id<Symbol>>>,
    /// The variables that it depends on.
    needs_of: FxHashMap<Id<Symbol>, FxHashSet<Id<Symbol>>>,
    error: Option<Diagnostic>,
}

impl Collector<'_> {
    fn stmt(&mut self, id: StmtId) {
        let store = self.store;
        match store.stmt(id) {
            Stmt::For(head, body) => {
                self.enter(id, head.var, false);
                [Some(head.min), Some(head.extent), head.step].into_iter().flatten().for_each(|prim| self.expr(prim));
                self.stmt(*body);
                self.leave();
            }
            Stmt::Attr { node, value, body, .. } => {
                let var = match *node {
                    AttrNode::Thread { var, .. } => Some(var),
                    AttrNode::Prim(prim) => match *store.prim_of_id(prim) {
                        PrimExpr::Var(var) => Some(var),
                        _ => None,
                    },
                    AttrNode::Nothing => None,
                };
                if let Some(var) = var {
                    self.block_vars.insert(var);
                    self.enter(id, var, true);
                }
                self.expr(*value);
                self.stmt(*body);
                if let Some(var) = var {
                    self.leave();
                    self.block_vars.remove(&var);
                }
            }
            Stmt::Bind { var, value } => {
                self.value(*var, *value, BIND);
                self.expr(*value);
            }
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(*list).collect();
                let others = stmts.iter().filter(|stmt| !matches!(store.stmt(**stmt), Stmt::Bind { .. })).count();
                if others > 1
                    && let Some(around) = self.active.last_mut()
                {
                    around.in_sequence = true;
                }
                stmts.iter().for_each(|stmt| self.stmt(*stmt));
                for stmt in stmts {
                    if let Stmt::Bind { var, .. } = store.stmt(stmt) {
                        self.loops_of.remove(var);
                        self.needs_of.remove(var);
                    }
                }
            }
            Stmt::If { cond, then, other } => {
                self.condition(*cond, IF_STATEMENT, other.is_some());
                self.expr(*cond);
                self.stmt(*then);
                other.iter().for_each(|other| self.stmt(*other));
            }
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                for iter in &block.iters {
                    iter.value.iter().for_each(|value| self.expr(*value));
                }
                block.predicate.iter().for_each(|predicate| self.expr(*predicate));
                block.init.iter().for_each(|init| self.stmt(*init));
                self.stmt(block.body);
            }
            stmt => {
                store.for_each_prim_of(stmt, |prim| self.expr(prim));
                stmt.nested().into_iter().flatten().for_each(|inner| self.stmt(inner));
            }
        }
    }

    fn enter(&mut self, stmt: StmtId, var: Id<Symbol>, is_block_var: bool) {
        let (values, conditions) = (Vec::new(), Vec::new());
        self.active.push(Loop { stmt, var, is_block_var, values, conditions, in_sequence: false });
    }

    fn leave(&mut self) {
        self.done.extend(self.active.pop());
    }

    fn expr(&mut self, root: PrimId) {
        let store = self.store;
        if store.prim_depth(root) > DEEPEST {
            return;
        }
        match store.prim_of_id(root) {
            PrimExpr::Binary { op: PrimOp::And | PrimOp::Or, a, b } => {
                self.condition(*a, BOOLEAN, true);
                self.condition(*b, BOOLEAN, true);
                self.expr(*a);
                self.expr(*b);
            }
            PrimExpr::Let { var, value, body } => {
                self.value(*var, *value, LET_EXPRESSION);
                self.expr(*value);
                self.expr(*body);
                self.loops_of.remove(var);
                self.needs_of.remove(var);
            }
            PrimExpr::Call { op, args, .. } => {
                if store.str(*op) == "if_then_else"
                    && let Some(cond) = args.first()
                {
                    self.condition(*cond, IF_EXPRESSION, true);
                }
                args.iter().for_each(|arg| self.expr(*arg));
            }
            node => node.for_each_child(&mut |child| self.expr(child)),
        }
    }

    fn uses(&self, root: PrimId, mut found: impl FnMut(Id<Symbol>) -> bool) -> bool {
        let mut any = false;
        self.store.for_each_prim(root, &mut |_, part| any |= matches!(part, PrimExpr::Var(var) if found(*var)));
        any
    }

    /// Returns the variables that an expression needs, also through others.
    fn needs(&self, root: PrimId) -> FxHashSet<Id<Symbol>> {
        let mut needs = FxHashSet::default();
        self.uses(root, |var| {
            if let Some(further) = self.needs_of.get(&var) {
                needs.insert(var);
                needs.extend(further);
            }
            false
        });
        needs
    }

    fn condition(&mut self, cond: PrimId, from: i64, both: bool) {
        if !is_pure(self.store, cond) {
            return;
        }
        let Some(at) = self.destination(cond) else { return };
        if self.active[at].in_sequence {
            return;
        }
        let uses_block_var = self.uses(cond, |var| self.block_vars.contains(&var));
        let needs = self.needs(cond);
        self.active[at].conditions.push(Condition { cond, from, uses_block_var, needs, both });
    }

    fn value(&mut self, var: Id<Symbol>, value: PrimId, from: i64) {
        if self.loops_of.contains_key(&var) {
            let name = self.store.str(self.store.symbol(var).name);
            let message = format!("Multiple nested definitions of variable {name}");
            self.error.get_or_insert_with(|| Diagnostic::error("tir-undefined", message, None));
            return;
        }
        if let Some(at) = self.destination(value)
            && !self.active[at].in_sequence
        {
            self.active[at].values.push(Value { var, value, from });
        }
        let mut loops = FxHashSet::default();
        self.uses(value, |used| {
            if self.active.iter().any(|around| around.var == used) {
                loops.insert(used);
            } else if let Some(further) = self.loops_of.get(&used) {
                loops.extend(further);
            }
            false
        });
        let needs = self.needs(value);
        self.loops_of.insert(var, loops);
        self.needs_of.insert(var, needs);
    }

    /// Returns the outermost loop that an expression can leave, having left all inside of it.
    fn destination(&self, expr: PrimId) -> Option<usize> {
        let blocks = self.which.conditions & USING_BLOCK_VAR != 0;
        for (at, around) in self.active.iter().enumerate().rev() {
            let depends =
                |var: Id<Symbol>| var == around.var || self.loops_of.get(&var).is_some_and(|loops| loops.contains(&around.var));
            if around.in_sequence || self.uses(expr, depends) || (!blocks && around.is_block_var) {
                return Some(at + 1).filter(|inner| *inner < self.active.len());
            }
        }
        if self.active.is_empty() { None } else { Some(0) }
    }
}
