//! Finds the scope in which each expression of a function has to be evaluated (TVM's
//! `DependencyGraph` and `CalcScope`).
//!
//! Branches, function bodies, lets and match arms open scopes. An expression belongs to the
//! innermost scope that encloses all its uses. One is *lifted* when that is not the scope of its
//! first use, in the order in which TVM meets uses.

use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Expr, ExprId, IdMap, Store};
use rustc_hash::FxHashMap;

/// A scope, by its place in the table.
pub type ScopeId = usize;

struct Scope {
    parent: ScopeId,
    level: u32,
    /// An ancestor further up, so that the ancestor at any level is found in logarithmic time.
    jump: ScopeId,
}

/// A use: the user, and the scope of it that the use is in. Slot 0 is the scope of the user itself,
/// the others those that it opens.
type Use = (ExprId, u32);

/// The scopes of everything reachable from a root.
pub struct Scopes {
    scopes: Vec<Scope>,
    of: IdMap<Expr, ScopeId>,
    opened: FxHashMap<Use, ScopeId>,
    lifted: IdMap<Expr, ()>,
}

impl Scopes {
    /// Computes the scopes of everything reachable from `root`.
    pub fn of(store: &mut Store, root: ExprId) -> Scopes {
        let mut order = post_order(store, root);
        let first = first_uses(store, root);
        // This order has every user before its operands.
        order.reverse();
        let mut result = Scopes {
            scopes: vec![Scope { parent: 0, level: 0, jump: 0 }],
            of: IdMap::new(),
            opened: FxHashMap::default(),
            lifted: IdMap::new(),
        };
        result.of.insert(root, 0);
        let mut first_scope: IdMap<Expr, ScopeId> = IdMap::new();
        for id in order {
            let Some(&scope) = result.of.get(id) else { continue };
            if first_scope.get(id).is_some_and(|first| *first != scope) && !matches!(store.expr(id), Expr::Op(_)) {
                result.lifted.insert(id, ());
            }
            for (slot, child) in uses(store, id) {
                let inner = if slot == 0 { scope } else { result.open(id, slot, scope) };
                if first.get(child) == Some(&(id, slot)) {
                    first_scope.insert(child, inner);
                }
                let common = result.of.get(child).map_or(inner, |&known| result.common(known, inner));
                result.of.insert(child, common);
            }
        }
        result
    }

    /// Returns the number of scopes.
    pub fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Returns the scope of an expression.
    pub fn get(&self, id: ExprId) -> ScopeId {
        self.of.get(id).copied().unwrap_or(0)
    }

    /// Returns the scope that an expression opens: the body of a function or let is number 1, the
    /// branches of an if are 1 and 2, the arms of a match count from 1.
    pub fn opened(&self, id: ExprId, slot: u32) -> ScopeId {
        self.opened.get(&(id, slot)).copied().unwrap_or(0)
    }

    /// True if an expression belongs further out than its first use.
    pub fn is_lifted(&self, id: ExprId) -> bool {
        self.lifted.contains(id)
    }

    fn open(&mut self, id: ExprId, slot: u32, parent: ScopeId) -> ScopeId {
        if let Some(&scope) = self.opened.get(&(id, slot)) {
            return scope;
        }
        let level = |s: ScopeId| self.scopes[s].level;
        let up = self.scopes[parent].jump;
        let further = self.scopes[up].jump;
        // Jump pointers of Myers' random-access lists: two equal jumps in a row make a longer one.
        let jump = if level(parent) - level(up) == level(up) - level(further) { further } else { parent };
        let scope = self.scopes.len();
        self.scopes.push(Scope { parent, level: level(parent) + 1, jump });
        self.opened.insert((id, slot), scope);
        scope
    }

    fn ancestor(&self, scope: ScopeId, level: u32) -> ScopeId {
        let mut scope = scope;
        while self.scopes[scope].level > level {
            let jump = self.scopes[scope].jump;
            scope = if self.scopes[jump].level >= level { jump } else { self.scopes[scope].parent };
        }
        scope
    }

    /// Returns the innermost scope that encloses both.
    fn common(&self, a: ScopeId, b: ScopeId) -> ScopeId {
        let level = self.scopes[a].level.min(self.scopes[b].level);
        let (mut a, mut b) = (self.ancestor(a, level), self.ancestor(b, level));
        while a != b {
            let (up_a, up_b) = (self.scopes[a].jump, self.scopes[b].jump);
            if up_a != up_b {
                (a, b) = (up_a, up_b);
            } else {
                (a, b) = (self.scopes[a].parent, self.scopes[b].parent);
            }
        }
        a
    }
}

/// Returns the uses that a node makes, with the slot of the scope they are in. The variable of a let
/// and the parameters of a function are used in the scope of the body.
fn uses(store: &mut Store, id: ExprId) -> Vec<(u32, ExprId)> {
    match store.expr(id) {
        Expr::Let { var, value, body } => vec![(1, store.use_var(var)), (1, value), (1, body)],
        Expr::If { cond, then, other } => vec![(0, cond), (1, then), (2, other)],
        Expr::Function(function) => {
            let function = *store.function(function);
            let params: Vec<_> = store.items(function.params).collect();
            let mut uses: Vec<_> = params.into_iter().map(|param| (1, store.use_var(param))).collect();
            uses.push((1, function.body));
            uses
        }
        Expr::Match { data, clauses, .. } => {
            let arms = store.items(clauses).zip(1..).map(|(clause, slot)| (slot, store.clause(clause).body));
            std::iter::once((0, data)).chain(arms).collect()
        }
        _ => {
            let mut uses = Vec::new();
            for_each_child(store, id, |child| uses.push((0, child)));
            uses
        }
    }
}

/// Returns the first use of each node in the order in which TVM builds its graph: the uses of a call, tuple or
/// projection count when all of them have been visited, those of other nodes one by one.
fn first_uses(store: &mut Store, root: ExprId) -> IdMap<Expr, Use> {
    enum Step {
        Visit(ExprId),
        Use(Use, ExprId),
    }
    let mut first: IdMap<Expr, Use> = IdMap::new();
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    let mut stack = vec![Step::Visit(root)];
    while let Some(step) = stack.pop() {
        match step {
            Step::Use(by, child) => {
                if !first.contains(child) {
                    first.insert(child, by);
                }
            }
            Step::Visit(id) => {
                if seen.insert(id, ()).is_some() {
                    continue;
                }
                let uses = uses(store, id);
                let flows = matches!(store.expr(id), Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. });
                if flows {
                    stack.extend(uses.iter().rev().map(|(slot, child)| Step::Use((id, *slot), *child)));
                    stack.extend(uses.iter().rev().map(|(_, child)| Step::Visit(*child)));
                } else {
                    for (slot, child) in uses.into_iter().rev() {
                        stack.push(Step::Use((id, slot), child));
                        stack.push(Step::Visit(child));
                    }
                }
            }
        }
    }
    first
}
