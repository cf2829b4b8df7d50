//! Morphology and sampling of images along a grid.

use super::resize::image_layout;
use crate::ir::Dim;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.Dilation2DAttrs`.
pub static DILATION2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Dilation2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilations", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IHW")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.AffineGridAttrs`.
pub static AFFINE_GRID: AttrsSchema =
    AttrsSchema { key: "relay.attrs.AffineGridAttrs", fields: &[AttrField::required("target_shape", AttrKind::Ints)] };

/// Attributes `relay.attrs.GridSampleAttrs`.
pub static GRID_SAMPLE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GridSampleAttrs",
    fields: &[
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("bilinear")),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("padding_mode", AttrKind::Str, AttrDefault::Str("zeros")),
        AttrField::new("align_corners", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "image.dilation2d",
        doc: "Greyscale dilation of images: the largest sum of window and kernel.",
        args: &["data", "weight"],
        attrs: Some(&DILATION2D),
        rule: Some(dilation2d_rule),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.affine_grid",
        doc: "The sampling grid of an affine transformation.",
        args: &["data"],
        attrs: Some(&AFFINE_GRID),
        rule: Some(affine_grid_rule),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.grid_sample",
        doc: "Samples images at the positions of a grid.",
        args: &["data", "grid"],
        attrs: Some(&GRID_SAMPLE),
        rule: Some(grid_sample_rule),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];

fn dilation2d_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (weight, _) = input!(cx, 1);
    let (layout, standard) = image_layout(cx, "data_layout", "NCHW")?;
    let (kernel_layout, kernel_standard) = image_layout(cx, "kernel_layout", "IHW")?;
    let data = layout.convert_shape(cx.store, &standard, &shape)?;
    let kernel = kernel_layout.convert_shape(cx.store, &kernel_standard, &weight)?;
    let strides = cx.attr_dims_of("strides", 2)?;
    let dilations = cx.attr_dims_of("dilations", 2)?;
    let padding = cx.total_padding(2).ok_or("dilation2d: `padding` must have 1, 2 or 4 elements")?;
    let mut out = vec![data[0], kernel[0]];
    for i in 0..2 {
        ensure!(strides[i].known() != Some(0), "dilation2d: strides must not be 0");
        let reach = cx.dilated(kernel[i + 1], dilations[i]);
        let extent = cx.add(data[i + 2], padding[i]);
        let room = cx.sub(extent, reach);
        let steps = cx.div(room, strides[i]);
        out.push(if data[i + 2] == Dim::Any { Dim::Any } else { cx.add(steps, Dim::int(1)) });
    }
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

fn affine_grid_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let matrix = shape.len() == 3 && cx.may_equal(shape[1], Dim::int(2)) && cx.may_equal(shape[2], Dim::int(3));
    ensure!(matrix, "data should be an affine matrix with shape [batch_size, 2, 3]");
    let size = cx.attr_dims_of("target_shape", 2)?;
    cx.output_tensor(&[shape[0], Dim::int(2), size[0], size[1]], dtype)
}

fn grid_sample_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (grid, _) = input!(cx, 1);
    let standard = match shape.len() {
        4 => "NCHW",
        5 => "NCDHW",
        rank => return Err(format!("grid_sample of a tensor of rank {rank}")),
    };
    let (layout, standard) = image_layout(cx, "layout", standard)?;
    ensure!(grid.len() == shape.len(), "grid_sample: data has {} axes, the grid {}", shape.len(), grid.len());
    let mut out = layout.convert_shape(cx.store, &standard, &shape)?;
    out[2..].copy_from_slice(&grid[2..]);
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    cx.output_tensor(&out, dtype)
}
