//! Resizing images.

use crate::ir::{AttrValue, Dim};
use crate::ops::layout::Layout;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize2d",
        doc: "Resizes images, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE2D),
        rule: Some(|cx| resize_rule(cx, "NCHW")),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize3d",
        doc: "Resizes volumes, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE3D),
        rule: Some(|cx| resize_rule(cx, "NCDHW")),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.crop_and_resize",
        doc: "Cuts boxes out of images and resizes them to one size.",
        args: &["data", "boxes", "box_indices"],
        attrs: Some(&CROP_AND_RESIZE),
        rule: Some(crop_and_resize_rule),
        pattern: Some(OpPattern::Injective),
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
