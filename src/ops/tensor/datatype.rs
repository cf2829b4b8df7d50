//! Operators that change the element type, and fixed point arithmetic.

use super::input;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern, identity};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.CastAttrs`.
pub static CAST: AttrsSchema =
    AttrsSchema { key: "relay.attrs.CastAttrs", fields: &[AttrField::required("dtype", AttrKind::DType)] };

/// Attributes `relay.attrs.FixedPointMultiplyAttrs`.
pub static FIXED_POINT_MULTIPLY: AttrsSchema = AttrsSchema {
    key: "relay.attrs.FixedPointMultiplyAttrs",
    fields: &[AttrField::required("multiplier", AttrKind::Int), AttrField::required("shift", AttrKind::Int)],
};

/// Attributes `relay.attrs.FixedPointMultiplyPerAxisAttrs`.
pub static FIXED_POINT_MULTIPLY_PER_AXIS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.FixedPointMultiplyPerAxisAttrs",
    fields: &[
        AttrField::new("is_lshift_required", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("is_rshift_required", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::required("axes", AttrKind::Ints),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "cast",
        doc: "Each element converted to another type.",
        args: &["data"],
        attrs: Some(&CAST),
        rule: Some(cast_rule),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cast_like",
        doc: "Each element of the first input converted to the type of the second.",
        args: &["data", "dtype_like"],
        rule: Some(cast_like_rule),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reinterpret",
        doc: "The bits of each element read as another type of the same width.",
        args: &["data"],
        attrs: Some(&CAST),
        rule: Some(cast_rule),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "fixed_point_multiply",
        doc: "Each integer times a fixed point number: `multiplier` with 31 fractional bits, shifted by `shift`, rounded.",
        args: &["data"],
        attrs: Some(&FIXED_POINT_MULTIPLY),
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "fixed_point_multiply_per_axis",
        doc: "Like `fixed_point_multiply`, with a multiplier and shifts for each index of some axes.",
        args: &["data", "fp_multiplier", "left_shift", "right_shift"],
        attrs: Some(&FIXED_POINT_MULTIPLY_PER_AXIS),
        rule: Some(per_axis_rule),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
];

fn cast_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn cast_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let (_, dtype) = input!(cx, 1);
    cx.output_tensor(&shape, dtype)
}

fn per_axis_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    for index in 0..cx.n_inputs {
        input!(cx, index);
    }
    let same = cx.types[0];
    cx.output(same)
}
