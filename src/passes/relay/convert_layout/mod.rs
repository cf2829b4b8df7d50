//! ConvertLayout: converts convolutions and the operators between them to the desired layouts.
//!
//! A call is replaced by one over arguments in other layouts, and its result is kept with its old and its new layout.
//! For the next call [`mod@infer`] tells which layouts it takes; if they differ from those at hand, `layout_transform`
//! is inserted, once for each value. A call without a rule gets its arguments in their old layouts.
//!
//! Known divergences: `nn.sparse_dense`, to which TVM passes arguments in any layout, gets the old ones, and
//! `fixed_point_multiply_per_axis` keeps its layout; layouts that a `LayoutConfig` leaves out cannot be named.
//!
//! Source: `src/relay/transforms/convert_layout.cc`, `transform_layout.h`, `forward_rewrite.cc`.

mod arrange;
mod broadcast;
mod desired;
mod infer;

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Visit, rewrite};
use crate::ir::{AttrValue, Expr, ExprId, Module, Store, Type, TypeId, VarId};
use crate::ops::build::{args, call_with, op_name};
use crate::ops::layout::{Layout, LayoutAxis};
use crate::pass::spec::Literal;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run};
use infer::{Infer, Inferred, Known, infer, primal_rank};
use rustc_hash::FxHashMap;

/// Converts operators to the desired layouts and inserts `layout_transform` between layouts.
pub static SPEC: PassSpec = PassSpec {
    name: "ConvertLayout",
    info_name: "ConvertLayout",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType", "CanonicalizeOps"],
    params: &[Param {
        name: "desired_layouts",
        default: "",
        doc: "For each operator the layouts of data and weight: {\"nn.conv2d\": [\"NHWC\", \"default\"]}.",
    }],
    config: &[],
    summary: "Converts convolutions to other layouts, and what is between them.",
    doc: "Every operator named in `desired_layouts` gets its data and weight in these layouts; `\"default\"` is the usual \
layout of weights for that of the data. What follows goes along: each operator says which layouts it takes when its \
arguments have changed, and how its attributes change. `layout_transform` stands where layouts differ, at weights, \
before operators that cannot go along, and at the result.",
    example_before: "\
// ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32]) -> Tensor[(1, 6, 6, 6), float32] {
  %0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[3, 3]);
  nn.relu(%0)
}
",
    example_after: "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 3, 3), float32]) -> Tensor[(1, 6, 6, 6), float32] {
  %0 = layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\");
  %1 = layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"HWIO\");
  %2 = nn.conv2d(%0, %1, padding=[0, 0, 0, 0], channels=6, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWIO\");
  %3 = nn.relu(%2);
  layout_transform(%3, src_layout=\"NHWC\", dst_layout=\"NCHW\")
}
",
    run: Run::Function(run),
};

const RULE: &str = "another layout";

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let mut desired = Vec::new();
    if let Literal::Dict(entries) = arguments.get("desired_layouts") {
        for (name, layouts) in entries {
            let (Literal::Str(name), Literal::List(layouts)) = (name, layouts) else { continue };
            let layouts = layouts.iter().filter_map(|layout| match layout {
                Literal::Str(layout) => Some(layout.clone()),
                _ => None,
            });
            desired.push((name.clone(), layouts.collect()));
        }
    }
    let mut converter =
        Converter { desired, values: FxHashMap::default(), transforms: FxHashMap::default(), changed: false, errors: Vec::new() };
    // The operators between two layouts change together, so the whole function is one rewrite.
    let new = cx.store.rewrite(RULE, function, function, |store| {
        let open = rewrite(store, function, &mut converter);
        if converter.changed { rewrite(store, open, &mut Close(&mut converter)) } else { function }
    });
    if converter.errors.is_empty() { Ok(new) } else { Err(converter.errors) }
}

/// A value in a new layout.
struct Value {
    value: ExprId,
    old: Layout,
    new: Layout,
}

struct Converter {
    desired: Vec<(String, Vec<String>)>,
    /// The values in new layouts, by the variables that stand for them meanwhile.
    values: FxHashMap<VarId, Value>,
    /// Values transformed from one layout to another.
    transforms: FxHashMap<(ExprId, String, String), ExprId>,
    /// True if the function has changed.
    changed: bool,
    errors: PassError,
}

impl ExprMutator for Converter {
    fn rule(&self) -> &'static str {
        RULE
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
                    self.errors.push(Diagnostic::error("relay-convert-layout", message, store.source_span(pre)));
                    post
                }
            },
            _ => post,
        }
    }
}

/// Replaces the variables that stand for values by those values in their old layouts.
struct Close<'c>(&'c mut Converter);

impl ExprMutator for Close<'_> {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        let Some(Value { value, old, new }) = self.0.values.get(&var) else { return Visit::Descend };
        let (value, old, new) = (*value, Some(old.clone()), Some(new.clone()));
        match self.0.transform(store, value, &new, &old) {
            Ok(value) => Visit::Follow(value),
            Err(message) => {
                self.0.errors.push(Diagnostic::error("relay-convert-layout", message, store.source_span(value)));
                Visit::Keep
            }
        }
    }
}

impl Converter {
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
        let mut target = (op, first.attrs);
        if let (Some((_, desired)), Some(data)) = (self.desired.iter().find(|(name, _)| name == op), values.first()) {
            target = desired::converted(store, op, first.attrs, *data, &types, desired)?.unwrap_or(target);
        }
        let (op, attrs) = target;
        let asked = Infer { store: &mut *store, op, attrs, new: Some(&new), old: &old, types: &types };
        let Some(second) = answer(asked, values.len()) else { return Ok(None) };
        if second.outputs.len() != first.outputs.len() {
            return Ok(None);
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
        let mut changed = changed.into_iter();
        let mut operands = Vec::with_capacity(given.len());
        for arg in given {
            operands.push(match store.expr(arg) {
                Expr::Tuple(fields) => {
                    let fields: Vec<ExprId> = changed.by_ref().take(fields.len()).collect();
                    let fields = store.list(&fields);
                    store.rebuild(arg, Expr::Tuple(fields), None)
                }
                _ => changed.next().unwrap_or(arg),
            });
        }
        self.changed |= op != op_name(store, pre) || second.attrs != data.attrs;
        let callee = store.add(Expr::Op(crate::ops::op(op)));
        let operands = store.list(&operands);
        let info = store.add_call_info(second.attrs, &[]);
        let new = store.rebuild(pre, Expr::Call { callee, args: operands, info }, None);
        let is_tuple = store.checked_type(pre).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tuple(_)));
        let mut results = Vec::new();
        for (index, (old, now)) in first.outputs.into_iter().zip(second.outputs).enumerate() {
            let (Some(old), Some(now)) = (old, now) else { return Ok(None) };
            let value = match is_tuple {
                true => store.add(Expr::TupleGetItem { tuple: new, index: index as u32 }),
                false => new,
            };
            let var = store.var("value", None);
            self.values.insert(var, Value { value, old, new: now });
            results.push(store.use_var(var));
        }
        Ok(match results[..] {
            [one] if !is_tuple => Some(one),
            _ => Some(store.add_tuple(&results)),
        })
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

/// Transforms a value. A tensor with fewer axes gets the missing ones in front; a scalar stays, as it fits every layout.
fn transformed(store: &mut Store, value: ExprId, from: &Layout, to: &Layout) -> Result<ExprId, String> {
    let (mut value, mut from) = (value, from.clone());
    let missing = primal_rank(to).saturating_sub(primal_rank(&from));
    if missing > 0 {
        let ty = store.checked_type(value).map(|ty| store.type_of_id(ty));
        if matches!(ty, Some(Type::Tensor { shape, .. }) if shape.is_empty()) {
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

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

    const NHWC: &str = "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})";

    #[test]
    fn a_quantisation_that_is_simulated_keeps_the_layout_of_its_data() {
        let made = after(
            NHWC,
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %s: float32, %a: float32, %b: float32) {
               %0 = nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]);
               nn.relu(relay.op.annotation.simulated_quantize(%0, %s, %a, %b, kind=1))
             }",
        );
        assert!(made.ends_with("layout_transform(%4, src_layout=\"NHWC\", dst_layout=\"NCHW\")\n}\n"), "{made}");
    }

    #[test]
    fn the_padding_of_a_quantised_pool_stays_as_it_is_written() {
        let made = after(
            "ConvertLayout(desired_layouts={\"qnn.avg_pool2d\": [\"NCHW\"]})",
            "def @main(%x: Tensor[(1, 8, 8, 4), int8]) {
               qnn.avg_pool2d(%x, 1f, 1, 1f, 1, pool_size=[3, 3], padding=[1, 1], layout=\"NHWC\", out_layout=\"NHWC\")
             }",
        );
        assert!(made.contains("padding=[1, 1], out_layout=\"NCHW\""), "{made}");
    }

    #[test]
    fn a_bias_goes_along_and_gets_the_axes_that_it_lacks() {
        check(
            NHWC,
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(6, 1, 1), float32]) {
               add(nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1]), %b)
             }",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32], %b: Tensor[(6, 1, 1), float32]) {
               %0 = nn.conv2d(layout_transform(%x, src_layout=\"NCHW\", dst_layout=\"NHWC\"),
                 layout_transform(%w, src_layout=\"OIHW\", dst_layout=\"HWIO\"), padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1],
                 data_layout=\"NHWC\", kernel_layout=\"HWIO\");
               %1 = layout_transform(expand_dims(%b, axis=0), src_layout=\"NCHW\", dst_layout=\"NHWC\");
               layout_transform(add(%0, %1), src_layout=\"NHWC\", dst_layout=\"NCHW\")
             }",
        );
    }

    #[test]
    fn the_axis_of_a_sum_is_found_where_it_stands_now() {
        check(
            NHWC,
            "def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(1, 1, 4, 6), float32]) {
               sum(nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1], data_layout=\"NHWC\",
                 kernel_layout=\"HWIO\"), axis=[3])
             }",
            "def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(1, 1, 4, 6), float32]) {
               sum(nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=6, kernel_size=[1, 1], data_layout=\"NHWC\",
                 kernel_layout=\"HWIO\"), axis=[3])
             }",
        );
    }

    #[test]
    fn what_is_not_asked_for_stays() {
        unchanged(
            "ConvertLayout(desired_layouts={})",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32]) { reshape(%x, newshape=[4, -1]) }",
        );
    }

    #[test]
    fn a_layout_that_no_kernel_goes_with_is_an_error() {
        let message = failure(
            "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NWHC\", \"default\"]})",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(6, 4, 1, 1), float32]) {
               nn.conv2d(%x, %w, channels=6, kernel_size=[1, 1])
             }",
        );
        assert!(message.contains("NWHC is not yet supported"), "{message}");
    }
}
