//! Conversions between data layouts.

use super::{ensure, input};
use crate::ir::{Dim, Tensor};
use crate::ops::kernel::{offsets, pick, strides};
use crate::ops::layout::Layout;
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, relay_untyped, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "layout_transform",
        "Moves the elements into another layout: in Relay to one such as `NCHW16c`, where extents that do not \
         divide are padded with zeros, in Relax by an index map.",
    )
    .pattern(OpPattern::Injective)
    .kernel(layout_transform_kernel)
    .relay(relay(&["data"], layout_transform_rule).attrs(&schema(
        "relay.attrs.LayoutTransformAttrs",
        &[field::required("src_layout", AttrKind::Str), field::required("dst_layout", AttrKind::Str)],
    )))
    .relax(
        relax(&[value("x")], deduce::manipulate::layout_transform)
            .attrs(&schema(
                "relax.attrs.LayoutTransformAttrs",
                &[field::required("index_map", AttrKind::Any), field::or_none("pad_value", AttrKind::Any)],
            ))
            .follows(),
    ),
    op("auto_scheduler_layout_transform", "A layout conversion with the axes written out, inserted by the auto-scheduler.")
        .pattern(OpPattern::Injective)
        .kernel(auto_scheduler_layout_transform_kernel)
        .relay(relay(&["data"], auto_scheduler_layout_transform_rule).attrs(&schema(
            "relay.attrs.AutoSchedulerLayoutTransformAttrs",
            &[field::required("src_layout", AttrKind::Str), field::required("dst_layout", AttrKind::Str)],
        ))),
    op("meta_schedule_layout_transform", "A layout conversion given by an index map, inserted by MetaSchedule.")
        .pattern(OpPattern::Injective)
        .relay(
            relay_untyped(&["data"])
                .attrs(&schema("relay.attrs.MetaScheduleLayoutTransformAttrs", &[field::required("index_map", AttrKind::Any)])),
        ),
];

fn layout_transform_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (from, to) = (cx.attr_layout("src_layout")?, cx.attr_layout("dst_layout")?);
    ensure!(!from.is_undefined() && !to.is_undefined(), "cannot convert from/to undefined layout");
    ensure!(from.converts_to(&to), "cannot convert from {from} to {to}");
    let out = from.convert_shape(cx.store, &to, &shape)?;
    cx.output_tensor(&out, dtype)
}

/// The extents in a layout of the auto-scheduler, such as `1N16C4H4W`: a number before each name.
fn written_extents(layout: &str) -> Option<Vec<i64>> {
    let numbers = layout.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    numbers.map(|part| part.parse().ok()).collect()
}

fn auto_scheduler_layout_transform_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let extents = written_extents(cx.attr_text("dst_layout")).ok_or("the extents of `dst_layout` cannot be read")?;
    let out: Vec<Dim> = extents.into_iter().map(Dim::int).collect();
    cx.output_tensor(&out, dtype)
}

fn layout_transform_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (from, to) = (Layout::parse(cx.text("src_layout"))?, Layout::parse(cx.text("dst_layout"))?);
    Ok(vec![from.convert_tensor(&to, &x[0])?])
}

/// The names of the axes in a layout of the auto-scheduler.
fn written_names(layout: &str) -> Vec<&str> {
    layout.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect()
}

/// Each source axis is composed of the target axes of its name, the first being the most
/// significant.
fn auto_scheduler_layout_transform_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (from, to) = (written_names(cx.text("src_layout")), written_names(cx.text("dst_layout")));
    let shape = written_extents(cx.text("dst_layout")).unwrap_or_default();
    ensure!(from.len() == x[0].shape.len() && to.len() == shape.len(), "the layouts do not fit the tensor");
    let mut moves = vec![0; to.len()];
    for (name, stride) in from.iter().zip(strides(&x[0].shape)) {
        let mut step = stride;
        for i in (0..to.len()).rev().filter(|i| to[*i] == *name) {
            moves[i] = step;
            step *= shape[i] as usize;
        }
    }
    Ok(vec![pick(&x[0], &shape, offsets(&shape, &moves))?])
}
