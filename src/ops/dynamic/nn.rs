//! Padding and resizing whose amounts are inputs (`dyn.nn.*`, `dyn.image.*`).

use crate::ir::Dim;
use crate::ops::image::resize::RESIZE2D;
use crate::ops::image::resize::image_layout;
use crate::ops::nn::pad::PAD;
use crate::ops::nn::space::{UP_SAMPLING, UP_SAMPLING3_D};
use crate::ops::tensor::{ensure, input};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "dyn.nn.pad",
        doc: "Like `nn.pad`, with the widths as an input.",
        args: &["data", "pad_width", "pad_val"],
        attrs: Some(&PAD),
        rule: Some(pad_rule),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling",
        doc: "Like `nn.upsampling`, with the scales as inputs.",
        args: &["data", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling3d",
        doc: "Like `nn.upsampling3d`, with the scales as inputs.",
        args: &["data", "scale_d", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING3_D),
        rule: Some(|cx| resize_rule(cx, "NCDHW")),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.image.resize2d",
        doc: "Like `image.resize2d`, with the size as an input.",
        args: &["data", "size", "roi"],
        attrs: Some(&RESIZE2D),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];

fn pad_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (width, _) = input!(cx, 1);
    input!(cx, 2);
    ensure!(!shape.is_empty(), "Data shape must have static rank");
    ensure!(width.len() == 2, "Pad width must be 2D");
    cx.output_tensor(&vec![Dim::Any; shape.len()], dtype)
}

fn resize_rule(cx: &mut RuleCx<'_>, standard: &str) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (layout, standard) = image_layout(cx, "layout", standard)?;
    let mut out = layout.convert_shape(cx.store, &standard, &shape)?;
    out[2..].fill(Dim::Any);
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}
