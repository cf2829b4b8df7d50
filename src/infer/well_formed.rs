//! Scopes: every variable is bound once and used where it is bound. After TVM's `well_formed.cc`.

use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_child, for_each_pattern_var};
use crate::ir::{Expr, ExprId, IdMap, Store, Var, VarId};

enum Step {
    Enter(ExprId),
    /// Checks the value or body of a let or the body of a function. As in TVM a variable there is
    /// checked each time, and elsewhere once.
    Body(ExprId),
    /// Bind the variables of an arm, then walk its body.
    Arm(crate::ir::Clause),
    Close(VarId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Open,
    Closed,
    Free,
}

/// Returns the errors in the scopes of an expression. As in TVM free variables are allowed, and a
/// shared node counts where it is reached first.
pub fn well_formed(store: &Store, root: ExprId) -> Vec<Diagnostic> {
    check(store, root).0
}

/// Does the same, and returns the number of nodes.
pub(super) fn check(store: &Store, root: ExprId) -> (Vec<Diagnostic>, usize) {
    let mut nodes = 0;
    let mut check = Check { store, scopes: IdMap::new(), errors: Vec::new() };
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    let mut stack = vec![Step::Enter(root)];
    while let Some(step) = stack.pop() {
        match step {
            Step::Close(var) => {
                check.scopes.insert(var, Scope::Closed);
            }
            Step::Arm(clause) => {
                for_each_pattern_var(store, clause.pattern, &mut |var| {
                    check.bind(var);
                    stack.push(Step::Close(var));
                });
                stack.push(Step::Enter(clause.body));
            }
            Step::Body(id) => match store.expr(id) {
                Expr::Var(var) => check.used(id, var),
                _ => stack.push(Step::Enter(id)),
            },
            Step::Enter(id) => {
                if seen.insert(id, ()).is_some() {
                    continue;
                }
                nodes += 1;
                match store.expr(id) {
                    Expr::Var(var) => check.used(id, var),
                    Expr::Let { var, value, body } => {
                        check.bind(var);
                        stack.extend([Step::Close(var), Step::Body(body), Step::Body(value)]);
                    }
                    Expr::Function(function) => {
                        let function = *store.function(function);
                        for param in store.items(function.params) {
                            check.bind(param);
                            stack.push(Step::Close(param));
                        }
                        stack.push(Step::Body(function.body));
                    }
                    Expr::Match { data, clauses, .. } => {
                        stack.extend(store.items(clauses).rev().map(|clause| Step::Arm(*store.clause(clause))));
                        stack.push(Step::Enter(data));
                    }
                    _ => {
                        let first = stack.len();
                        for_each_child(store, id, |child| stack.push(Step::Enter(child)));
                        stack[first..].reverse();
                    }
                }
            }
        }
    }
    (check.errors, nodes)
}

struct Check<'a> {
    store: &'a Store,
    scopes: IdMap<Var, Scope>,
    errors: Vec<Diagnostic>,
}

impl Check<'_> {
    fn bind(&mut self, var: VarId) {
        if self.scopes.insert(var, Scope::Open).is_some() {
            let name = self.store.var_name(var);
            let message = format!("The variable {name} is bound more than once, this is not valid IR");
            self.errors.push(Diagnostic::error("relay-bound-twice", message, self.store.var_span(var)));
        }
    }

    fn used(&mut self, id: ExprId, var: VarId) {
        match self.scopes.get(var) {
            Some(Scope::Open | Scope::Free) => {}
            Some(Scope::Closed) => {
                let name = self.store.var_name(var);
                let message = format!("The variable {name} is used outside of its scope, this is not valid IR");
                let span = self.store.source_span(id).or_else(|| self.store.var_span(var));
                self.errors.push(Diagnostic::error("relay-out-of-scope", message, span));
            }
            None => {
                self.scopes.insert(var, Scope::Free);
            }
        }
    }
}
