//! Rearrangements between channels, batch and space, and upsampling.

use super::space_kernel;
use crate::ir::{DType, Dim, Double, PrimExpr, PrimOp};
use crate::ops::layout::Layout;
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.SubPixelAttrs`.
pub static SUB_PIXEL: AttrsSchema = schema(
    "relay.attrs.SubPixelAttrs",
    &[field::int("block_size", 1), field::text("layout", "NCHW"), field::text("mode", "DCR")],
);

/// Attributes `relay.attrs.UpSamplingAttrs`.
pub static UP_SAMPLING: AttrsSchema = schema(
    "relay.attrs.UpSamplingAttrs",
    &[
        field::required("scale_h", AttrKind::Float),
        field::required("scale_w", AttrKind::Float),
        field::text("layout", "NCHW"),
        field::text("method", "nearest_neighbor"),
        field::flag("align_corners", false),
    ],
);

/// Attributes `relay.attrs.UpSampling3DAttrs`.
pub static UP_SAMPLING3D: AttrsSchema = schema(
    "relay.attrs.UpSampling3DAttrs",
    &[
        field::required("scale_d", AttrKind::Float),
        field::required("scale_h", AttrKind::Float),
        field::required("scale_w", AttrKind::Float),
        field::text("layout", "NCDHW"),
        field::text("method", "nearest_neighbor"),
        field::text("coordinate_transformation_mode", "half_pixel"),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.depth_to_space", "Moves channels into square blocks of `block_size` in height and width.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::depth_to_space)
        .relay(relay(&["data"], depth_to_space).attrs(&SUB_PIXEL)),
    op("nn.space_to_depth", "Moves square blocks of `block_size` in height and width into channels.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::space_to_depth)
        .relay(relay(&["data"], space_to_depth).attrs(&SUB_PIXEL)),
    op("nn.space_to_batch_nd", "Pads the spatial axes and moves blocks of them into the batch.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::space_to_batch_nd)
        .relay(relay(&["data"], space_to_batch_nd).attrs(&schema(
            "relay.attrs.SpaceToBatchNDAttrs",
            &[field::ints("block_shape", &[1, 1]), field::required("paddings", AttrKind::Any), field::float("pad_value", 0.0)],
        ))),
    op("nn.batch_to_space_nd", "Moves parts of the batch into blocks of the spatial axes and crops them.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::batch_to_space_nd)
        .relay(relay(&["data"], batch_to_space_nd).attrs(&schema(
            "relay.attrs.BatchToSpaceNDAttrs",
            &[field::ints("block_shape", &[1, 1]), field::required("crops", AttrKind::Any)],
        ))),
    op("nn.upsampling", "Enlarges height and width by `scale_h` and `scale_w`.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::upsampling)
        .relay(relay(&["data"], upsampling).attrs(&UP_SAMPLING)),
    op("nn.upsampling3d", "Enlarges depth, height and width by `scale_d`, `scale_h` and `scale_w`.")
        .pattern(OpPattern::Injective)
        .kernel(space_kernel::upsampling3d)
        .relay(relay(&["data"], upsampling3d).attrs(&UP_SAMPLING3D)),
    op("nn.pixel_shuffle", "Channels become pixels.").relax(
        relax(&[value("data")], deduce::nn::pixel_shuffle)
            .attrs(&schema("relax.attrs.PixelShuffleAttrs", &[field::required("upscale_factor", AttrKind::Int)])),
    ),
];

/// A relation that changes extents in a plain layout: `change` sees the shape in the axis order `plain`.
fn in_layout(
    cx: &mut RuleCx<'_>,
    plain: &str,
    change: impl FnOnce(&mut RuleCx<'_>, &mut [Dim]) -> Result<(), String>,
) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let (layout, plain) = (cx.attr_layout("layout")?, Layout::parse(plain)?);
    if !layout.converts_to(&plain) {
        return Err(format!("only layouts that are convertible from {plain} are supported. But got {layout}"));
    }
    let mut shape = layout.convert_shape(cx.store, &plain, &shape)?;
    change(cx, &mut shape)?;
    let shape = plain.convert_shape(cx.store, &layout, &shape)?;
    cx.output_tensor(&shape, dtype)
}

/// TVM's `DepthToSpaceRel`.
fn depth_to_space(cx: &mut RuleCx<'_>) -> RuleResult {
    in_layout(cx, "NCHW", |cx, shape| {
        let block = cx.attr_int("block_size");
        shape[1] = cx.div(shape[1], Dim::int(block.saturating_mul(block)));
        shape[2] = cx.mul(shape[2], Dim::int(block));
        shape[3] = cx.mul(shape[3], Dim::int(block));
        Ok(())
    })
}

/// TVM's `SpaceToDepthRel`.
fn space_to_depth(cx: &mut RuleCx<'_>) -> RuleResult {
    in_layout(cx, "NCHW", |cx, shape| {
        let block = cx.attr_int("block_size");
        shape[1] = cx.mul(shape[1], Dim::int(block.saturating_mul(block)));
        shape[2] = cx.div(shape[2], Dim::int(block));
        shape[3] = cx.div(shape[3], Dim::int(block));
        Ok(())
    })
}

/// The extent enlarged by a real factor and rounded. TVM rounds halves to even.
fn enlarge(cx: &mut RuleCx<'_>, extent: Dim, scale: &str) -> Dim {
    let scale = cx.store.attr_float(cx.attrs, scale).unwrap_or(1.0);
    match extent {
        Dim::Int { value, bits } => {
            let value = (value as f64 * scale).round_ties_even() as i64;
            Dim::Int { value, bits }
        }
        Dim::Any => Dim::Any,
        _ => {
            let store = &mut *cx.store;
            let extent = store.prim_of_dim(extent);
            let dtype = store.prim_dtype(extent);
            let exact = store.prim(PrimExpr::Cast { dtype: DType::F64, value: extent });
            let scale = store.prim(PrimExpr::Float { value: Double(scale), dtype: DType::F64 });
            let product = store.prim_binary(PrimOp::Mul, exact, scale);
            let op = store.name("round");
            let rounded = store.prim(PrimExpr::Call { op, args: Box::new([product]), dtype: DType::F64 });
            Dim::Expr(store.prim(PrimExpr::Cast { dtype, value: rounded }))
        }
    }
}

/// TVM's `UpSamplingRel`.
fn upsampling(cx: &mut RuleCx<'_>) -> RuleResult {
    in_layout(cx, "NCHW", |cx, shape| {
        shape[2] = enlarge(cx, shape[2], "scale_h");
        shape[3] = enlarge(cx, shape[3], "scale_w");
        Ok(())
    })
}

/// TVM's `UpSampling3DRel`.
fn upsampling3d(cx: &mut RuleCx<'_>) -> RuleResult {
    in_layout(cx, "NCDHW", |cx, shape| {
        shape[2] = enlarge(cx, shape[2], "scale_d");
        shape[3] = enlarge(cx, shape[3], "scale_h");
        shape[4] = enlarge(cx, shape[4], "scale_w");
        Ok(())
    })
}

/// Returns `block_shape` and the pairs in `pairs`, one for each spatial axis of a tensor of this rank.
fn blocks(cx: &RuleCx<'_>, pairs: &str, rank: usize) -> Result<(Vec<i64>, Vec<Vec<i64>>), String> {
    let block = cx.store.attr_ints(cx.attrs, "block_shape").unwrap_or_default();
    let pairs_value = cx.attr_pairs(pairs).unwrap_or_default();
    if pairs_value.len() != block.len() || pairs_value.iter().any(|pair| pair.len() != 2) {
        return Err(format!("{pairs} must be provided for each spatial dim"));
    }
    match block.len() < rank && !block.contains(&0) {
        true => Ok((block, pairs_value)),
        false => Err("block_shape must be less than input shape".into()),
    }
}

/// TVM's `SpaceToBatchNDRel`.
fn space_to_batch_nd(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() <= 1 {
        return Ok(false);
    }
    let (block, paddings) = blocks(cx, "paddings", shape.len())?;
    shape[0] = cx.mul(shape[0], Dim::int(block.iter().fold(1, |n, b| n.saturating_mul(*b))));
    for (i, (size, pair)) in block.iter().zip(&paddings).enumerate() {
        let padded = cx.add(shape[i + 1], Dim::int(pair[0].saturating_add(pair[1])));
        shape[i + 1] = cx.dim(PrimOp::Div, padded, Dim::int(*size));
    }
    cx.output_tensor(&shape, dtype)
}

/// TVM's `BatchToSpaceNDRel`.
fn batch_to_space_nd(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() <= 1 {
        return Ok(false);
    }
    let (block, crops) = blocks(cx, "crops", shape.len())?;
    shape[0] = cx.dim(PrimOp::Div, shape[0], Dim::int(block.iter().fold(1, |n, b| n.saturating_mul(*b))));
    for (i, (size, pair)) in block.iter().zip(&crops).enumerate() {
        let whole = cx.mul(shape[i + 1], Dim::int(*size));
        let whole = cx.sub(whole, Dim::int(pair[0]));
        shape[i + 1] = cx.sub(whole, Dim::int(pair[1]));
    }
    cx.output_tensor(&shape, dtype)
}
