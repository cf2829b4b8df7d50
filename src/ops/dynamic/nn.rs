//! Padding and resizing with amounts as inputs (`dyn.nn.*`, `dyn.image.*`).

use crate::ir::{Dim, Tensor};
use crate::ops::image::resize::RESIZE2D;
use crate::ops::image::resize::image_layout;
use crate::ops::image::resize::resized;
use crate::ops::image::sampling::{Sampling, resample};
use crate::ops::kernel::{read, read_scalar};
use crate::ops::layout::Layout;
use crate::ops::nn::pad::PAD;
use crate::ops::nn::pad::pad_by;
use crate::ops::nn::space::{UP_SAMPLING, UP_SAMPLING3D};
use crate::ops::row::{op, relay};
use crate::ops::tensor::{ensure, input};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};
use crate::ops::{OpInfo, OpPattern};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("dyn.nn.pad", "Like `nn.pad`, with the widths as an input.")
        .pattern(OpPattern::Injective)
        .kernel(pad_kernel)
        .relay(relay(&["data", "pad_width", "pad_val"], pad_rule).attrs(&PAD)),
    op("dyn.nn.upsampling", "Like `nn.upsampling`, with the scales as inputs.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| upsampling_kernel(cx, x, "NCHW"))
        .relay(relay(&["data", "scale_h", "scale_w"], |cx| resize_rule(cx, "NCHW")).attrs(&UP_SAMPLING)),
    op("dyn.nn.upsampling3d", "Like `nn.upsampling3d`, with the scales as inputs.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| upsampling_kernel(cx, x, "NCDHW"))
        .relay(relay(&["data", "scale_d", "scale_h", "scale_w"], |cx| resize_rule(cx, "NCDHW")).attrs(&UP_SAMPLING3D)),
    op("dyn.image.resize2d", "Like `image.resize2d`, with the size as an input.")
        .pattern(OpPattern::Injective)
        .kernel(resize_kernel)
        .relay(relay(&["data", "size", "roi"], |cx| resize_rule(cx, "NCHW")).attrs(&RESIZE2D)),
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
