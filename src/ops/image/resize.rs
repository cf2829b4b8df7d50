//! Resizing images.

use super::sampling::{Sampling, resample};
use crate::ir::{AttrValue, Dim, Tensor};
use crate::ops::kernel::{count, read};
use crate::ops::layout::Layout;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.Resize1DAttrs`.
pub static RESIZE1D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize1DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Resize2DAttrs`.
pub static RESIZE2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize2DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Resize3DAttrs`.
pub static RESIZE3D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize3DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.CropAndResizeAttrs`.
pub static CROP_AND_RESIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.CropAndResizeAttrs",
    fields: &[
        AttrField::new("crop_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("bilinear")),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "image.resize1d",
        doc: "Resizes the width of a sequence, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE1D),
        rule: Some(|cx| resize_rule(cx, "NCW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(|cx, x| resize_kernel(cx, x, "NCW")),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize2d",
        doc: "Resizes images, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE2D),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(|cx, x| resize_kernel(cx, x, "NCHW")),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize3d",
        doc: "Resizes volumes, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE3D),
        rule: Some(|cx| resize_rule(cx, "NCDHW")),
        pattern: Some(OpPattern::Injective),
        kernel: Some(|cx, x| resize_kernel(cx, x, "NCDHW")),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.crop_and_resize",
        doc: "Cuts boxes out of images and resizes them to one size.",
        args: &["data", "boxes", "box_indices"],
        attrs: Some(&CROP_AND_RESIZE),
        rule: Some(crop_and_resize_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(crop_and_resize_kernel),
        ..OpInfo::BASE
    },
];

/// The layout attribute `name`, if tensors convert between it and `standard`.
pub(crate) fn image_layout(cx: &RuleCx<'_>, name: &str, standard: &str) -> Result<(Layout, Layout), String> {
    let (layout, standard) = (cx.attr_layout(name)?, Layout::parse(standard)?);
    ensure!(
        layout.converts_to(&standard),
        "Resize only support input layouts that are convertible from {standard}. But got {layout}"
    );
    Ok((layout, standard))
}

fn resize_rule(cx: &mut RuleCx<'_>, standard: &str) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let size = cx.attr_dims("size").unwrap_or_default();
    let (layout, standard) = image_layout(cx, "layout", standard)?;
    ensure!(size.len() + 2 == standard.rank(), "resize: `size` has {} elements", size.len());
    let roi = match cx.store.attr(cx.attrs, "roi") {
        Some(AttrValue::Array(items)) => items.len(),
        _ => 0,
    };
    ensure!(roi == 2 * size.len(), "resize: `roi` has {roi} elements, expected {}", 2 * size.len());
    let mut out = layout.convert_shape(cx.store, &standard, &shape)?;
    out[2..].copy_from_slice(&size);
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

fn crop_and_resize_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (boxes, _) = input!(cx, 1);
    input!(cx, 2);
    let size = cx.attr_dims_of("crop_size", 2)?;
    let (layout, standard) = image_layout(cx, "layout", "NCHW")?;
    let mut out = layout.convert_shape(cx.store, &standard, &shape)?;
    out[0] = *boxes.first().ok_or("crop_and_resize: the boxes have no axes")?;
    out[2..].copy_from_slice(&size);
    let out: Vec<Dim> = standard.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// The attributes of a resize.
pub(crate) fn sampling<'a>(cx: &'a KernelCx<'_>) -> Result<Sampling<'a>, EvalError> {
    Ok(Sampling {
        method: cx.text("method"),
        transform: cx.text("coordinate_transformation_mode"),
        rounding: cx.text("rounding_method"),
        alpha: cx.float("cubic_alpha")? as f32,
        exclude: cx.int_opt("cubic_exclude").unwrap_or(0) != 0,
    })
}

/// Resizes to `size`, looking at the region `roi` (begins, then ends).
pub(crate) fn resized(
    cx: &KernelCx<'_>,
    data: &Tensor,
    size: &[i64],
    roi: &[f32],
    standard: &str,
) -> Result<Vec<Tensor>, EvalError> {
    let (layout, standard) = (Layout::parse(cx.text("layout"))?, Layout::parse(standard)?);
    let sampling = sampling(cx)?;
    let image = layout.convert_tensor(&standard, data)?;
    let n = size.len();
    ensure!(n + 2 == image.shape.len() && roi.len() == 2 * n, "resize: size or region do not fit the image");
    let mut axes = Vec::with_capacity(n);
    for i in 0..n {
        // The region of a volume is written with the axes in reverse.
        let j = if n == 3 { 2 - i } else { i };
        axes.push(sampling.axis(image.shape[i + 2], size[i], (roi[j], roi[j + n]), n == 2)?);
    }
    let cropped = sampling.transform == "tf_crop_and_resize";
    let fill = if cropped { Some(cx.float("extrapolation_value")? as f32) } else { None };
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(data.dtype);
    let out = resample(&image, &axes, fill, dtype)?;
    Ok(vec![standard.convert_tensor(&layout, &out)?])
}

fn resize_kernel(cx: &KernelCx<'_>, x: &[Tensor], standard: &str) -> Result<Vec<Tensor>, EvalError> {
    let roi = match cx.store.attr(cx.attrs, "roi") {
        Some(AttrValue::Array(items)) => items.iter().filter_map(|v| v.as_float()).map(|v| v as f32).collect(),
        _ => Vec::new(),
    };
    resized(cx, &x[0], &cx.ints("size")?, &roi, standard)
}

/// Boxes are written as `y1, x1, y2, x2`, 1 being the last pixel.
fn crop_and_resize_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (layout, standard) = (Layout::parse(cx.text("layout"))?, Layout::parse("NCHW")?);
    let images = layout.convert_tensor(&standard, &x[0])?;
    let [n_images, channels, height, width] = images.shape[..] else { return Err("images have four axes".into()) };
    let size = cx.ints("crop_size")?;
    ensure!(size.len() == 2 && size.iter().all(|extent| *extent > 0), "crop_and_resize: `crop_size` must be two extents");
    let method = cx.text("method").to_lowercase();
    let method = if method == "bilinear" { "linear" } else { &method };
    let sampling = Sampling { method, transform: "tf_crop_and_resize", rounding: "round", alpha: -0.5, exclude: false };
    let fill = Some(cx.float("extrapolation_value")? as f32);
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(x[0].dtype);
    let (boxes, indices) = (read::<f32>(&x[1])?, read::<i64>(&x[2])?);
    let shape = [indices.len() as i64, channels, size[0], size[1]];
    count(&shape, dtype)?;
    let mut out = Vec::new();
    for (corners, index) in boxes.chunks_exact(4).zip(indices) {
        ensure!((0..n_images).contains(&index), "crop_and_resize: there is no image {index}");
        let image = super::warp::image_at(&images, index as usize)?;
        let along = |extent: i64, wanted: i64, from: f32, to: f32| {
            let last = (extent - 1) as f32;
            let step = if wanted > 1 { last * (to - from) / (wanted - 1) as f32 } else { 0.0 };
            (0..wanted).map(|i| sampling.at(extent, from * last + step * i as f32)).collect::<Result<Vec<_>, _>>()
        };
        ensure!(height > 0 && width > 0, "an image without elements cannot be resized");
        let axes = [along(height, size[0], corners[0], corners[2])?, along(width, size[1], corners[1], corners[3])?];
        let crop = resample(&image, &axes, fill, dtype)?;
        out.extend_from_slice(crate::ops::kernel::bytes(&crop)?);
    }
    let out = Tensor::new(dtype, shape.as_slice(), out);
    Ok(vec![standard.convert_tensor(&layout, &out)?])
}
