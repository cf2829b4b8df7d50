//! Finds let-bound values that are sure to have no effect (TVM's `PurityVisitor` in `dead_code.cc`).
//!
//! For each expression two facts: if evaluating it has no effect, and, for a function, if calling it
//! has none. Functions that come out of tuples, references, matches or parameters are assumed to
//! have effects when called.

use super::has_nonzero;
use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_child, for_each_pattern_var};
use crate::ir::{Expr, ExprId, Id, IdMap, Module, Name, Store, Type, TypeId, Var, VarId};
use crate::ops;
use crate::pass::PassError;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Calls nested deeper than this are assumed to have effects.
const MAX_CALL_DEPTH: u32 = 25;

#[derive(Clone, Copy)]
struct Purity {
    eval: bool,
    call: bool,
}

const PURE: Purity = Purity { eval: true, call: true };

/// The purity of every let-bound value of a module.
pub struct Purities {
    vars: IdMap<Var, Purity>,
}

impl Purities {
    /// Analyses the functions of a module, which must have types.
    pub fn of_module(store: &Store, module: &Module) -> Result<Purities, PassError> {
        let mut analysis = Analysis {
            store,
            module,
            vars: IdMap::new(),
            globals: FxHashMap::default(),
            memo: IdMap::new(),
            depth: 0,
            stack: Vec::new(),
        };
        for (name, function) in module.functions() {
            if !has_nonzero(store, *function, "Primitive") && !has_nonzero(store, *function, "Extern") {
                analysis.enter_global(*name, *function);
                analysis.run()?;
            }
        }
        Ok(Purities { vars: analysis.vars })
    }

    /// True if evaluating the value bound to a variable has no effect. False where it is not known.
    pub fn is_pure(&self, var: VarId) -> bool {
        self.vars.get(var).is_some_and(|p| p.eval)
    }
}

enum Step {
    Visit(ExprId),
    /// Leaves an expression whose children are done.
    Leave(ExprId),
    /// Binds the value of a let, which is done.
    Bind(ExprId),
    /// Leaves the function of a name, which is done.
    LeaveGlobal(Id<Name>, ExprId),
    /// Copies the purity of the function of that name to the expression.
    Copy(ExprId, Id<Name>),
}

struct Analysis<'a> {
    store: &'a Store,
    module: &'a Module,
    vars: IdMap<Var, Purity>,
    globals: FxHashMap<Id<Name>, Purity>,
    memo: IdMap<Expr, Purity>,
    /// The number of calls around the expression at hand.
    depth: u32,
    stack: Vec<Step>,
}

impl Analysis<'_> {
    fn run(&mut self) -> Result<(), PassError> {
        while let Some(step) = self.stack.pop() {
            match step {
                Step::Visit(id) => {
                    if !self.memo.contains(id) {
                        self.visit(id)?;
                    }
                }
                Step::Leave(id) => {
                    let purity = self.leave(id);
                    self.memo.insert(id, purity);
                }
                Step::Bind(id) => {
                    if let Expr::Let { var, value, .. } = self.store.expr(id) {
                        let purity = self.purity(value);
                        self.vars.insert(var, purity);
                    }
                }
                Step::LeaveGlobal(name, function) => {
                    let purity = self.purity(function);
                    self.globals.insert(name, purity);
                }
                Step::Copy(id, name) => {
                    self.memo.insert(id, self.globals[&name]);
                }
            }
        }
        Ok(())
    }

    /// Computes the purity of a global function; a recursive one is taken for pure meanwhile.
    fn enter_global(&mut self, name: Id<Name>, function: ExprId) {
        if let Entry::Vacant(entry) = self.globals.entry(name) {
            entry.insert(PURE);
            self.stack.push(Step::LeaveGlobal(name, function));
            self.stack.push(Step::Visit(function));
        }
    }

    fn visit(&mut self, id: ExprId) -> Result<(), PassError> {
        let store = self.store;
        match store.expr(id) {
            Expr::Constant(_) | Expr::Ctor(_) | Expr::RefCreate(_) => {
                self.memo.insert(id, PURE);
                return Ok(());
            }
            Expr::Op(op) => {
                self.memo.insert(id, Purity { eval: true, call: !ops::info(op).stateful });
                return Ok(());
            }
            Expr::Var(var) => {
                let call = self.vars.get(var).is_some_and(|p| p.call);
                self.memo.insert(id, Purity { eval: true, call });
                return Ok(());
            }
            Expr::Global(name) => {
                let Some(function) = self.module.function(name) else {
                    let text = format!("No definition for '{}'", store.str(name));
                    return Err(vec![Diagnostic::error("relay-no-such-function", text, store.source_span(id))]);
                };
                if has_nonzero(store, function, "Extern") {
                    self.memo.insert(id, Purity { eval: true, call: false });
                } else {
                    self.stack.push(Step::Copy(id, name));
                    self.enter_global(name, function);
                }
                return Ok(());
            }
            Expr::Call { .. } if self.depth >= MAX_CALL_DEPTH => {
                self.memo.insert(id, Purity { eval: false, call: self.is_first_order(id) });
                return Ok(());
            }
            Expr::Call { .. } => self.depth += 1,
            Expr::Function(function) => {
                for param in store.items(store.function(function).params) {
                    self.define(param);
                }
            }
            Expr::Let { var, value, body } => {
                // The value may be a recursive function: it is taken for pure meanwhile.
                self.vars.insert(var, PURE);
                self.stack.extend([Step::Leave(id), Step::Visit(body), Step::Bind(id), Step::Visit(value)]);
                return Ok(());
            }
            Expr::Match { clauses, .. } => {
                for clause in store.items(clauses) {
                    for_each_pattern_var(store, store.clause(clause).pattern, &mut |var| self.define(var));
                }
            }
            _ => {}
        }
        self.stack.push(Step::Leave(id));
        let first = self.stack.len();
        for_each_child(store, id, |child| self.stack.push(Step::Visit(child)));
        self.stack[first..].reverse();
        Ok(())
    }

    /// Defines a parameter or a variable of a pattern: a function that it holds is unknown.
    fn define(&mut self, var: VarId) {
        let data = self.store.var_data(var);
        let call = data.ty.or(data.annotation).is_none_or(|ty| !is_function(self.store, ty));
        self.vars.insert(var, Purity { eval: true, call });
    }

    fn purity(&self, id: ExprId) -> Purity {
        self.memo.get(id).copied().unwrap_or(Purity { eval: false, call: false })
    }

    fn is_first_order(&self, id: ExprId) -> bool {
        self.store.checked_type(id).is_none_or(|ty| !is_function(self.store, ty))
    }

    fn leave(&mut self, id: ExprId) -> Purity {
        let store = self.store;
        match store.expr(id) {
            Expr::Call { callee, args, .. } => {
                self.depth -= 1;
                let callee = self.purity(callee);
                let args = store.items(args).all(|arg| self.purity(arg).eval);
                Purity { eval: args && callee.eval && callee.call, call: self.is_first_order(id) || callee.call }
            }
            Expr::Function(function) => {
                let body = self.purity(store.function(function).body);
                Purity { eval: true, call: body.eval && body.call }
            }
            Expr::Let { var, body, .. } => {
                let value = self.vars.get(var).is_some_and(|p| p.eval);
                let body = self.purity(body);
                Purity { eval: value && body.eval, call: body.call }
            }
            Expr::If { cond, then, other } => {
                let [cond, then, other] = [cond, then, other].map(|e| self.purity(e));
                Purity { eval: cond.eval && then.eval && other.eval, call: then.call && other.call }
            }
            Expr::Tuple(fields) => Purity { eval: store.items(fields).all(|f| self.purity(f).eval), call: true },
            Expr::TupleGetItem { tuple, .. } => Purity { eval: self.purity(tuple).eval, call: self.is_first_order(id) },
            Expr::RefRead(_) => Purity { eval: false, call: self.is_first_order(id) },
            Expr::RefWrite { .. } => Purity { eval: false, call: true },
            Expr::Match { data, clauses, .. } => {
                let arms: Vec<Purity> = store.items(clauses).map(|c| self.purity(store.clause(c).body)).collect();
                Purity { eval: self.purity(data).eval && arms.iter().all(|p| p.eval), call: arms.iter().all(|p| p.call) }
            }
            _ => PURE,
        }
    }
}

fn is_function(store: &Store, ty: TypeId) -> bool {
    matches!(store.type_of_id(ty), Type::Func { .. })
}
