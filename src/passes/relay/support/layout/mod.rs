//! Rewriting calls into other layouts, with `layout_transform` between them.
//!
//! A call is replaced by one over arguments in other layouts, and its result is kept with its old and its new layout.
//! For the next call [`mod@infer`] tells which layouts it takes; if they differ from those at hand, `layout_transform`
//! is inserted, once for each value. A call without a rule gets its arguments in their old layouts.
//!
//! Source: `src/relay/transforms/transform_layout.h`, `forward_rewrite.cc`.

mod arrange;
mod broadcast;
mod infer;

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{AttrValue, AttrsId, Expr, ExprId, Store, Type, TypeId, VarId};
use crate::ops::build::{args, call_with, ints, op_name, with_attrs};
use crate::ops::layout::{Layout, LayoutAxis};
use crate::pass::PassError;
use infer::{Infer, Inferred, Known, infer, primal_rank};
use rustc_hash::FxHashMap;

/// A call that may be replaced by another one.
pub struct Site<'a> {
    /// The call as it was; it has a type.
    pub pre: ExprId,
    /// The name of its operator.
    pub op: &'static str,
    /// Its attributes, with those that hold layouts corrected.
    pub attrs: Option<AttrsId>,
    /// Its arguments in the layouts that they have now.
    pub args: &'a [ExprId],
    /// The types that its arguments had.
    pub types: &'a [TypeId],
}

/// Says which calls get other layouts.
pub trait Layouts {
    /// Returns the name of the rewrite.
    fn rule(&self) -> &'static str;

    /// Returns the call that takes the place of one; `None` leaves it as it is. `Err` is TVM's message.
    fn replaced(&mut self, store: &mut Store, site: &Site) -> Result<Option<ExprId>, String>;
}

/// Rewrites a function whose calls `layouts` replaces, and what is between them.
pub fn relayout(store: &mut Store, function: ExprId, layouts: &mut dyn Layouts) -> Result<ExprId, PassError> {
    let rule = layouts.rule();
    let mut pass =
        Relayout { layouts, values: FxHashMap::default(), transforms: FxHashMap::default(), changed: false, errors: Vec::new() };
    // The operators between two layouts change together, so the whole function is one rewrite.
    let new = store.rewrite(rule, function, function, |store| {
        let open = rewrite(store, function, &mut pass);
        if pass.changed { rewrite(store, open, &mut Close(&mut pass)) } else { function }
    });
    if pass.errors.is_empty() { Ok(new) } else { Err(pass.errors) }
}

/// The attributes as TVM's Python makes them: padding for the end of each axis too.
pub fn with_padding(store: &mut Store, attrs: Option<AttrsId>) -> Option<AttrsId> {
    let Some(both) = store.attr_ints(attrs, "padding").filter(|padding| matches!(padding.len(), 2 | 3)) else { return attrs };
    let both = [&both[..], &both[..]].concat();
    attrs.map(|attrs| with_attrs(store, attrs, &[("padding", ints(&both))]))
}

/// A value in a new layout.
struct Value {
    value: ExprId,
    old: Layout,
    new: Layout,
}

struct Relayout<'a> {
    layouts: &'a mut dyn Layouts,
    /// The values in new layouts, by the variables that stand for them meanwhile.
    values: FxHashMap<VarId, Value>,
    /// Values transformed from one layout to another.
    transforms: FxHashMap<(ExprId, String, String), ExprId>,
    /// True if the function has changed.
    changed: bool,
    errors: PassError,
}

impl ExprMutator for Relayout<'_> {
    fn rule(&self) -> &'static str {
        self.layouts.rule()
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::TupleGetItem { tuple, index } => match store.expr(tuple) {
                Expr::Tuple(fields) if (index as usize) < fields.len() => {
                    let was_tuple = |tuple| matches!(store.expr(tuple), Expr::Tuple(_));
                    self.changed |= matches!(store.expr(pre), Expr::TupleGetItem { tuple, .. } if was_tuple(tuple));
                    store.item(fields, index as usize)
                }
                _ => post,
            },
            Expr::Call { .. } => match self.call(store, pre, post) {
                Ok(new) => new.unwrap_or(post),
                Err(message) => {
                    self.errors.push(Diagnostic::error("relay-layout", message, store.source_span(pre)));
                    post
                }
            },
            _ => post,
        }
    }
}

/// Replaces the variables that stand for values by those values in their old layouts.
struct Close<'c, 'a>(&'c mut Relayout<'a>);

impl ExprMutator for Close<'_, '_> {
    fn rule(&self) -> &'static str {
        self.0.layouts.rule()
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        let Some(Value { value, old, new }) = self.0.values.get(&var) else { return Visit::Descend };
        let (value, old, new) = (*value, Some(old.clone()), Some(new.clone()));
        match self.0.transform(store, value, &new, &old) {
            Ok(value) => Visit::Follow(value),
            Err(message) => {
                self.0.errors.push(Diagnostic::error("relay-layout", message, store.source_span(value)));
                Visit::Keep
            }
        }
    }
}

impl Relayout<'_> {
    /// Rebuilds the call in its inferred layouts; `None` when they are not known.
    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<Option<ExprId>, String> {
        let op = op_name(store, pre);
        let types: Option<Vec<TypeId>> = args(store, pre).into_iter().map(|arg| store.checked_type(arg)).collect();
        let (Some(types), Some(data)) = (types.filter(|_| !op.is_empty()), store.call(pre)) else { return Ok(None) };
        // The arguments, with the fields of tuples one by one.
        let (mut values, mut before, mut now): (Vec<ExprId>, Vec<Known>, Vec<Known>) = Default::default();
        let given = args(store, post);
        for arg in &given {
            let items: Vec<ExprId> = match store.expr(*arg) {
                Expr::Tuple(fields) => store.items(fields).collect(),
                _ => vec![*arg],
            };
            for item in items {
                let known = match store.expr(item) {
                    Expr::Var(var) => self.values.get(&var),
                    _ => None,
                };
                values.push(known.map_or(item, |known| known.value));
                before.push(known.map(|known| known.old.clone()));
                now.push(known.map(|known| known.new.clone()));
            }
        }
        let asked = Infer { store: &mut *store, op, attrs: data.attrs, new: None, old: &before, types: &types };
        let Some(first) = answer(asked, values.len()) else { return Ok(None) };
        let or_first = |layouts: &[Known]| -> Vec<Known> {
            layouts.iter().zip(&first.inputs).map(|(layout, first)| layout.clone().or_else(|| first.clone())).collect()
        };
        let (new, old) = (or_first(&now), or_first(&before));
        let now_args = Self::gathered(store, &given, values.iter().copied());
        let site = Site { pre, op, attrs: first.attrs, args: &now_args, types: &types };
        let replaced = self.layouts.replaced(store, &site)?;
        let (mut target, mut given) = ((op, first.attrs), given);
        if let Some(call) = replaced {
            let Some(data) = store.call(call) else {
                return Err("Can only replace the original operator with another call node".to_owned());
            };
            target = (op_name(store, call), data.attrs);
            if target.0.is_empty() {
                return Ok(None);
            }
            let new_args = args(store, call);
            if new_args != now_args {
                self.changed = true;
                values.clear();
                for arg in &new_args {
                    match store.expr(*arg) {
                        Expr::Tuple(fields) => values.extend(store.items(fields)),
                        _ => values.push(*arg),
                    }
                }
                given = new_args;
            }
        }
        if values.len() != old.len() {
            return Err("The number of input nodes should keep the same during alter_op_layout".to_owned());
        }
        let (op, attrs) = target;
        let asked = Infer { store: &mut *store, op, attrs, new: Some(&new), old: &old, types: &types };
        let Some(second) = answer(asked, values.len()) else { return Ok(None) };
        if second.outputs.len() != first.outputs.len() {
            return Err("The number of output nodes should keep the same during alter_op_layout".to_owned());
        }
        let mut changed = Vec::with_capacity(values.len());
        for (at, value) in values.into_iter().enumerate() {
            let mut value = value;
            if first.inputs[at] == before[at] {
                // One transform does both changes.
                value = self.transform(store, value, &now[at], &second.inputs[at])?;
            } else {
                if before[at].is_some() {
                    value = self.transform(store, value, &now[at], &before[at])?;
                }
                value = self.transform(store, value, &first.inputs[at], &second.inputs[at])?;
            }
            changed.push(value);
        }
        let operands = Self::gathered(store, &given, changed);
        self.changed |= op != op_name(store, pre) || second.attrs != data.attrs;
        let callee = store.add(Expr::Op(crate::ops::op(op)));
        let operands = store.list(&operands);
        let info = store.add_call_info(second.attrs, &[]);
        let new = store.rebuild(pre, Expr::Call { callee, args: operands, info }, None);
        Ok(self.results(store, pre, new, first.outputs.into_iter().zip(second.outputs)))
    }

    /// Remembers the layouts of a call's results, before and after, and returns what stands for them; `None` if one of them is
    /// not known.
    fn results(
        &mut self,
        store: &mut Store,
        pre: ExprId,
        new: ExprId,
        layouts: impl Iterator<Item = (Known, Known)>,
    ) -> Option<ExprId> {
        let is_tuple = store.checked_type(pre).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tuple(_)));
        let mut results = Vec::new();
        for (index, (old, now)) in layouts.enumerate() {
            let (old, now) = (old?, now?);
            let value = match is_tuple {
                true => store.add(Expr::TupleGetItem { tuple: new, index: index as u32 }),
                false => new,
            };
            let var = store.var("value", None);
            self.values.insert(var, Value { value, old, new: now });
            results.push(store.use_var(var));
        }
        Some(match results[..] {
            [one] if !is_tuple => one,
            _ => store.add_tuple(&results),
        })
    }

    /// Returns a call's arguments over what replaces its values, which has the fields of tuples one by one.
    fn gathered(store: &mut Store, args: &[ExprId], values: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
        let mut values = values.into_iter();
        let mut over = |arg: &ExprId| match store.expr(*arg) {
            Expr::Tuple(fields) => {
                let fields: Vec<ExprId> = values.by_ref().take(fields.len()).collect();
                let fields = store.list(&fields);
                store.rebuild(*arg, Expr::Tuple(fields), None)
            }
            _ => values.next().unwrap_or(*arg),
        };
        args.iter().map(&mut over).collect()
    }

    /// Transforms a value from one layout to another.
    fn transform(&mut self, store: &mut Store, value: ExprId, from: &Known, to: &Known) -> Result<ExprId, String> {
        let (Some(from), Some(to)) = (from, to) else {
            return if from == to { Ok(value) } else { Err("there are undefined layouts".to_owned()) };
        };
        if from == to {
            return Ok(value);
        }
        let key = (value, from.to_string(), to.to_string());
        if let Some(known) = self.transforms.get(&key) {
            return Ok(*known);
        }
        let new = transformed(store, value, from, to)?;
        self.changed |= new != value;
        self.transforms.insert(key, new);
        Ok(new)
    }
}

/// Infers the layouts; `None` unless the result covers all arguments.
fn answer(mut asked: Infer, count: usize) -> Option<Inferred> {
    infer(&mut asked).filter(|answer| answer.inputs.len() == count)
}

/// Transforms a value. A tensor with fewer axes gets the missing ones in front; one with a single element stays, as it fits
/// every layout.
fn transformed(store: &mut Store, value: ExprId, from: &Layout, to: &Layout) -> Result<ExprId, String> {
    let (mut value, mut from) = (value, from.clone());
    let missing = primal_rank(to).saturating_sub(primal_rank(&from));
    if missing > 0 {
        let ty = store.checked_type(value).map(|ty| store.type_of_id(ty));
        if matches!(ty, Some(Type::Tensor { shape, .. }) if shape.iter().all(|extent| extent.known() == Some(1))) {
            return Ok(value);
        }
        let new = to.axes().iter().filter(|axis| axis.is_primal() && !from.contains(axis.name));
        let axes: Vec<LayoutAxis> = new.chain(from.axes()).copied().collect();
        from = Layout::from_axes(axes);
        let attrs = [("axis", AttrValue::int(0)), ("num_newaxis", AttrValue::int(missing as i64))];
        value = call_with(store, "expand_dims", &[value], &attrs);
        if from == *to {
            return Ok(value);
        }
    }
    if !from.converts_to(to) {
        return Err(format!("Cannot insert layout transform because there are inconvertible layouts: {from} v.s. {to}"));
    }
    let text = |store: &mut Store, layout: &Layout| AttrValue::Str(store.name(&layout.to_string()));
    let attrs = [("src_layout", text(store, &from)), ("dst_layout", text(store, to))];
    Ok(call_with(store, "layout_transform", &[value], &attrs))
}
