//! Transposed convolutions: the gradients of convolutions with respect to their input.

use super::conv::in_relax;
use super::conv::{ConvLayouts, PLAIN_DATA, check_kernel};
use super::conv_kernel;
use super::spatial::{CHANNELS_FIRST, ONES, TRANSPOSED_KERNEL, ZEROS};
use crate::ir::Dim;
use crate::ops::OpPattern::OutEWiseFusable;
use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo};
use crate::ops::{RuleCx, RuleResult};

/// Attributes of Relay's transposed convolutions over `rank` axes.
const fn transposed(rank: usize) -> [AttrField; 11] {
    [
        field::or_none("channels", AttrKind::Integer),
        field::or_none("kernel_size", AttrKind::Ints),
        field::ints("strides", ONES[rank]),
        field::ints("output_padding", ZEROS[rank]),
        field::ints("padding", ZEROS[rank]),
        field::ints("dilation", ONES[rank]),
        field::int("groups", 1),
        field::text("data_layout", CHANNELS_FIRST[rank]),
        field::text("kernel_layout", TRANSPOSED_KERNEL[rank]),
        field::text("out_layout", ""),
        field::dtype("out_dtype", ""),
    ]
}

/// Attributes of `nn.conv2d_transpose`; `qnn.conv2d_transpose` has them too.
pub static CONV2D_TRANSPOSE: AttrsSchema = schema("relay.attrs.Conv2DTransposeAttrs", &transposed(2));

/// Attributes of Relax's transposed convolutions over `rank` axes.
const fn relax_transposed(rank: usize) -> [AttrField; 9] {
    [
        field::ints("strides", ONES[rank]),
        field::ints("padding", ZEROS[rank]),
        field::ints("output_padding", ZEROS[rank]),
        field::ints("dilation", ONES[rank]),
        field::int("groups", 1),
        field::text("data_layout", CHANNELS_FIRST[rank]),
        field::text("kernel_layout", TRANSPOSED_KERNEL[rank]),
        field::or_none("out_layout", AttrKind::Str),
        field::or_none("out_dtype", AttrKind::DType),
    ]
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.conv1d_transpose", "A 1-D transposed convolution: each input element spreads the kernel over the output.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv1d_transpose)
        .relay(relay(&["data", "weight"], conv1d_transpose).attrs(&schema("relay.attrs.Conv1DTransposeAttrs", &transposed(1))))
        .relax(in_relax(
            deduce::conv::conv1d_transpose,
            &schema("relax.attrs.Conv1DTransposeAttrs", &relax_transposed(1)),
            layout::conv::conv1d,
        )),
    op("nn.conv2d_transpose", "A 2-D transposed convolution: each input element spreads the kernel over the output.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv2d_transpose)
        .relay(relay(&["data", "weight"], conv2d_transpose).attrs(&CONV2D_TRANSPOSE))
        .relax(in_relax(
            deduce::conv::conv2d_transpose,
            &schema("relax.attrs.Conv2DTransposeAttrs", &relax_transposed(2)),
            layout::conv::conv2d_transpose,
        )),
    op("nn.conv3d_transpose", "A 3-D transposed convolution: each input element spreads the kernel over the output.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv3d_transpose)
        .relay(relay(&["data", "weight"], conv3d_transpose).attrs(&schema("relay.attrs.Conv3DTransposeAttrs", &transposed(3))))
        .relax(in_relax(
            deduce::conv::conv3d_transpose,
            &schema("relax.attrs.Conv3DTransposeAttrs", &relax_transposed(3)),
            layout::conv::conv3d,
        )),
];

const PLAIN_KERNEL: [&str; 3] = ["IOW", "IOHW", "IODHW"];

/// Relation of the transposed convolutions over `rank` spatial axes (TVM's `Conv1DTransposeRel`,
/// `Conv2DTransposeRel`, `Conv3DTransposeRel`).
fn conv_transpose(cx: &mut RuleCx<'_>, rank: usize) -> RuleResult {
    let Some((data, dtype)) = cx.tensor(0) else { return Ok(false) };
    let weight = cx.tensor(1);
    let groups = cx.attr_int("groups");
    let grouped_layout = rank == 2 && groups > 1 && cx.attr_text("kernel_layout").contains('G');
    let plain_kernel = if grouped_layout { "GIOHW" } else { PLAIN_KERNEL[rank - 1] };
    let layouts = ConvLayouts::read(cx, PLAIN_DATA[rank - 1], plain_kernel)?;
    let shape = layouts.plain_data_shape(cx, &data)?;
    let group_count = Dim::int(groups);
    let dilation = cx.attr_dims_of("dilation", rank)?;
    let (channels, kernel) = match (cx.attr_dim("channels"), cx.attr_dims("kernel_size")) {
        (Some(channels), Some(_)) => {
            let kernel = cx.attr_dims_of("kernel_size", rank)?;
            let per_group = cx.div(channels, group_count);
            let mut wshape = if grouped_layout {
                vec![group_count, cx.div(shape[1], group_count), per_group]
            } else {
                vec![shape[1], per_group]
            };
            wshape.extend(&kernel);
            let wshape = layouts.kernel_shape(cx, &wshape)?;
            cx.assign_tensor(1, &wshape, weight.map_or(dtype, |(_, d)| d))?;
            (channels, kernel)
        }
        (channels, kernel_size) => {
            let Some((weight, _)) = weight else { return Ok(false) };
            let wshape = layouts.plain_kernel_shape(cx, &weight)?;
            let per_group = channels.map(|c| cx.div(c, group_count));
            check_kernel(cx, rank, &wshape, kernel_size.as_deref(), per_group, wshape[1])?;
            if shape[1] != Dim::Any && wshape[0] != Dim::Any && !cx.may_equal(shape[1], wshape[0]) {
                return Err(format!(
                    "Conv{rank}DTransposed: shape of weight is inconsistent with in_channels. data.shape= {} groups= \
                     {groups} weight.shape= {}",
                    cx.show(&shape),
                    cx.show(&wshape)
                ));
            }
            let mut kernel = wshape[wshape.len() - rank..].to_vec();
            if rank == 3 {
                // TVM takes height for width here and width for height.
                kernel.swap(1, 2);
            }
            (wshape[1], kernel)
        }
    };
    let strides = cx.attr_dims_of("strides", rank)?;
    let extra = cx.attr_dims_of("output_padding", rank)?;
    let Some(padding) = cx.total_padding(rank) else {
        return Err(format!("Padding size should be 1, {rank} or {}", 2 * rank));
    };
    let mut out = vec![shape[0], channels];
    for i in 0..rank {
        if shape[i + 2] == Dim::Any {
            out.push(Dim::Any);
            continue;
        }
        let window = cx.dilated(kernel[i], dilation[i]);
        let steps = cx.sub(shape[i + 2], Dim::int(1));
        let reach = cx.mul(strides[i], steps);
        let reach = cx.add(reach, window);
        let extent = cx.sub(reach, padding[i]);
        out.push(cx.add(extent, extra[i]));
    }
    let out = layouts.out_shape(cx, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

fn conv1d_transpose(cx: &mut RuleCx<'_>) -> RuleResult {
    conv_transpose(cx, 1)
}

/// Relation of `nn.conv2d_transpose`; `qnn.conv2d_transpose` uses it too.
pub fn conv2d_transpose(cx: &mut RuleCx<'_>) -> RuleResult {
    conv_transpose(cx, 2)
}

fn conv3d_transpose(cx: &mut RuleCx<'_>) -> RuleResult {
    conv_transpose(cx, 3)
}
