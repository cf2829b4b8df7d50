//! Verification: finds all errors of one version of a program, each with its span. The rules depend on the dialect:
//! [`relax`] has those of Relax, [`tir`] those of tensor programs, and this file those of Relay.
//!
//! - Scopes (TVM's `well_formed.cc`): a variable is bound once, used where it is bound, and nothing in a
//!   global function is free.
//! - Names: global functions, type definitions and constructors exist in the module.
//! - Shapes of nodes: patterns have the arity of their constructor, calls of operators that of the operator.
//! - Type definitions: the fields of their constructors are types (TVM's `kind_check.cc`).
//! - [`verify_types`]: after inference every expression has a type (TVM's `EnsureCheckedType`).
//!
//! [`crate::infer`] checks that types fit.

mod relax;
mod tir;

pub(crate) use relax::impossible_casts;

use crate::diag::{Diagnostic, Span};
use crate::infer::{KindChecker, well_formed};
use crate::ir::walk::{free_vars, post_order};
use crate::ir::{CtorId, Dialect, Expr, ExprId, Id, IdMap, Module, Name, Pattern, Store, Type, TypeId};
use crate::ops;

/// The code of an operand that has to be bound to a variable first: the program is not in A-normal form.
pub const NOT_NORMAL: &str = "relax-normal-form";

/// Returns all errors of a module, apart from types that do not fit.
pub fn verify(store: &mut Store, module: &Module) -> Vec<Diagnostic> {
    if matches!(module.dialect(), Dialect::Relax | Dialect::Tir) {
        let mut errors = relax::verify(store, module);
        errors.extend(tir::verify(store, module));
        return errors;
    }
    let mut check = Verifier { store, module, kinds: KindChecker::default(), seen: IdMap::new(), errors: Vec::new() };
    check.type_definitions();
    for &(name, function) in module.functions() {
        check.function(name, function);
    }
    check.errors
}

/// Returns expressions without a type after inference: at most one for each function.
pub fn verify_types(store: &Store, module: &Module) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for &(name, function) in module.functions() {
        let untyped = post_order(store, function).into_iter().find(|id| {
            !matches!(store.expr(*id), Expr::Op(_) | Expr::Global(_) | Expr::Ctor(_)) && store.checked_type(*id).is_none()
        });
        if let Some(id) = untyped {
            let message = format!("@{} has an expression without a type: {:?}", store.str(name), store.expr(id).kind());
            errors.push(Diagnostic::error("relay-untyped", message, store.source_span(id)));
        }
    }
    errors
}

struct Verifier<'a> {
    store: &'a Store,
    module: &'a Module,
    kinds: KindChecker,
    /// Visited nodes, so that those that functions share are visited once.
    seen: IdMap<Expr, ()>,
    errors: Vec<Diagnostic>,
}

impl Verifier<'_> {
    fn error(&mut self, code: &'static str, message: String, span: Option<Span>) {
        self.errors.push(Diagnostic::error(code, message, span));
    }

    fn type_definitions(&mut self) {
        for &(name, adt) in self.module.adts() {
            for &ctor in &self.store.adt(adt).ctors {
                for &input in &self.store.ctor(ctor).inputs {
                    let text = format!("{} of {}", self.ctor_name(ctor), self.store.str(name));
                    self.kind(input, &text, None);
                    if matches!(self.store.type_of_id(input), Type::Global(_)) {
                        let message = format!("{text} holds the name of a type definition where a type is expected");
                        self.error("relay-kind", message, None);
                    }
                }
            }
        }
    }

    fn kind(&mut self, ty: TypeId, what: &str, span: Option<Span>) {
        if let Some(message) = self.kinds.check(self.store, self.module, ty) {
            self.error("relay-kind", format!("{what}: {message}"), span);
        }
    }

    fn ctor_name(&self, ctor: CtorId) -> &str {
        self.store.str(self.store.ctor(ctor).name)
    }

    fn function(&mut self, name: Id<Name>, root: ExprId) {
        if !matches!(self.store.expr(root), Expr::Function(_)) {
            let message = format!("@{} is not a function", self.store.str(name));
            return self.error("relay-not-a-function", message, self.store.source_span(root));
        }
        self.errors.extend(well_formed(self.store, root));
        for var in free_vars(self.store, root) {
            let message =
                format!("@{} uses the variable %{}, which is not bound in it", self.store.str(name), self.store.var_name(var));
            self.error("relay-unbound-var", message, self.store.var_span(var));
        }
        for id in post_order(self.store, root) {
            if self.seen.insert(id, ()).is_none() {
                self.node(id);
            }
        }
    }

    fn node(&mut self, id: ExprId) {
        let store = self.store;
        let span = store.source_span(id);
        match store.expr(id) {
            Expr::Global(name) if self.module.function(name).is_none() => {
                self.error("relay-unbound-global", format!("there is no function called @{}", store.str(name)), span);
            }
            Expr::Ctor(ctor) => self.ctor(ctor, span),
            Expr::Call { callee, args, .. } => {
                if let Expr::Op(op) = store.expr(callee) {
                    let info = ops::info(op);
                    if info.relay_args().len() != args.len() {
                        let (expected, found) = (info.relay_args().len(), args.len());
                        let message = format!("the operator {} takes {expected} arguments, found {found}", info.name);
                        self.error("relay-arity", message, span);
                    }
                }
            }
            Expr::Match { clauses, .. } => {
                for clause in store.items(clauses) {
                    self.pattern(store.clause(clause).pattern, span);
                }
            }
            _ => {}
        }
        let mut annotations = Vec::new();
        crate::ir::walk::for_each_binder(store, id, |var| {
            annotations.extend(store.var_data(var).annotation.map(|ty| (ty, var)));
        });
        for (ty, var) in annotations {
            self.kind(ty, &format!("the type of %{}", store.var_name(var)), store.var_span(var).or(span));
        }
        if let Some(ret) = store.as_function(id).and_then(|function| function.ret) {
            self.kind(ret, "the result type of a function", span);
        }
    }

    fn ctor(&mut self, ctor: CtorId, span: Option<Span>) {
        let adt = self.store.ctor(ctor).adt;
        let known = self.module.adt(adt).is_some_and(|adt| self.store.adt(adt).ctors.contains(&ctor));
        if !known {
            let message = format!("{} is not a constructor of this module's type {}", self.ctor_name(ctor), self.store.str(adt));
            self.error("relay-unbound-type", message, span);
        }
    }

    fn pattern(&mut self, pattern: crate::ir::PatternId, span: Option<Span>) {
        let mut stack = vec![pattern];
        while let Some(pattern) = stack.pop() {
            match *self.store.pattern(pattern) {
                Pattern::Wildcard | Pattern::Var(_) => {}
                Pattern::Tuple(fields) => stack.extend(self.store.items(fields)),
                Pattern::Ctor { ctor, fields } => {
                    self.ctor(ctor, span);
                    let expected = self.store.ctor(ctor).inputs.len();
                    if expected != fields.len() {
                        let name = self.ctor_name(ctor);
                        let message = format!("the constructor {name} has {expected} fields, the pattern has {}", fields.len());
                        self.error("relay-pattern", message, span);
                    }
                    stack.extend(self.store.items(fields));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
