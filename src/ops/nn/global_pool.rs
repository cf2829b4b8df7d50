//! Pooling over whole images and to a wanted size.

use super::pool::spatial_axes;
use super::pool_kernel;
use super::spatial::CHANNELS_FIRST;
use crate::ir::Dim;
use crate::ops::OpPattern::OutEWiseFusable;
use crate::ops::relax::deduce::{self, DeduceRule};
use crate::ops::relax::layout;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, RelaxOp};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.GlobalPool2DAttrs`.
pub static GLOBAL_POOL2D: AttrsSchema =
    schema("relay.attrs.GlobalPool2DAttrs", &[field::text("layout", "NCHW"), field::text("out_layout", "")]);

/// Attributes of Relay's adaptive poolings over `rank` axes.
const fn relay_adaptive(rank: usize) -> [AttrField; 3] {
    [field::ints("output_size", &[]), field::text("layout", CHANNELS_FIRST[rank]), field::text("out_layout", "")]
}

static ADAPTIVE_POOL1D: AttrsSchema = schema("relay.attrs.AdaptivePool1DAttrs", &relay_adaptive(1));
static ADAPTIVE_POOL2D: AttrsSchema = schema("relay.attrs.AdaptivePool2DAttrs", &relay_adaptive(2));
static ADAPTIVE_POOL3D: AttrsSchema = schema("relay.attrs.AdaptivePool3DAttrs", &relay_adaptive(3));

/// Attributes of Relax's adaptive poolings over `rank` axes.
const fn relax_adaptive(rank: usize) -> [AttrField; 3] {
    [
        field::or_none("output_size", AttrKind::Ints),
        field::text("layout", CHANNELS_FIRST[rank]),
        field::or_none("out_layout", AttrKind::Str),
    ]
}

const fn in_relax(deduce: DeduceRule, attrs: &'static AttrsSchema) -> RelaxOp {
    relax(const { &[value("data")] }, deduce).attrs(attrs).follows().layout(layout::pool::pool).same_kernel()
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.global_avg_pool2d", "The mean over all of height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::global_avg2d)
        .relay(relay(&["data"], global2d).attrs(&GLOBAL_POOL2D)),
    op("nn.global_max_pool2d", "The largest element over all of height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::global_max2d)
        .relay(relay(&["data"], global2d).attrs(&GLOBAL_POOL2D)),
    op("nn.adaptive_avg_pool1d", "Means over as many windows as `output_size` asks for along the width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_avg1d)
        .relay(relay(&["data"], adaptive1d).attrs(&ADAPTIVE_POOL1D))
        .relax(in_relax(deduce::pool::adaptive1d, &schema("relax.attrs.AdaptivePool1DAttrs", &relax_adaptive(1)))),
    op("nn.adaptive_max_pool1d", "Maxima over as many windows as `output_size` asks for along the width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_max1d)
        .relay(relay(&["data"], adaptive1d).attrs(&ADAPTIVE_POOL1D)),
    op("nn.adaptive_avg_pool2d", "Means over as many windows as `output_size` asks for along height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_avg2d)
        .relay(relay(&["data"], adaptive2d).attrs(&ADAPTIVE_POOL2D))
        .relax(
            in_relax(deduce::pool::adaptive2d, &schema("relax.attrs.AdaptivePool2DAttrs", &relax_adaptive(2)))
                .layout(layout::pool::pool2d),
        ),
    op("nn.adaptive_max_pool2d", "Maxima over as many windows as `output_size` asks for along height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_max2d)
        .relay(relay(&["data"], adaptive2d).attrs(&ADAPTIVE_POOL2D)),
    op("nn.adaptive_avg_pool3d", "Means over as many windows as `output_size` asks for along depth, height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_avg3d)
        .relay(relay(&["data"], adaptive3d).attrs(&ADAPTIVE_POOL3D))
        .relax(in_relax(deduce::pool::adaptive3d, &schema("relax.attrs.AdaptivePool3DAttrs", &relax_adaptive(3)))),
    op("nn.adaptive_max_pool3d", "Maxima over as many windows as `output_size` asks for along depth, height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::adaptive_max3d)
        .relay(relay(&["data"], adaptive3d).attrs(&ADAPTIVE_POOL3D)),
];

/// TVM's `GlobalPool2DRel`.
fn global2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    for axis in spatial_axes(cx, "HW", shape.len())? {
        shape[axis] = Dim::int(1);
    }
    cx.output_tensor(&shape, dtype)
}

/// Relation of the adaptive poolings over the axes `letters` (TVM's `AdaptivePool1DRel` and its like). One
/// number counts for all axes; without numbers the extents stay.
fn adaptive(cx: &mut RuleCx<'_>, letters: &str) -> RuleResult {
    let Some((mut shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let rank = letters.len();
    let axes = spatial_axes(cx, letters, shape.len())?;
    let size = cx.attr_dims("output_size").unwrap_or_default();
    match size.len() {
        0 => {}
        1 => axes.iter().for_each(|axis| shape[*axis] = size[0]),
        n if n == rank => axes.iter().zip(&size).for_each(|(axis, extent)| shape[*axis] = *extent),
        _ => return Err(format!("output_size can have up to {rank} elements.")),
    }
    cx.output_tensor(&shape, dtype)
}

fn adaptive1d(cx: &mut RuleCx<'_>) -> RuleResult {
    adaptive(cx, "W")
}

fn adaptive2d(cx: &mut RuleCx<'_>) -> RuleResult {
    adaptive(cx, "HW")
}

fn adaptive3d(cx: &mut RuleCx<'_>) -> RuleResult {
    adaptive(cx, "DHW")
}
