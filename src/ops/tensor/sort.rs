//! Sorting, searching and running totals.

use super::{ensure, input, sort_kernels};
use crate::ir::{DType, Dim};
use crate::ops::relax::{deduce, gradient};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ArgsortAttrs`.
pub static ARGSORT: AttrsSchema =
    schema("relay.attrs.ArgsortAttrs", &[field::int("axis", -1), field::flag("is_ascend", true), field::dtype("dtype", "")]);

/// Attributes `relay.attrs.TopkAttrs`.
pub static TOPK: AttrsSchema = schema(
    "relay.attrs.TopkAttrs",
    &[
        field::required("k", AttrKind::Integer),
        field::int("axis", -1),
        field::text("ret_type", "both"),
        field::flag("is_ascend", false),
        field::dtype("dtype", ""),
    ],
);

/// Attributes `relay.attrs.ScanopAttrs`.
pub static SCANOP: AttrsSchema = schema(
    "relay.attrs.ScanopAttrs",
    &[field::or_none("axis", AttrKind::Integer), field::dtype("dtype", ""), field::flag("exclusive", false)],
);

/// Attributes `relay.attrs.UniqueAttrs`.
pub static UNIQUE: AttrsSchema =
    schema("relay.attrs.UniqueAttrs", &[field::flag("sorted", true), field::flag("return_counts", false)]);

/// Attributes `relax.attrs.ScanopAttrs`.
static RELAX_SCANOP: AttrsSchema = schema(
    "relax.attrs.ScanopAttrs",
    &[field::or_none("axis", AttrKind::Integer), field::or_none("dtype", AttrKind::DType), field::flag("exclusive", false)],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("sort", "Sorts along an axis.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::sort)
        .relay(relay(&["data"], sort_rule).attrs(&ARGSORT))
        .relax(
            relax(&[value("x")], deduce::unary::same_tensor)
                .attrs(&schema("relax.attrs.SortAttrs", &[field::int("axis", -1), field::flag("descending", false)])),
        ),
    op("argsort", "The indices that would sort along an axis.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::argsort)
        .relay(relay(&["data"], argsort_rule).attrs(&ARGSORT))
        .relax(relax(&[value("data")], deduce::search::argsort).attrs(&schema(
            "relax.attrs.ArgsortAttrs",
            &[field::int("axis", -1), field::flag("descending", false), field::dtype("dtype", "int32")],
        ))),
    op("topk", "The `k` largest or smallest elements along an axis, their indices, or both.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::topk)
        .relay(relay(&["data"], topk_rule).attrs(&TOPK))
        .relax(relax(&[value("data")], deduce::search::topk).attrs(&schema(
            "relax.attrs.TopKAttrs",
            &[
                field::int("k", 1),
                field::int("axis", -1),
                field::text("ret_type", "both"),
                field::flag("largest", true),
                field::dtype("dtype", "int32"),
            ],
        ))),
    op("searchsorted", "Where each value would be inserted into a sorted sequence.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::searchsorted)
        .relay(
            relay(&["sorted_sequence", "values"], searchsorted_rule)
                .attrs(&schema("relay.attrs.SearchSortedAttrs", &[field::flag("right", false), field::dtype("dtype", "int32")])),
        ),
    op("cumsum", "Running sums along an axis, of the flattened input when `axis` is not given.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::cumsum)
        .relay(relay(&["data"], scan_rule))
        .relax(relax(&[value("data")], deduce::statistic::scan).attrs(&RELAX_SCANOP).gradient(gradient::element::cumsum)),
    op("cumprod", "Running products along an axis, of the flattened input when `axis` is not given.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::cumprod)
        .relay(relay(&["data"], scan_rule))
        .relax(relax(&[value("data")], deduce::statistic::scan).attrs(&RELAX_SCANOP)),
    op("unique", "The distinct elements of a vector, with indices, inverse indices and counts.")
        .pattern(OpPattern::Opaque)
        .kernel(sort_kernels::unique)
        .relay(relay(&["data"], unique_rule))
        .relax(relax(
            &[
                value("x"),
                value("sorted").or_none(),
                value("return_index").or_none(),
                value("return_inverse").or_none(),
                value("return_counts").or_none(),
                value("axis").or_none(),
            ],
            deduce::search::unique,
        )),
    op("bucketize", "Between which of the sorted boundaries each element lies.").relax(
        relax(&[value("input_tensor"), value("boundaries")], deduce::search::bucketize)
            .attrs(&schema("relax.attrs.BucketizeAttrs", &[field::flag("out_int32", false), field::flag("right", false)])),
    ),
];

pub(super) fn scan_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, data_dtype) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(data_dtype);
    if cx.store.attr_int(cx.attrs, "axis").is_some() {
        return cx.output_tensor(&shape, dtype);
    }
    let [first, others @ ..] = &shape[..] else { return Err("a running total needs at least one axis".into()) };
    let mut size = *first;
    for dim in others {
        size = cx.mul(size, *dim);
    }
    cx.output_tensor(&[size], dtype)
}

fn unique_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    ensure!(shape.len() == 1, "Unique: input must be 1-D tensor");
    let index = cx.store.tensor_type(&shape, DType::I32);
    let count = cx.store.tensor_type(&[Dim::int(1)], DType::I32);
    let mut fields = vec![cx.types[0], index, index, count];
    if cx.attr_flag("return_counts") {
        fields.push(index);
    }
    let tuple = cx.store.tuple_type(&fields);
    cx.output(tuple)
}

fn sort_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    let same = cx.types[0];
    cx.output(same)
}

fn index_dtype(cx: &RuleCx<'_>) -> Result<DType, String> {
    cx.store.attr_dtype(cx.attrs, "dtype").ok_or_else(|| "`dtype` is not given".into())
}

pub(super) fn argsort_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = index_dtype(cx)?;
    cx.output_tensor(&shape, dtype)
}

pub(super) fn topk_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let axis = cx.attr_axis(shape.len()).ok_or("topk: `axis` is out of range")?;
    let k = cx.attr_dim("k").ok_or("topk needs `k`")?;
    if k.known().is_none_or(|k| k >= 1) {
        shape[axis] = k;
    }
    let values = cx.store.tensor_type(&shape, dtype);
    let indices = match cx.attr_text("ret_type") {
        "values" => return cx.output(values),
        "both" | "indices" => {
            let dtype = index_dtype(cx)?;
            cx.store.tensor_type(&shape, dtype)
        }
        other => return Err(format!("Unsupported ret type: {other}")),
    };
    let out = if cx.attr_text("ret_type") == "both" { cx.store.tuple_type(&[values, indices]) } else { indices };
    cx.output(out)
}

pub(super) fn searchsorted_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (sequence, _) = input!(cx, 0);
    let (values, _) = input!(cx, 1);
    ensure!(!values.is_empty(), "The rank of `values` must be greater than one");
    if sequence.len() > 1 {
        ensure!(
            sequence.len() == values.len(),
            "Ranks of `sorted_sequence` and values must be the same if `sorted_sequence` is multi-dimensional."
        );
        let mut outer = sequence.iter().zip(&values).take(values.len() - 1);
        let differ = |(a, b): (&Dim, &Dim)| a.known().zip(b.known()).is_some_and(|(a, b)| a != b);
        ensure!(!outer.any(differ), "`sorted_sequence and `values` do not have the same shape along outer axes");
    }
    let dtype = index_dtype(cx)?;
    cx.output_tensor(&values, dtype)
}
