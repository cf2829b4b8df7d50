//! Operators of Relax as tensor programs: the part of TVM's TOPI that the lowering of a program needs.
//!
//! An operator that has a *tensor-expression form* has a row in [`RULES`] with a function that expresses it in [`te`]: tensors
//! whose elements are expressions over those of others. [`legalize`] makes a tensor program of that and replaces the call by
//! `call_tir` (the pass *LegalizeOps* does so for every call); [`BlockBuilder::emit_te`] does it for a call under construction.
//!
//! ```
//! use passlab::build::BlockBuilder;
//! use passlab::ir::{DType, Dialect, Dim, Module, Store};
//!
//! let store = &mut Store::new();
//! let mut builder = BlockBuilder::new(&Module::of(Dialect::Relax));
//! let ty = store.tensor_type(&[Dim::Int { value: 4, bits: 64 }], DType::F32);
//! let x = store.relax_var("x", Some(ty), false);
//! let used = store.use_var(x);
//! builder.begin_block(false);
//! let sum = builder.emit_te(store, "add", &[used, used], &[], "").unwrap();
//! # assert!(store.checked_type(sum) == Some(ty));
//! let module = builder.finish().unwrap();
//! assert_eq!(module.functions().len(), 1, "a tensor program called `add`");
//! ```

mod compose;
mod conv;
mod create;
mod create_ops;
mod elementwise;
mod fast;
mod image;
mod index;
mod inspect;
mod layout;
mod linear;
mod lower;
mod manipulate;
mod nested;
mod nn;
mod norm;
mod pool;
mod pool_grad;
mod quantize;
mod reduce;
mod runtime;
mod sample;
mod scatter;
mod sort;
mod suppress;
mod te;
#[cfg(test)]
mod tests;
mod vision;

use crate::build::BlockBuilder;
use crate::ir::{AttrValue, Expr, ExprId, Id, Store, Symbol, TypeId, VarId};
use crate::ops;
pub use elementwise::folds_division;
use lower::{Lower, Lowered, Refused};
use rustc_hash::FxHashMap;

/// The lowering of an operator.
pub(crate) struct Rule {
    /// The operator, without `R.`.
    pub op: &'static str,
    /// The preferred name of the program.
    pub hint: &'static str,
    /// Builds the program.
    pub lower: fn(&mut Lower) -> Lowered,
    /// The shapes that have to be known.
    pub known: Known,
}

/// The shapes that have to be known for a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Those of arguments and result.
    All,
    /// Those of arguments: the result depends on their elements.
    Arguments,
    /// None.
    Nothing,
}

const fn rule(op: &'static str, hint: &'static str, lower: fn(&mut Lower) -> Lowered) -> Rule {
    Rule { op, hint, lower, known: Known::All }
}

/// The rules, by family.
const RULES: &[&[Rule]] = &[
    elementwise::RULES,
    create_ops::RULES,
    manipulate::RULES,
    index::RULES,
    reduce::RULES,
    linear::RULES,
    conv::RULES,
    pool::RULES,
    pool_grad::RULES,
    norm::RULES,
    nn::RULES,
    quantize::RULES,
    image::RULES,
    sample::RULES,
    inspect::RULES,
    runtime::RULES,
    scatter::RULES,
    suppress::RULES,
    vision::RULES,
    layout::RULES,
];

/// The result of legalising a call.
pub enum Legalized {
    /// The replacement, which need not be in normal form.
    New(ExprId),
    /// The call has no replacement.
    Same,
    /// TVM's message that refuses the call.
    Error(String),
}

/// Returns the rule of an operator.
fn find(op: &str) -> Option<&'static Rule> {
    RULES.iter().flat_map(|family| family.iter()).find(|rule| rule.op == op)
}

/// [`legalize`] for the operators that sort, search and scan, as programs for processors without threads. A library of
/// the runtime sorts.
pub fn dispatch(store: &mut Store, builder: &mut BlockBuilder, call: ExprId) -> Legalized {
    legalize_by(store, builder, call, &FxHashMap::default(), |op| sort::RULES.iter().find(|rule| rule.op == op), false)
}

/// [`legalize`] by faster, less exact programs for `exp`, `tanh`, `erf` and `nn.softmax`.
pub fn approximate(store: &mut Store, builder: &mut BlockBuilder, call: ExprId) -> Legalized {
    legalize_by(store, builder, call, &FxHashMap::default(), |op| fast::RULES.iter().find(|rule| rule.op == op), false)
}

/// Makes a call of a tensor program that multiplies `x` with `w`, whose last two axes it swaps; the product has type `ty`.
pub fn product_with_transposed(store: &mut Store, builder: &mut BlockBuilder, x: ExprId, w: ExprId, ty: TypeId) -> Legalized {
    let Some(op) = ops::lookup_relax("matmul") else { return Legalized::Same };
    let (callee, args) = (store.add(Expr::Op(op)), store.list(&[x, w]));
    let call = store.add_typed(Expr::Call { callee, args, info: None }, Some(ty));
    legalize_by(
        store,
        builder,
        call,
        &FxHashMap::default(),
        |op| linear::WITH_TRANSPOSED.iter().find(|rule| rule.op == op),
        false,
    )
}

/// True if an operator has a tensor-expression form.
pub fn has_te_form(op: &str) -> bool {
    find(op).is_some()
}

/// The operators that have a tensor-expression form.
pub fn te_forms() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|family| family.iter()).map(|rule| rule.op)
}

/// Returns the shapes that the rule of an operator requires; `None` for an operator without one.
pub fn rule_needs(op: &str) -> Option<Known> {
    find(op).map(|rule| rule.known)
}

/// Returns the shapes that have to be known before an operator is lowered.
pub fn needs(op: &str) -> Known {
    rule_needs(op).unwrap_or(Known::All)
}

/// Returns TVM's message for a call of an operator that has no tensor program: its operands are of a kind that TOPI does not
/// take.
pub fn unfit(store: &Store, builder: &BlockBuilder, op: &str, call: ExprId) -> Option<&'static str> {
    let args = ops::build::args(store, call);
    if matches!(op, "reshape" | "broadcast_to" | "collapse_sum_to") {
        // A variable that renames another one is not followed.
        let Expr::Var(var) = store.expr(*args.get(1)?) else { return None };
        let written = builder.lookup_binding(var).is_some_and(|value| matches!(store.expr(value), Expr::Shape(_)));
        return (!written).then_some("AssertionError: the shape is neither written out nor the value of its variable");
    }
    let info = store.tensor_info(store.checked_type(*args.first()?)?)?;
    if op == "nn.rms_norm" && norm::reads_no_sum(store, call, store.rank(&info.extents)?) {
        return Some("Check failed: shape.size() == indices.size() (1 vs. 0) : Tensor dimension mismatch in read");
    }
    elementwise::unfit(op, info.dtype?)
}

/// Replaces the typed call of an operator by a call of a tensor program. Bindings that it needs go into the current
/// block, the program into the module. `scalars` are the variables that hold symbols of the function around.
pub fn legalize(
    store: &mut Store,
    builder: &mut BlockBuilder,
    call: ExprId,
    scalars: &FxHashMap<Id<Symbol>, VarId>,
) -> Legalized {
    legalize_by(store, builder, call, scalars, find, false)
}

fn legalize_by(
    store: &mut Store,
    builder: &mut BlockBuilder,
    call: ExprId,
    scalars: &FxHashMap<Id<Symbol>, VarId>,
    find: fn(&str) -> Option<&'static Rule>,
    named_plainly: bool,
) -> Legalized {
    let name = ops::build::op_name(store, call);
    let relax = store.called_op(call).and_then(|op| ops::info(op).relax.as_ref()).map_or(name, |row| row.name);
    let (Some(rule), Some(ty)) = (find(relax), store.checked_type(call)) else { return Legalized::Same };
    let hint = if named_plainly { rule.hint.trim_start_matches("tir_") } else { rule.hint };
    if let Some(message) = unfit(store, builder, rule.op, call) {
        return Legalized::Error(message.to_owned());
    }
    let mut lower = Lower::new(store, builder, scalars, (rule.op, hint), call, ty);
    match (rule.lower)(&mut lower) {
        Ok(new) => Legalized::New(new),
        Err(Refused::Leave) => Legalized::Same,
        Err(Refused::Error(message)) => Legalized::Error(message),
    }
}

impl BlockBuilder {
    /// TVM's `emit_te`, for operators that have a tensor-expression form: binds a call of a tensor program that
    /// computes `R.op(args, attrs)` to a new variable and returns its use. The program is added to the builder's
    /// module. The error is the reason why there is no such program.
    pub fn emit_te(
        &mut self,
        store: &mut Store,
        op: &str,
        args: &[ExprId],
        attrs: &[(&str, AttrValue)],
        hint: &str,
    ) -> Result<ExprId, String> {
        let call = self.call_te(store, op, args, attrs)?;
        Ok(self.emit(store, call, hint))
    }

    /// [`BlockBuilder::emit_te`] without the binding.
    pub fn call_te(
        &mut self,
        store: &mut Store,
        op: &str,
        args: &[ExprId],
        attrs: &[(&str, AttrValue)],
    ) -> Result<ExprId, String> {
        let Some(id) = ops::lookup_relax(op) else { return Err(format!("Relax has no operator `{op}`")) };
        if !has_te_form(op) {
            return Err(format!("R.{op} has no tensor-expression form"));
        }
        let schema = ops::info(id).relax.as_ref().and_then(|row| row.attrs);
        let set = match schema {
            Some(schema) => Some(schema.complete(store, attrs).map_err(|error| format!("{error:?}"))?),
            None => None,
        };
        let attrs = set.map(|set| store.attrs(set));
        let callee = store.add(Expr::Op(id));
        let call = store.add_call(callee, args, attrs);
        self.lower_call(store, call)
    }

    /// Does the same as [`BlockBuilder::call_te`] for an existing call of an operator.
    pub fn lower_call(&mut self, store: &mut Store, call: ExprId) -> Result<ExprId, String> {
        let Some(row) = store.called_op(call).and_then(|op| ops::info(op).relax.as_ref()) else {
            return Err("a tensor program is made of a call of an operator".to_owned());
        };
        if !has_te_form(row.name) {
            return Err(format!("R.{} has no tensor-expression form", row.name));
        }
        let call = self.normalize(store, call);
        // TOPI's `exp` has this name; LegalizeOps names it `tir_exp`.
        match legalize_by(store, self, call, &FxHashMap::default(), find, true) {
            Legalized::New(new) => Ok(new),
            Legalized::Same => {
                Err(format!("R.{} cannot be lowered for these arguments: their shapes have to be known", row.name))
            }
            Legalized::Error(message) => Err(message),
        }
    }
}
