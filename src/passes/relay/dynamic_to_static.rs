//! DynamicToStatic: replaces operators with computed shapes by those with shapes as attributes.
//!
//! The operators of `dyn.*` take shapes, axes and sizes as arguments. If such an argument folds to a
//! constant, the call becomes that of the static operator, which may make more shapes known further
//! on.
//!
//! Does nothing where an argument does not fold. As in TVM the arguments of every such call are folded
//! and typed anew, so many calls in a row cost the square of their number.
//!
//! Source: `src/relay/transforms/dynamic_to_static.cc`.

use super::fold_constant::fold_expr;
use super::support::{forget_result, without_results};
use crate::infer::infer_expr;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, Double, Expr, ExprId, Module, Store};
use crate::ops::build::{args, call_with, constant, elements, ints, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces calls of `dyn.*` operators whose shape arguments fold to constants.
pub static SPEC: PassSpec = PassSpec {
    name: "DynamicToStatic",
    info_name: "DynamicToStatic",
    dialects: crate::pass::spec::RELAY,
    opt_level: 2,
    required: &[],
    params: &[],
    config: &[],
    summary: "Replaces dyn operators by static ones where their shapes fold to constants.",
    doc: explained(
        "A call such as `dyn.reshape(x, shape)` becomes `reshape(x, newshape=...)` if FoldConstant finds the value \
of `shape`, which it often does once the shapes before it are known. The function is folded at the end.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(6), float32]) {
  %0 = shape_of(%y, dtype=\"int64\");
  dyn.reshape(%x, %0, newshape=[])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(6), float32]) -> Tensor[(6), float32] {
  reshape(%x, newshape=[6])
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut mutator = Static { module, error: None };
    let result = rewrite(cx.store, function, &mut mutator);
    if let Some(error) = mutator.error {
        return Err(error);
    }
    match without_results(cx.store, module, result) {
        Some((function, module)) => prepare(cx.store, &module, function),
        None => prepare(cx.store, module, result),
    }
}

/// Folds and types an expression, twice: shapes that become known make more fold.
fn prepare(store: &mut Store, module: &Module, expr: ExprId) -> Result<ExprId, PassError> {
    let mut expr = expr;
    for _ in 0..2 {
        expr = fold_expr(store, module, expr);
        if matches!(store.expr(expr), Expr::Constant(_)) {
            break;
        }
        expr = infer_expr(store, module, expr)?;
    }
    Ok(expr)
}

struct Static<'a> {
    module: &'a Module,
    error: Option<PassError>,
}

impl ExprMutator for Static<'_> {
    fn rule(&self) -> &'static str {
        "dynamic operator to static operator"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Function(_) if post != pre => forget_result(store, post),
            Expr::Call { .. } if self.error.is_none() && op_name(store, post).starts_with("dyn.") => {
                match self.make_static(store, post) {
                    Ok(made) => made.unwrap_or(post),
                    Err(error) => {
                        self.error = Some(error);
                        post
                    }
                }
            }
            _ => post,
        }
    }
}

impl Static<'_> {
    fn make_static(&mut self, store: &mut Store, post: ExprId) -> Result<Option<ExprId>, PassError> {
        let name = op_name(store, post);
        let Some(plan) = PLANS.iter().find(|plan| plan.name == name) else { return Ok(None) };
        let old = args(store, post);
        let mut folded = old.clone();
        // The padding value stays an argument, and must be a constant too.
        let fill = (plan.to == "nn.pad").then_some(2);
        for index in plan.attrs.iter().map(|(index, _)| *index).chain(fill) {
            if constant(store, folded[index]).is_none() {
                folded[index] = prepare(store, self.module, folded[index])?;
            }
        }
        Ok(build(store, plan, post, &old, &folded))
    }
}

/// The static replacement of a dynamic operator.
struct Plan {
    name: &'static str,
    /// The static operator, and the arguments it keeps.
    to: &'static str,
    keeps: &'static [usize],
    /// Arguments that become attributes.
    attrs: &'static [(usize, &'static str)],
    /// Attributes that are taken over.
    copies: &'static [&'static str],
}

const fn plan(
    name: &'static str,
    keeps: &'static [usize],
    attrs: &'static [(usize, &'static str)],
    copies: &'static [&'static str],
) -> Plan {
    Plan { name, to: name.split_at(4).1, keeps, attrs, copies }
}

static PLANS: &[Plan] = &[
    plan("dyn.reshape", &[0], &[(1, "newshape")], &[]),
    plan("dyn.squeeze", &[0], &[(1, "axis")], &[]),
    plan("dyn.tile", &[0], &[(1, "reps")], &[]),
    plan("dyn.topk", &[0], &[(1, "k")], &["axis", "ret_type", "is_ascend", "dtype"]),
    plan("dyn.broadcast_to", &[0], &[(1, "shape")], &[]),
    plan("dyn.zeros", &[], &[(0, "shape")], &["dtype"]),
    plan("dyn.ones", &[], &[(0, "shape")], &["dtype"]),
    plan("dyn.full", &[0], &[(1, "shape")], &["dtype"]),
    plan("dyn.one_hot", &[0, 1, 2], &[(3, "depth")], &["axis", "dtype"]),
    plan(
        "dyn.image.resize2d",
        &[0],
        &[(1, "size"), (2, "roi")],
        &[
            "layout",
            "method",
            "coordinate_transformation_mode",
            "rounding_method",
            "cubic_alpha",
            "cubic_exclude",
            "extrapolation_value",
            "out_dtype",
        ],
    ),
    plan("dyn.nn.upsampling", &[0], &[(1, "scale_h"), (2, "scale_w")], &["layout", "method", "align_corners"]),
    plan(
        "dyn.nn.upsampling3d",
        &[0],
        &[(1, "scale_d"), (2, "scale_h"), (3, "scale_w")],
        &["layout", "method", "coordinate_transformation_mode"],
    ),
    plan("dyn.nn.pad", &[0, 2], &[(1, "pad_width")], &["pad_mode"]),
    plan("dyn.strided_slice", &[0], &[(1, "begin"), (2, "end"), (3, "strides")], &["slice_mode"]),
    plan("dyn.sparse_to_dense", &[0, 1, 2], &[(3, "output_shape")], &[]),
];

fn build(store: &mut Store, plan: &Plan, post: ExprId, old: &[ExprId], folded: &[ExprId]) -> Option<ExprId> {
    let attrs = store.call(post)?.attrs;
    let mut written = Vec::new();
    for (index, name) in plan.attrs {
        written.push((*name, attr_value(store, folded[*index], name)?));
    }
    for name in plan.copies {
        written.push((*name, store.attr(attrs, name)?.clone()));
    }
    if plan.to == "strided_slice" {
        written.push(("axes", AttrValue::Null));
    }
    if plan.to == "nn.pad" && constant(store, folded[2]).is_none() {
        return None;
    }
    let kept: Vec<ExprId> = plan.keeps.iter().map(|i| if plan.to == "nn.pad" && *i == 2 { folded[2] } else { old[*i] }).collect();
    Some(call_with(store, plan.to, &kept, &written))
}

/// A constant as the attribute of that name.
fn attr_value(store: &Store, id: ExprId, name: &str) -> Option<AttrValue> {
    let tensor = constant(store, id)?;
    let values = elements(tensor)?;
    let float = |value: &f64| AttrValue::Float(Double(*value));
    let whole: Vec<i64> = values.iter().map(|value| *value as i64).collect();
    match (name, tensor.shape.as_ref()) {
        ("roi", _) => Some(AttrValue::Array(values.iter().map(float).collect())),
        (name, []) if name.starts_with("scale") => values.first().map(float),
        ("k" | "depth", _) => whole.first().map(|value| AttrValue::int(*value)),
        ("pad_width", [_, columns]) => Some(AttrValue::Array(whole.chunks_exact((*columns).max(1) as usize).map(ints).collect())),
        (_, [_]) => Some(ints(&whole)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, failure, unchanged};

    #[test]
    fn a_shape_that_becomes_known_makes_the_next_one_known() {
        check(
            "DynamicToStatic()",
            "def @main(%x: Tensor[(2, 3), float32], %y: float32) {
               %0 = dyn.reshape(%x, reverse(shape_of(%x, dtype=\"int64\"), axis=0), newshape=[]);
               dyn.broadcast_to(%y, shape_of(%0, dtype=\"int64\"), shape=None, dtype=\"\")
             }",
            "def @main(%x: Tensor[(2, 3), float32], %y: float32) { broadcast_to(%y, shape=[3, 2], dtype=\"\") }",
        );
    }

    #[test]
    fn a_shape_that_is_an_input_stays_dynamic() {
        unchanged(
            "DynamicToStatic()",
            "def @main(%x: Tensor[(6), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s, newshape=[]) }",
        );
    }

    #[test]
    fn a_slice_takes_four_arguments() {
        check(
            "DynamicToStatic()",
            "def @main(%x: Tensor[(4), int32]) {
               %0 = shape_of(zeros(shape=[2], dtype=\"int32\"), dtype=\"int64\");
               dyn.strided_slice(%x, %0, %0, %0, begin=None, end=None, strides=None, axes=None)
             }",
            "def @main(%x: Tensor[(4), int32]) { strided_slice(%x, begin=[2], end=[2], strides=[2], axes=None) }",
        );
    }

    #[test]
    fn what_another_function_returns_is_not_known() {
        failure(
            "DynamicToStatic()",
            "def @f(%y: Tensor[(4), float32]) -> Tensor[(4), float32] { exp(%y) }
             def @main(%x: Tensor[(4), float32]) { abs(@f(%x)) }",
        );
    }
}
