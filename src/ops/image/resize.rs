//! Resizing images.

use super::sampling::{Sampling, resample};
use crate::ir::{AttrValue, Dim, Tensor};
use crate::ops::kernel::{count, read};
use crate::ops::layout::Layout;
use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, relax, relay, shape, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.Resize2DAttrs`.
pub static RESIZE2D: AttrsSchema = schema(
    "relay.attrs.Resize2DAttrs",
    &[
        field::or_none("size", AttrKind::Ints),
        field::or_none("roi", AttrKind::Any),
        field::text("layout", "NCHW"),
        field::text("method", "linear"),
        field::text("coordinate_transformation_mode", "half_pixel"),
        field::text("rounding_method", "round"),
        field::float("cubic_alpha", -0.5),
        field::int("cubic_exclude", 0),
        field::float("extrapolation_value", 0.0),
        field::dtype("out_dtype", ""),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("image.resize1d", "Resizes the width of a sequence, by nearest neighbour, linear or cubic interpolation.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| resize_kernel(cx, x, "NCW"))
        .relay(relay(&["data"], |cx| resize_rule(cx, "NCW")).attrs(&schema(
            "relay.attrs.Resize1DAttrs",
            &[
                field::or_none("size", AttrKind::Ints),
                field::or_none("roi", AttrKind::Any),
                field::text("layout", "NCW"),
                field::text("method", "linear"),
                field::text("coordinate_transformation_mode", "half_pixel"),
                field::text("rounding_method", "round"),
                field::float("cubic_alpha", -0.5),
                field::int("cubic_exclude", 0),
                field::float("extrapolation_value", 0.0),
                field::dtype("out_dtype", ""),
            ],
        ))),
    op("image.resize2d", "Resizes images, by nearest neighbour, linear or cubic interpolation.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| resize_kernel(cx, x, "NCHW"))
        .relay(relay(&["data"], |cx| resize_rule(cx, "NCHW")).attrs(&RESIZE2D))
        .relax(
            relax(&[value("data"), shape("size")], deduce::image::resize2d)
                .attrs(&schema(
                    "relax.attrs.Resize2DAttrs",
                    &[
                        field::or_none("roi", AttrKind::Any),
                        field::text("layout", "NCHW"),
                        field::text("method", "linear"),
                        field::text("coordinate_transformation_mode", "half_pixel"),
                        field::text("rounding_method", "round"),
                        field::float("cubic_alpha", -0.75),
                        field::int("cubic_exclude", 0),
                        field::float("extrapolation_value", 0.0),
                        field::or_none("out_dtype", AttrKind::DType),
                    ],
                ))
                .follows()
                .layout(layout::pool::resize),
        ),
    op("image.resize3d", "Resizes volumes, by nearest neighbour, linear or cubic interpolation.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| resize_kernel(cx, x, "NCDHW"))
        .relay(relay(&["data"], |cx| resize_rule(cx, "NCDHW")).attrs(&schema(
            "relay.attrs.Resize3DAttrs",
            &[
                field::or_none("size", AttrKind::Ints),
                field::or_none("roi", AttrKind::Any),
                field::text("layout", "NCDHW"),
                field::text("method", "linear"),
                field::text("coordinate_transformation_mode", "half_pixel"),
                field::text("rounding_method", "round"),
                field::float("cubic_alpha", -0.5),
                field::int("cubic_exclude", 0),
                field::float("extrapolation_value", 0.0),
                field::dtype("out_dtype", ""),
            ],
        )))
        .relax(
            relax(&[value("data"), shape("size")], deduce::image::resize3d)
                .attrs(&schema(
                    "relax.attrs.Resize3DAttrs",
                    &[
                        field::or_none("roi", AttrKind::Any),
                        field::text("layout", "NCDHW"),
                        field::text("method", "linear"),
                        field::text("coordinate_transformation_mode", "half_pixel"),
                        field::text("rounding_method", ""),
                        field::float("cubic_alpha", -0.75),
                        field::int("cubic_exclude", 0),
                        field::float("extrapolation_value", 0.0),
                        field::or_none("out_dtype", AttrKind::DType),
                    ],
                ))
                .follows()
                .layout(layout::pool::resize),
        ),
    op("image.crop_and_resize", "Cuts boxes out of images and resizes them to one size.")
        .pattern(OpPattern::Injective)
        .kernel(crop_and_resize_kernel)
        .relay(relay(&["data", "boxes", "box_indices"], crop_and_resize_rule).attrs(&schema(
            "relay.attrs.CropAndResizeAttrs",
            &[
                field::or_none("crop_size", AttrKind::Ints),
                field::text("layout", "NCHW"),
                field::text("method", "bilinear"),
                field::float("extrapolation_value", 0.0),
                field::dtype("out_dtype", ""),
            ],
        ))),
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

/// Resizes the region `roi` (begins, then ends) to `size`.
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
    let size = cx.ints("size")?;
    let roi = cx.store.attr_floats(cx.attrs, "roi");
    let roi: Vec<f32> = roi.map_or_else(|| vec![0.0; 2 * size.len()], |roi| roi.into_iter().map(|v| v as f32).collect());
    resized(cx, &x[0], &size, &roi, standard)
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
