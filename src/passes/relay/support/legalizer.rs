//! Replacing calls of operators by others, by a rule for each operator.
//!
//! Source: `src/relay/transforms/legalize.cc`.

use super::emit::{Emit, known};
use super::target::Target;
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrsId, DType, Dim, Expr, ExprId, Store, TypeId};
use crate::ops::build::{args, op_name};
use crate::ops::tensor_of;
use crate::pass::PassError;

/// A rule from outside: what replaces a call with these attributes and arguments, if anything does.
pub type OpRule<'a> = &'a mut dyn FnMut(&mut Store, ExprId, Option<AttrsId>, &[ExprId]) -> Replaced;

/// A call that may be replaced.
pub struct Site<'a> {
    /// The call as it was; it has a type.
    pub pre: ExprId,
    /// The name of its operator.
    pub op: &'static str,
    /// Its attributes.
    pub attrs: Option<AttrsId>,
    /// Its arguments, rewritten.
    pub args: &'a [ExprId],
    /// The types that its arguments had, and then its own.
    pub types: &'a [TypeId],
}

impl Site<'_> {
    /// Returns the shape and element type of an argument, or of the result behind them.
    pub fn tensor(&self, store: &Store, index: usize) -> Result<(Vec<Dim>, DType), String> {
        self.types.get(index).and_then(|ty| tensor_of(store, *ty)).ok_or_else(|| format!("`{}` is not over tensors", self.op))
    }

    /// Returns the element type of an argument.
    pub fn dtype(&self, store: &Store, index: usize) -> Result<DType, String> {
        Ok(self.tensor(store, index)?.1)
    }

    /// Returns the extents of an argument, which must be known.
    pub fn shape(&self, store: &Store, index: usize) -> Result<Vec<i64>, String> {
        known(&self.tensor(store, index)?.0)
    }

    /// True if an argument has rank 0.
    pub fn is_scalar(&self, store: &Store, index: usize) -> Result<bool, String> {
        Ok(self.tensor(store, index)?.0.is_empty())
    }

    /// Returns an attribute that is a text; empty if there is none.
    pub fn text<'s>(&self, store: &'s Store, name: &str) -> &'s str {
        store.attr_str(self.attrs, name).unwrap_or_default()
    }

    /// Returns an attribute that is a list of integers; empty if there is none.
    pub fn ints(&self, store: &Store, name: &str) -> Vec<i64> {
        store.attr_ints(self.attrs, name).unwrap_or_default()
    }

    /// Returns the arguments; `Err` if they are not as many.
    pub fn inputs<const N: usize>(&self) -> Result<[ExprId; N], String> {
        self.args.try_into().map_err(|_| format!("`{}` takes {N} arguments", self.op))
    }
}

/// The replacement of a call, `None` to keep it, or TVM's message.
pub type Replaced = Result<Option<ExprId>, String>;

/// Rules for operators, by name.
pub type Rules<'a> = &'a mut dyn FnMut(&mut Emit<'_>, &Site<'_>) -> Replaced;

/// Replaces the calls in a function for which there is a rule.
pub fn legalize(
    store: &mut Store,
    function: ExprId,
    target: Option<&Target>,
    name: &'static str,
    rules: Rules<'_>,
) -> Result<ExprId, PassError> {
    let mut pass = Legalizer { target, name, rules, errors: Vec::new() };
    let new = rewrite(store, function, &mut pass);
    if pass.errors.is_empty() { Ok(new) } else { Err(pass.errors) }
}

struct Legalizer<'a> {
    target: Option<&'a Target>,
    name: &'static str,
    rules: Rules<'a>,
    errors: PassError,
}

impl ExprMutator for Legalizer<'_> {
    fn rule(&self) -> &'static str {
        self.name
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let op = op_name(store, pre);
        let (Some(call), false) = (store.call(post), op.is_empty()) else { return post };
        let parts = args(store, pre).into_iter().chain([pre]);
        let Some(types) = parts.map(|id| store.checked_type(id)).collect::<Option<Vec<TypeId>>>() else { return post };
        let (operands, span) = (args(store, post), store.source_span(pre));
        let site = Site { pre, op, attrs: call.attrs, args: &operands, types: &types };
        let replaced = match (self.rules)(&mut Emit { store: &mut *store, target: self.target }, &site) {
            Ok(Some(new)) if !matches!(store.expr(new), Expr::Call { .. }) => {
                Err("Can only replace the original operator with another call node".to_owned())
            }
            replaced => replaced,
        };
        replaced.map(|new| new.unwrap_or(post)).unwrap_or_else(|message| {
            self.errors.push(Diagnostic::error("relay-legalize", format!("{op}: {message}"), span));
            post
        })
    }
}
