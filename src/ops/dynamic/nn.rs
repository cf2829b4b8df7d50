//! Padding and resizing whose amounts are inputs (`dyn.nn.*`, `dyn.image.*`).

use crate::ir::{Dim, Tensor};
use crate::ops::image::resize::RESIZE2D;
use crate::ops::image::resize::image_layout;
use crate::ops::image::resize::resized;
use crate::ops::image::sampling::{Sampling, resample};
use crate::ops::kernel::{read, read_scalar};
use crate::ops::layout::Layout;
use crate::ops::nn::pad::PAD;
use crate::ops::nn::pad::pad_by;
use crate::ops::nn::space::{UP_SAMPLING, UP_SAMPLING3_D};
use crate::ops::tensor::{ensure, input};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};
use crate::ops::{OpInfo, OpPattern};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "dyn.nn.pad",
        doc: "Like `nn.pad`, with the widths as an input.",
        args: &["data", "pad_width", "pad_val"],
        attrs: Some(&PAD),
        rule: Some(pad_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(pad_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling",
        doc: "Like `nn.upsampling`, with the scales as inputs.",
        args: &["data", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(|cx, x| upsampling_kernel(cx, x, "NCHW")),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling3d",
        doc: "Like `nn.upsampling3d`, with the scales as inputs.",
        args: &["data", "scale_d", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING3_D),
        rule: Some(|cx| resize_rule(cx, "NCDHW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(|cx, x| upsampling_kernel(cx, x, "NCDHW")),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.image.resize2d",
        doc: "Like `image.resize2d`, with the size as an input.",
        args: &["data", "size", "roi"],
        attrs: Some(&RESIZE2D),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(resize_kernel),
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

fn pad_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let widths: Vec<[i64; 2]> = read::<i64>(&x[1])?.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    ensure!(widths.len() == x[0].shape.len(), "dyn.nn.pad needs a pair for each axis");
    ensure!(widths.iter().flatten().all(|n| n.unsigned_abs() < 1 << 31), "dyn.nn.pad by too much");
    pad_by(&x[0], &widths, &x[2], cx.text("pad_mode"))
}

fn resize_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    resized(cx, &x[0], &read::<i64>(&x[1])?, &read::<f32>(&x[2])?, "NCHW")
}

/// Resizes by the factors that follow the data; corners stay in place with `align_corners`.
fn upsampling_kernel(cx: &KernelCx<'_>, x: &[Tensor], standard: &str) -> Result<Vec<Tensor>, EvalError> {
    let (layout, standard) = (Layout::parse(cx.text("layout"))?, Layout::parse(standard)?);
    let image = layout.convert_tensor(&standard, &x[0])?;
    let method = cx.text("method");
    let method = method.strip_prefix("bi").or_else(|| method.strip_prefix("tri")).unwrap_or(method);
    let transform = match cx.text("coordinate_transformation_mode") {
        "" if cx.flag("align_corners") => "align_corners",
        "" => "asymmetric",
        written => written,
    };
    let sampling = Sampling { method, transform, rounding: "", alpha: -0.5, exclude: false };
    let factors = x[1..].iter().map(read_scalar::<f32>).collect::<Result<Vec<_>, _>>()?;
    ensure!(factors.len() + 2 == image.shape.len(), "upsampling needs a factor for each spatial axis");
    let two = factors.len() == 2;
    let sized = factors.iter().zip(&image.shape[2..]);
    let axes = sized.map(|(factor, extent)| sampling.axis(*extent, (*extent as f32 * factor).round() as i64, (0.0, 0.0), two));
    let out = resample(&image, &axes.collect::<Result<Vec<_>, _>>()?, None, x[0].dtype)?;
    Ok(vec![standard.convert_tensor(&layout, &out)?])
}
