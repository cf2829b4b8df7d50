//! Padding and dilation.

use crate::ir::Dim;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.PadAttrs`.
pub static PAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.PadAttrs",
    fields: &[
        AttrField::required("pad_width", AttrKind::Any),
        AttrField::new("pad_mode", AttrKind::Str, AttrDefault::Str("constant")),
    ],
};

/// Attributes `relay.attrs.MirrorPadAttrs`.
pub static MIRROR_PAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MirrorPadAttrs",
    fields: &[
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("SYMMETRIC")),
        AttrField::required("pad_width", AttrKind::Any),
    ],
};

/// Attributes `relay.attrs.DilateAttrs`.
pub static DILATE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DilateAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation_value", AttrKind::Float, AttrDefault::Float(0.0)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.pad",
        doc: "Adds elements before and after along each axis: `pad_val`, the edge repeated, or the image mirrored, by `pad_mode`.",
        args: &["data", "pad_val"],
        attrs: Some(&PAD),
        rule: Some(pad),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.mirror_pad",
        doc: "Pads with the mirror image of the data; `SYMMETRIC` repeats the edge itself, `REFLECT` does not.",
        args: &["data"],
        attrs: Some(&MIRROR_PAD),
        rule: Some(mirror_pad),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.dilate",
        doc: "Spreads elements `strides` apart along each axis, with `dilation_value` between them.",
        args: &["x"],
        rule: Some(dilate),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];

/// The widths before and after each axis.
fn pad_width(cx: &RuleCx<'_>, rank: usize) -> Result<Vec<Vec<i64>>, String> {
    let width = cx.attr_pairs("pad_width").unwrap_or_default();
    if width.len() != rank {
        return Err(format!(
            "There should be as many pad width pairs as shape dimensions but the shape has {rank} dimensions and there \
             are {} pad width pairs.",
            width.len()
        ));
    }
    match width.iter().position(|pair| pair.len() != 2) {
        Some(i) => {
            Err(format!("Each pad width element should be a pair but at index {i} there are {} elements.", width[i].len()))
        }
        None => Ok(width),
    }
}

/// TVM's `PadRel`. Widths may be negative, which crops.
fn pad(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let width = pad_width(cx, shape.len())?;
    for (extent, pair) in shape.iter_mut().zip(&width) {
        *extent = cx.add(*extent, Dim::int(pair[0].saturating_add(pair[1])));
        if extent.known().is_some_and(|e| e < 0) {
            let extent = extent.known().unwrap_or_default();
            return Err(format!("Output shape post padding should be positive but got {extent}"));
        }
    }
    cx.output_tensor(&shape, dtype)
}

/// TVM's `MirrorPadRel`.
fn mirror_pad(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let width = pad_width(cx, shape.len())?;
    for (i, (extent, pair)) in shape.iter_mut().zip(&width).enumerate() {
        if let Some(negative) = pair.iter().find(|w| **w < 0) {
            return Err(format!("Param width elements should be positive but first pad width at index {i} is {negative}."));
        }
        *extent = cx.add(*extent, Dim::int(pair[0].saturating_add(pair[1])));
    }
    cx.output_tensor(&shape, dtype)
}

/// TVM's `DilateRel`.
fn dilate(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let strides = cx.attr_dims_of("strides", shape.len())?;
    for (extent, stride) in shape.iter_mut().zip(strides) {
        if *extent == Dim::Any {
            continue;
        }
        let steps = cx.sub(*extent, Dim::int(1));
        let reach = cx.mul(steps, stride);
        *extent = cx.add(reach, Dim::int(1));
    }
    cx.output_tensor(&shape, dtype)
}
