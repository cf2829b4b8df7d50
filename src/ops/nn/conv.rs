//! Convolutions: `nn.conv1d`, `nn.conv2d`, `nn.conv3d` and the variants that share their attributes.

use super::conv_kernel;
use super::spatial::{CHANNELS_FIRST, KERNEL, ONES, ZEROS};
use crate::ir::{Dim, show_dim};
use crate::ops::OpPattern::OutEWiseFusable;
use crate::ops::layout::Layout;
use crate::ops::relax::deduce::{self, DeduceRule};
use crate::ops::relax::gradient;
use crate::ops::relax::layout::{self, LayoutRule};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrField, AttrKind, AttrsSchema, MixedPrecision, OpInfo, RelaxOp};
use crate::ops::{RuleCx, RuleResult};

/// Attributes of Relay's convolutions over `rank` axes.
const fn relay_conv(rank: usize, padding: &'static [i64]) -> [AttrField; 10] {
    [
        field::ints("strides", ONES[rank]),
        field::ints("padding", padding),
        field::ints("dilation", ONES[rank]),
        field::int("groups", 1),
        field::or_none("channels", AttrKind::Integer),
        field::or_none("kernel_size", AttrKind::Ints),
        field::text("data_layout", CHANNELS_FIRST[rank]),
        field::text("kernel_layout", KERNEL[rank]),
        field::text("out_layout", ""),
        field::dtype("out_dtype", ""),
    ]
}

/// Attributes of `nn.conv2d`, and of related operators with the same ones.
pub static CONV2D: AttrsSchema = schema("relay.attrs.Conv2DAttrs", &relay_conv(2, ZEROS[2]));

/// Attributes of `nn.deformable_conv2d`.
const fn deformable() -> [AttrField; 11] {
    let [strides, padding, dilation, groups, channels, size, data, kernel, out, dtype] = relay_conv(2, ZEROS[2]);
    [strides, padding, dilation, field::int("deformable_groups", 1), groups, channels, size, data, kernel, out, dtype]
}

/// Attributes of Relax's convolutions over `rank` axes.
const fn relax_conv(rank: usize) -> [AttrField; 8] {
    [
        field::ints("strides", ONES[rank]),
        field::ints("padding", ZEROS[rank]),
        field::ints("dilation", ONES[rank]),
        field::int("groups", 1),
        field::text("data_layout", CHANNELS_FIRST[rank]),
        field::text("kernel_layout", KERNEL[rank]),
        field::or_none("out_layout", AttrKind::Str),
        field::or_none("out_dtype", AttrKind::DType),
    ]
}

/// Declares the operator in Relax with the same kernel, always in the lower precision.
pub(super) const fn in_relax(deduce: DeduceRule, attrs: &'static AttrsSchema, layout: LayoutRule) -> RelaxOp {
    relax(const { &[value("data"), value("weight")] }, deduce)
        .attrs(attrs)
        .mixed(MixedPrecision::Always)
        .layout(layout)
        .same_kernel()
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.conv1d", "Slides a kernel over the width of `data`, optionally dilated and in groups of channels.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv1d)
        .relay(relay(&["data", "weight"], conv1d).attrs(&schema("relay.attrs.Conv1DAttrs", &relay_conv(1, ZEROS[2]))))
        .relax(in_relax(deduce::conv::conv1d, &schema("relax.attrs.Conv1DAttrs", &relax_conv(1)), layout::conv::conv1d)),
    op(
        "nn.conv2d",
        "Slides a kernel over height and width of `data`. `groups` equal to the input channels makes it \
         depthwise.",
    )
    .pattern(OutEWiseFusable)
    .kernel(conv_kernel::conv2d)
    .relay(relay(&["data", "weight"], conv2d).attrs(&CONV2D))
    .relax(
        in_relax(deduce::conv::conv2d, &schema("relax.attrs.Conv2DAttrs", &relax_conv(2)), layout::conv::conv2d)
            .gradient(gradient::nn::conv2d),
    ),
    op("nn.conv3d", "Slides a kernel over depth, height and width of `data`.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv3d)
        .relay(relay(&["data", "weight"], conv3d).attrs(&schema("relay.attrs.Conv3DAttrs", &relay_conv(3, ZEROS[3]))))
        .relax(in_relax(deduce::conv::conv3d, &schema("relax.attrs.Conv3DAttrs", &relax_conv(3)), layout::conv::conv3d)),
    op(
        "nn.contrib_conv2d_NCHWc",
        "A 2-D convolution with the channels of data and kernel split into an outer and an inner axis.",
    )
    .pattern(OutEWiseFusable)
    .kernel(conv_kernel::conv2d)
    .relay(relay(&["data", "weight"], conv2d_any_kernel).attrs(&CONV2D)),
    op("nn.contrib_depthwise_conv2d_NCHWc", "A depthwise 2-D convolution with channels split into an outer and an inner axis.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::conv2d)
        .relay(relay(&["data", "weight"], conv2d).attrs(&CONV2D)),
    op("nn.deformable_conv2d", "A 2-D convolution that interpolates its input at places moved by `offset`.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::deformable)
        .relay(
            relay(&["data", "offset", "weight"], deformable_conv2d)
                .attrs(&schema("relay.attrs.DeformableConv2DAttrs", &deformable())),
        ),
    op("nn.conv2d_backward_weight", "The gradient of `nn.conv2d` with respect to its kernel, whose extents `kernel_size` names.")
        .pattern(OutEWiseFusable)
        .kernel(conv_kernel::backward_weight)
        .relay(relay(&["grad", "data"], conv2d_backward_weight).attrs(&CONV2D)),
];

/// The layouts of a convolution, each with the plain one that its relation computes in.
pub(super) struct ConvLayouts {
    pub data: Layout,
    pub kernel: Layout,
    pub out: Layout,
    pub plain_data: Layout,
    pub plain_kernel: Layout,
}

impl ConvLayouts {
    /// Reads the layout attributes and checks that they are forms of `plain_data` and `plain_kernel`.
    pub fn read(cx: &RuleCx<'_>, plain_data: &str, plain_kernel: &str) -> Result<ConvLayouts, String> {
        let (data, kernel) = (cx.attr_layout("data_layout")?, cx.attr_layout("kernel_layout")?);
        let out = if cx.attr_text("out_layout").is_empty() { data.clone() } else { cx.attr_layout("out_layout")? };
        let (plain_data, plain_kernel) = (Layout::parse(plain_data)?, Layout::parse(plain_kernel)?);
        for (layout, plain, role) in
            [(&data, &plain_data, "input"), (&kernel, &plain_kernel, "kernel"), (&out, &plain_data, "output")]
        {
            if !layout.converts_to(plain) {
                return Err(format!("Conv only support {role} layouts that are convertible from {plain}. But got {layout}"));
            }
        }
        Ok(ConvLayouts { data, kernel, out, plain_data, plain_kernel })
    }

    pub fn plain_data_shape(&self, cx: &mut RuleCx<'_>, shape: &[Dim]) -> Result<Vec<Dim>, String> {
        self.data.convert_shape(cx.store, &self.plain_data, shape)
    }

    pub fn plain_kernel_shape(&self, cx: &mut RuleCx<'_>, shape: &[Dim]) -> Result<Vec<Dim>, String> {
        self.kernel.convert_shape(cx.store, &self.plain_kernel, shape)
    }

    pub fn kernel_shape(&self, cx: &mut RuleCx<'_>, plain: &[Dim]) -> Result<Vec<Dim>, String> {
        self.plain_kernel.convert_shape(cx.store, &self.kernel, plain)
    }

    pub fn out_shape(&self, cx: &mut RuleCx<'_>, plain: &[Dim]) -> Result<Vec<Dim>, String> {
        self.plain_data.convert_shape(cx.store, &self.out, plain)
    }
}

/// The plain data layouts of one, two and three spatial axes.
pub(super) const PLAIN_DATA: [&str; 3] = ["NCW", "NCHW", "NCDHW"];
const PLAIN_KERNEL: [&str; 3] = ["OIW", "OIHW", "OIDHW"];

/// Relation of the convolutions over `rank` spatial axes (TVM's `Conv1DRel`, `Conv2DRel`, `Conv3DRel`). The
/// kernel's type follows from the data where `kernel_size` and `channels` say enough.
fn conv(cx: &mut RuleCx<'_>, rank: usize) -> RuleResult {
    let Some((data, dtype)) = cx.tensor(0) else { return Ok(false) };
    let weight = cx.tensor(1);
    let groups = cx.attr_int("groups");
    // Kernels of oneDNN have a separate axis for the groups.
    let grouped_layout = rank == 2 && groups > 1 && cx.attr_text("kernel_layout").contains('G');
    let plain_kernel = if grouped_layout { "GOIHW" } else { PLAIN_KERNEL[rank - 1] };
    let layouts = ConvLayouts::read(cx, PLAIN_DATA[rank - 1], plain_kernel)?;
    let shape = layouts.plain_data_shape(cx, &data)?;
    let in_channels = shape[1];
    let group_count = Dim::int(groups);
    let dilation = cx.attr_dims_of("dilation", rank)?;
    let (channels, kernel) = match (cx.attr_dim("channels"), cx.attr_dims("kernel_size")) {
        (Some(channels), Some(_)) => {
            let kernel_size = cx.attr_dims_of("kernel_size", rank)?;
            let mut depthwise = false;
            if groups > 1 && rank > 1 {
                let Some((weight, _)) = &weight else {
                    return Err("Weight shape must be specified when groups is greater than 1.".into());
                };
                let weight = layouts.plain_kernel_shape(cx, weight)?;
                depthwise = group_count == in_channels && group_count == weight[0];
            }
            let mut wshape = if grouped_layout {
                vec![group_count, cx.div(channels, group_count), cx.div(in_channels, group_count)]
            } else if depthwise {
                vec![in_channels, cx.div(channels, in_channels)]
            } else {
                vec![channels, cx.div(in_channels, group_count)]
            };
            wshape.extend(&kernel_size);
            let wshape = layouts.kernel_shape(cx, &wshape)?;
            cx.assign_tensor(1, &wshape, weight.map_or(dtype, |(_, d)| d))?;
            (channels, kernel_size)
        }
        (channels, kernel_size) => {
            let Some((weight, _)) = weight else { return Ok(false) };
            let wshape = layouts.plain_kernel_shape(cx, &weight)?;
            // Grouped layouts need `kernel_size` and `channels` in TVM, which misreads the axes here.
            let kernel = wshape[wshape.len() - rank..].to_vec();
            check_kernel(cx, rank, &wshape, kernel_size.as_deref(), channels, wshape[0])?;
            // TVM does not divide by the groups in one dimension.
            let expected = if rank == 1 { in_channels } else { cx.div(in_channels, group_count) };
            if in_channels != Dim::Any && wshape[1] != Dim::Any && !cx.may_equal(expected, wshape[1]) {
                return Err(format!(
                    "conv{rank}d: requires that `{}`, the input channels ({}) divided by groups ({groups}),\n must \
                     match the input channels of the weight `{}`, where the weight shape is ({}).",
                    show_dim(cx.store, expected),
                    show_dim(cx.store, in_channels),
                    show_dim(cx.store, wshape[1]),
                    cx.show(&wshape)
                ));
            }
            (wshape[0], kernel)
        }
    };
    let mut out = vec![shape[0], channels];
    out.extend(window_extents(cx, &shape[2..], &kernel, &dilation)?);
    let out = layouts.out_shape(cx, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// Checks that `kernel_size` and `channels`, where given, agree with the kernel.
pub(super) fn check_kernel(
    cx: &mut RuleCx<'_>,
    rank: usize,
    wshape: &[Dim],
    kernel_size: Option<&[Dim]>,
    channels: Option<Dim>,
    found_channels: Dim,
) -> Result<(), String> {
    if let Some(kernel_size) = kernel_size {
        let kernel = &wshape[wshape.len() - rank..];
        let fits = kernel_size.len() == rank && kernel_size.iter().zip(kernel).all(|(a, b)| cx.may_equal(*a, *b));
        if !fits {
            return Err(format!(
                "Conv{rank}D: shape of weight is inconsistent with kernel_size, kernel_size={} wshape={}",
                cx.show(kernel_size),
                cx.show(wshape)
            ));
        }
    }
    match channels {
        Some(channels) if !cx.may_equal(channels, found_channels) => Err(format!(
            "conv{rank}D: the first dimensions of the weight tensor ({})does not match the number of channels ({}).",
            cx.show(wshape),
            show_dim(cx.store, channels)
        )),
        _ => Ok(()),
    }
}

/// Returns the number of windows that fit along each spatial axis, by the attributes `padding` and
/// `strides`. An unknown extent stays unknown.
pub(super) fn window_extents(cx: &mut RuleCx<'_>, spatial: &[Dim], kernel: &[Dim], dilation: &[Dim]) -> Result<Vec<Dim>, String> {
    let rank = spatial.len();
    let strides = cx.attr_dims_of("strides", rank)?;
    let Some(padding) = cx.total_padding(rank) else {
        return Err(format!("Padding size should be 1, {rank} or {}", 2 * rank));
    };
    let mut out = Vec::with_capacity(rank);
    for i in 0..rank {
        if spatial[i] == Dim::Any {
            out.push(Dim::Any);
            continue;
        }
        let window = cx.dilated(kernel[i], dilation[i]);
        let room = cx.add(spatial[i], padding[i]);
        let room = cx.sub(room, window);
        let steps = cx.div(room, strides[i]);
        out.push(cx.add(steps, Dim::int(1)));
    }
    Ok(out)
}

fn conv1d(cx: &mut RuleCx<'_>) -> RuleResult {
    conv(cx, 1)
}

/// Relation of `nn.conv2d`; `qnn.conv2d` and BYOC operators use it too.
pub fn conv2d(cx: &mut RuleCx<'_>) -> RuleResult {
    conv(cx, 2)
}

fn conv3d(cx: &mut RuleCx<'_>) -> RuleResult {
    conv(cx, 3)
}

/// Relation of convolutions whose kernel may have any form (TVM's `Conv2DWinogradRel`, `Conv3DWinogradRel`,
/// `Conv2DGemmRel`): `kernel_size` and `channels` determine the result.
fn conv_any_kernel(cx: &mut RuleCx<'_>, rank: usize) -> RuleResult {
    let Some((data, dtype)) = cx.tensor(0) else { return Ok(false) };
    let layouts = ConvLayouts::read(cx, PLAIN_DATA[rank - 1], PLAIN_KERNEL[rank - 1])?;
    let shape = layouts.plain_data_shape(cx, &data)?;
    let (Some(channels), Some(_)) = (cx.attr_dim("channels"), cx.attr_dims("kernel_size")) else {
        return Err("The kernel size and channels of a Conv must be set or inferred by previous pass".into());
    };
    let kernel = cx.attr_dims_of("kernel_size", rank)?;
    let dilation = cx.attr_dims_of("dilation", rank)?;
    let mut out = vec![shape[0], channels];
    out.extend(window_extents(cx, &shape[2..], &kernel, &dilation)?);
    let out = layouts.out_shape(cx, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// Relation of 2-D convolutions over a kernel of any form.
pub(super) fn conv2d_any_kernel(cx: &mut RuleCx<'_>) -> RuleResult {
    conv_any_kernel(cx, 2)
}

/// Relation of 3-D convolutions over a kernel of any form.
pub(super) fn conv3d_any_kernel(cx: &mut RuleCx<'_>) -> RuleResult {
    conv_any_kernel(cx, 3)
}

/// TVM's `DeformableConv2DRel`: the offsets' type follows too.
fn deformable_conv2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((data, dtype)) = cx.tensor(0) else { return Ok(false) };
    let layouts = ConvLayouts::read(cx, "NCHW", "OIHW")?;
    let shape = layouts.plain_data_shape(cx, &data)?;
    let group_count = Dim::int(cx.attr_int("groups"));
    let per_group = cx.div(shape[1], group_count);
    let dilation = cx.attr_dims_of("dilation", 2)?;
    let (channels, kernel) = match (cx.attr_dim("channels"), cx.attr_dims("kernel_size")) {
        (Some(channels), Some(_)) => {
            let kernel = cx.attr_dims_of("kernel_size", 2)?;
            let wshape = layouts.kernel_shape(cx, &[channels, per_group, kernel[0], kernel[1]])?;
            cx.assign_tensor(2, &wshape, dtype)?;
            (channels, kernel)
        }
        (channels, kernel_size) => {
            let Some((weight, _)) = cx.tensor(2) else { return Ok(false) };
            let wshape = layouts.plain_kernel_shape(cx, &weight)?;
            check_kernel(cx, 2, &wshape, kernel_size.as_deref(), channels, wshape[0])?;
            if !cx.may_equal(per_group, wshape[1]) {
                return Err("DeformableConv2D: the input channels do not fit the weight".into());
            }
            (wshape[0], wshape[2..].to_vec())
        }
    };
    let extents = window_extents(cx, &shape[2..], &kernel, &dilation)?;
    let area = cx.mul(Dim::int(2), kernel[0]);
    let area = cx.mul(area, kernel[1]);
    let places = cx.mul(area, Dim::int(cx.attr_int("deformable_groups")));
    let offset = [shape[0], places, extents[0], extents[1]];
    let offset = layouts.plain_data.convert_shape(cx.store, &layouts.data, &offset)?;
    cx.assign_tensor(1, &offset, dtype)?;
    let out = layouts.out_shape(cx, &[shape[0], channels, extents[0], extents[1]])?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// TVM's `Conv2DBackwardWeightRel`. It reads `data_layout` as that of the gradient, `kernel_layout` as that
/// of the data and `out_layout` as that of the result.
fn conv2d_backward_weight(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((grad, dtype)), Some((data, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    let kernel = match cx.attr_dims("kernel_size") {
        Some(kernel) if kernel.len() == 2 => kernel,
        _ => return Err("kernel_size attribute needs to be specified".into()),
    };
    let (plain, plain_kernel) = (Layout::parse("NCHW")?, Layout::parse("OIHW")?);
    let (grad_layout, data_layout) = (cx.attr_layout("data_layout")?, cx.attr_layout("kernel_layout")?);
    let out_layout = cx.attr_layout("out_layout")?;
    let grad = grad_layout.convert_shape(cx.store, &plain, &grad)?;
    let data = data_layout.convert_shape(cx.store, &plain, &data)?;
    let (Some(in_channels), Some(out_channels)) = (data[1].known(), grad[1].known()) else {
        return Err("the channels of conv2d_backward_weight must be known".into());
    };
    let groups = cx.attr_int("groups");
    let per_group = if in_channels == out_channels && in_channels == groups {
        cx.attr_dim("channels").ok_or("out_channels attribute not specified for depth wise conv2d.")?
    } else {
        data[1]
    };
    let per_group = cx.div(per_group, Dim::int(groups));
    let shape = [grad[1], per_group, kernel[0], kernel[1]];
    let shape = plain_kernel.convert_shape(cx.store, &out_layout, &shape)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&shape, dtype)
}
