//! Pooling with a window.

use super::pool_kernel;
use super::spatial::{CHANNELS_FIRST, ONES, ZEROS};
use crate::ir::{Dim, PrimOp};
use crate::ops::OpPattern::OutEWiseFusable;
use crate::ops::relax::deduce::{self, DeduceRule};
use crate::ops::relax::{gradient, layout};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, RelaxOp};
use crate::ops::{RuleCx, RuleResult};

/// Attributes of Relay's `max_pool` over `rank` axes.
const fn max_pool(rank: usize) -> [AttrField; 7] {
    [
        field::required("pool_size", AttrKind::Ints),
        field::ints("strides", ONES[rank]),
        field::ints("dilation", ONES[rank]),
        field::ints("padding", ZEROS[rank]),
        field::text("layout", CHANNELS_FIRST[rank]),
        field::text("out_layout", ""),
        field::flag("ceil_mode", false),
    ]
}

/// Attributes of Relay's `avg_pool` over `rank` axes.
const fn avg_pool(rank: usize) -> [AttrField; 8] {
    let [size, strides, dilation, padding, layout, out_layout, ceil_mode] = max_pool(rank);
    [size, strides, dilation, padding, layout, out_layout, ceil_mode, field::flag("count_include_pad", false)]
}

static MAX_POOL2D: AttrsSchema = schema("relay.attrs.MaxPool2DAttrs", &max_pool(2));

/// Attributes of `nn.avg_pool2d`; `qnn.avg_pool2d` has them too.
pub static AVG_POOL2D: AttrsSchema = schema("relay.attrs.AvgPool2DAttrs", &avg_pool(2));

/// Attributes of Relax's poolings over `rank` axes.
pub const fn relax_pool(rank: usize, padding: &'static [i64], count_include_pad: bool) -> [AttrField; 8] {
    [
        field::ints("pool_size", ONES[rank]),
        field::ints("strides", ONES[rank]),
        field::ints("dilation", ONES[rank]),
        field::ints("padding", padding),
        field::flag("ceil_mode", false),
        field::flag("count_include_pad", count_include_pad),
        field::text("layout", CHANNELS_FIRST[rank]),
        field::or_none("out_layout", AttrKind::Str),
    ]
}

static RELAX_POOL2D: AttrsSchema = schema("relax.attrs.Pool2DAttrs", &relax_pool(2, ZEROS[2], false));

const fn in_relax(deduce: DeduceRule, attrs: &'static AttrsSchema) -> RelaxOp {
    relax(const { &[value("data")] }, deduce)
        .attrs(attrs)
        .order(&["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"])
        .follows()
        .layout(layout::pool::pool)
        .same_kernel()
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.max_pool1d", "The largest element of each window over the width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::max_pool1d)
        .relay(relay(&["data"], pool1d).attrs(&schema("relay.attrs.MaxPool1DAttrs", &max_pool(1))))
        .relax(in_relax(deduce::pool::pool1d, &schema("relax.attrs.Pool1DAttrs", &relax_pool(1, ZEROS[2], false)))),
    op("nn.max_pool2d", "The largest element of each window over height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::max_pool2d)
        .relay(relay(&["data"], pool2d).attrs(&MAX_POOL2D))
        .relax(in_relax(deduce::pool::pool2d, &RELAX_POOL2D).layout(layout::pool::pool2d).gradient(gradient::nn::max_pool2d)),
    op("nn.max_pool3d", "The largest element of each window over depth, height and width.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::max_pool3d)
        .relay(relay(&["data"], pool3d).attrs(&schema("relay.attrs.MaxPool3DAttrs", &max_pool(3))))
        .relax(in_relax(deduce::pool::pool3d, &schema("relax.attrs.Pool3DAttrs", &relax_pool(3, ZEROS[3], false)))),
    op("nn.avg_pool1d", "The mean of each window over the width. Padding counts only with `count_include_pad`.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::avg_pool1d)
        .relay(relay(&["data"], pool1d).attrs(&schema("relay.attrs.AvgPool1DAttrs", &avg_pool(1))))
        .relax(in_relax(deduce::pool::pool1d, &schema("relax.attrs.Pool1DAttrs", &relax_pool(1, ZEROS[2], true)))),
    op("nn.avg_pool2d", "The mean of each window over height and width. Padding counts only with `count_include_pad`.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::avg_pool2d)
        .relay(relay(&["data"], pool2d).attrs(&AVG_POOL2D))
        .relax(in_relax(deduce::pool::pool2d, &RELAX_POOL2D).layout(layout::pool::pool2d).gradient(gradient::nn::avg_pool2d)),
    op("nn.avg_pool3d", "The mean of each window over depth, height and width. Padding counts only with `count_include_pad`.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::avg_pool3d)
        .relay(relay(&["data"], pool3d).attrs(&schema("relay.attrs.AvgPool3DAttrs", &avg_pool(3))))
        .relax(in_relax(deduce::pool::pool3d, &schema("relax.attrs.Pool3DAttrs", &relax_pool(3, ZEROS[3], true)))),
    op("nn.max_pool2d_grad", "Each window sends its gradient, the first input, to its largest element.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::max_pool2d_grad)
        .relay(relay(&["data", "grad"], pool2d_grad).attrs(&MAX_POOL2D)),
    op("nn.avg_pool2d_grad", "Each window spreads its gradient, the first input, evenly.")
        .pattern(OutEWiseFusable)
        .kernel(pool_kernel::avg_pool2d_grad)
        .relay(relay(&["data", "grad"], pool2d_grad).attrs(&MAX_POOL2D)),
];

/// Returns the positions of the spatial axes `letters` in the layout; none of them may be split.
pub(super) fn spatial_axes(cx: &RuleCx<'_>, letters: &str, rank: usize) -> Result<Vec<usize>, String> {
    let layout = cx.attr_layout("layout")?;
    let places: Option<Vec<usize>> =
        (letters.chars()).map(|c| layout.index_of(c).filter(|i| *i < rank && !layout.contains(c.to_ascii_lowercase()))).collect();
    places.ok_or_else(|| {
        let (n, axes) = (letters.len(), letters.chars().map(String::from).collect::<Vec<_>>().join(", "));
        format!("Invalid layout {layout}. Pool{n}D layout must have {axes}, which cannot be split")
    })
}

/// Relation of the poolings over the axes `letters` (TVM's `Pool1DRel`, `Pool2DRel`, `Pool3DRel`).
fn pool(cx: &mut RuleCx<'_>, letters: &str) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let rank = letters.len();
    let axes = spatial_axes(cx, letters, shape.len())?;
    let pool_size = cx.attr_dims_of("pool_size", rank)?;
    let dilation = cx.attr_dims_of("dilation", rank)?;
    let strides = cx.attr_dims_of("strides", rank)?;
    // For any other number of paddings TVM leaves the type open.
    let Some(padding) = cx.total_padding(rank) else { return Ok(false) };
    let mut out = shape.clone();
    for (i, &axis) in axes.iter().enumerate() {
        if shape[axis] == Dim::Any {
            continue;
        }
        let window = cx.sub(pool_size[i], Dim::int(1));
        let window = cx.mul(window, dilation[i]);
        let window = cx.add(window, Dim::int(1));
        let room = cx.add(shape[axis], padding[i]);
        let mut room = cx.sub(room, window);
        if cx.attr_flag("ceil_mode") {
            let up = cx.sub(strides[i], Dim::int(1));
            room = cx.add(room, up);
        }
        let steps = cx.dim(PrimOp::Div, room, strides[i]);
        out[axis] = cx.add(steps, Dim::int(1));
    }
    cx.output_tensor(&out, dtype)
}

fn pool1d(cx: &mut RuleCx<'_>) -> RuleResult {
    pool(cx, "W")
}

/// Relation of the 2-D poolings; `qnn.avg_pool2d` uses it too.
pub fn pool2d(cx: &mut RuleCx<'_>) -> RuleResult {
    pool(cx, "HW")
}

fn pool3d(cx: &mut RuleCx<'_>) -> RuleResult {
    pool(cx, "DHW")
}

/// TVM's `Pool2DGradRel`: the gradient has the type of the data.
fn pool2d_grad(cx: &mut RuleCx<'_>) -> RuleResult {
    match cx.tensor(1) {
        Some(_) => cx.output(cx.types[1]),
        None => Ok(false),
    }
}
