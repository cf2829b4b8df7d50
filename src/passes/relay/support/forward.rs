//! Rewriting calls whose arguments may stand for more than an expression, until it is asked for (TVM's `TempExpr` and
//! `ForwardRewrite`).
//!
//! A value that is not an expression yet is a variable of its own here; at the end each becomes the expression that it is
//! realised as.
//!
//! Source: `src/relay/transforms/forward_rewrite.cc`.

use crate::diag::Diagnostic;
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{Expr, ExprId, Store, VarId};
use crate::ops::build::{args, op_name};
use crate::pass::PassError;
use rustc_hash::FxHashMap;

/// The result of a rule.
pub enum Made<T> {
    /// The call stays, over realised arguments.
    Kept,
    /// An expression.
    Expr(ExprId),
    /// Something that becomes an expression later.
    Value(T),
}

/// Rules for operators over values of a kind.
pub trait Forward {
    /// A value that an expression may stand for.
    type Value: Clone;

    /// Returns the name of the rewrite.
    fn rule(&self) -> &'static str;

    /// Makes the expression of a value.
    fn realize(&self, store: &mut Store, value: &Self::Value) -> ExprId;

    /// Rewrites the call `pre` of an operator. `Err` is TVM's message.
    fn call(&mut self, store: &mut Store, pre: ExprId, args: &Args<'_, Self::Value>) -> Result<Made<Self::Value>, String>;

    /// Returns a value for an argument that is used more than once, if it is another one.
    fn shared(&mut self, store: &mut Store, value: &Self::Value) -> Option<Self::Value> {
        let _ = (store, value);
        None
    }

    /// True if [`Forward::shared`] has to be asked.
    fn counts(&self) -> bool {
        false
    }
}

/// The arguments of a call.
pub struct Args<'a, T> {
    /// Expressions; a variable stands for each value.
    pub list: &'a [ExprId],
    values: &'a FxHashMap<VarId, T>,
}

impl<T> Args<'_, T> {
    /// Returns the value that an expression stands for.
    pub fn value(&self, store: &Store, id: ExprId) -> Option<&T> {
        match store.expr(id) {
            Expr::Var(var) => self.values.get(&var),
            _ => None,
        }
    }
}

/// Rewrites a function by rules.
pub fn forward<F: Forward>(store: &mut Store, function: ExprId, rules: &mut F) -> Result<ExprId, PassError> {
    let uses = if rules.counts() { count(store, function) } else { FxHashMap::default() };
    let rule = rules.rule();
    let mut pass = Pass { rules, values: FxHashMap::default(), uses, errors: Vec::new() };
    let new = store.rewrite(rule, function, function, |store| {
        let open = rewrite(store, function, &mut pass);
        let new = rewrite(store, open, &mut Close(&mut pass));
        // Values come and go where nothing changes.
        if exprs(store, new, function, EqualOptions::default()).is_ok() { function } else { new }
    });
    if pass.errors.is_empty() { Ok(new) } else { Err(pass.errors) }
}

/// Counts the uses of each node.
fn count(store: &Store, root: ExprId) -> FxHashMap<ExprId, u32> {
    let mut uses = FxHashMap::default();
    for id in crate::ir::walk::post_order(store, root) {
        crate::ir::walk::for_each_child(store, id, |child| *uses.entry(child).or_insert(0) += 1);
    }
    uses
}

struct Pass<'a, F: Forward> {
    rules: &'a mut F,
    values: FxHashMap<VarId, F::Value>,
    uses: FxHashMap<ExprId, u32>,
    errors: PassError,
}

impl<F: Forward> Pass<'_, F> {
    /// Makes the variable that stands for a value.
    fn stand_in(&mut self, store: &mut Store, value: F::Value) -> ExprId {
        let var = store.var("value", None);
        self.values.insert(var, value);
        store.use_var(var)
    }

    /// Asks for another value of an argument that is used more than once.
    fn argument(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::Var(var) = store.expr(post) else { return post };
        if self.uses.get(&pre).copied().unwrap_or(0) < 2 {
            return post;
        }
        let Some(value) = self.values.get(&var).cloned() else { return post };
        match self.rules.shared(store, &value) {
            Some(value) => self.stand_in(store, value),
            None => post,
        }
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let (before, after) = (args(store, pre), args(store, post));
        let list: Vec<ExprId> = before.into_iter().zip(&after).map(|(pre, post)| self.argument(store, pre, *post)).collect();
        let made = match op_name(store, pre) {
            "" => Ok(Made::Kept),
            _ => self.rules.call(store, pre, &Args { list: &list, values: &self.values }),
        };
        match made {
            Ok(Made::Expr(new)) => new,
            Ok(Made::Value(value)) => self.stand_in(store, value),
            Ok(Made::Kept) if list == after => post,
            Ok(Made::Kept) => {
                let Expr::Call { callee, info, .. } = store.expr(post) else { return post };
                let list = store.list(&list);
                store.rebuild(pre, Expr::Call { callee, args: list, info }, None)
            }
            Err(message) => {
                let message = format!("{}: {message}", op_name(store, pre));
                self.errors.push(Diagnostic::error("relay-quantize", message, store.source_span(pre)));
                post
            }
        }
    }
}

impl<F: Forward> ExprMutator for Pass<'_, F> {
    fn rule(&self) -> &'static str {
        self.rules.rule()
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match (store.expr(pre), store.expr(post)) {
            (Expr::Call { .. }, Expr::Call { .. }) => self.call(store, pre, post),
            (Expr::TupleGetItem { tuple: before, .. }, Expr::TupleGetItem { tuple, index }) => {
                let tuple = self.argument(store, before, tuple);
                match store.expr(tuple) {
                    Expr::Tuple(fields) if (index as usize) < fields.len() => store.item(fields, index as usize),
                    _ => post,
                }
            }
            (Expr::Tuple(before), Expr::Tuple(fields)) => {
                let pairs: Vec<(ExprId, ExprId)> = store.items(before).zip(store.items(fields)).collect();
                let new: Vec<ExprId> = pairs.iter().map(|(pre, post)| self.argument(store, *pre, *post)).collect();
                if pairs.iter().map(|(_, post)| *post).eq(new.iter().copied()) {
                    return post;
                }
                let fields = store.list(&new);
                store.rebuild(pre, Expr::Tuple(fields), None)
            }
            _ => post,
        }
    }
}

/// Replaces the variables that stand for values.
struct Close<'c, 'a, F: Forward>(&'c mut Pass<'a, F>);

impl<F: Forward> ExprMutator for Close<'_, '_, F> {
    fn rule(&self) -> &'static str {
        self.0.rules.rule()
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        match self.0.values.get(&var) {
            Some(value) => Visit::Follow(self.0.rules.realize(store, value)),
            None => Visit::Descend,
        }
    }
}
