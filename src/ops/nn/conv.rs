//! Convolutions: `nn.conv1d`, `nn.conv2d`, `nn.conv3d` and the variants that share their attributes.

use super::conv_kernel;
use crate::ir::{Dim, show_dim};
use crate::ops::layout::Layout;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.Conv1DAttrs`.
pub static CONV1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv1DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv2DAttrs`.
pub static CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv3DAttrs`.
pub static CONV3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv3DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.DeformableConv2DAttrs`.
pub static DEFORMABLE_CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DeformableConv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("deformable_groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.conv1d",
        doc: "Slides a kernel over the width of `data`, optionally dilated and in groups of channels.",
        args: &["data", "weight"],
        attrs: Some(&CONV1_D),
        rule: Some(conv1d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::conv1d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv2d",
        doc: "Slides a kernel over height and width of `data`. `groups` equal to the input channels makes it depthwise.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        rule: Some(conv2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::conv2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv3d",
        doc: "Slides a kernel over depth, height and width of `data`.",
        args: &["data", "weight"],
        attrs: Some(&CONV3_D),
        rule: Some(conv3d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::conv3d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_NCHWc",
        doc: "A 2-D convolution whose data and kernel have their channels split into an outer and an inner axis, as CPU schedules want them.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        rule: Some(conv2d_any_kernel),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::conv2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_depthwise_conv2d_NCHWc",
        doc: "A depthwise 2-D convolution with channels split into an outer and an inner axis.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        rule: Some(conv2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::conv2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.deformable_conv2d",
        doc: "A 2-D convolution that samples its input at places moved by `offset`, interpolating between elements.",
        args: &["data", "offset", "weight"],
        attrs: Some(&DEFORMABLE_CONV2D),
        rule: Some(deformable_conv2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::deformable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv2d_backward_weight",
        doc: "The gradient of a 2-D convolution with respect to its kernel. `kernel_size` names the extent of the result.",
        args: &["grad", "data"],
        attrs: Some(&CONV2D),
        rule: Some(conv2d_backward_weight),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(conv_kernel::backward_weight),
        ..OpInfo::BASE
    },
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
    // Kernels of oneDNN carry the groups as an axis of their own.
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

/// How many windows fit along each spatial axis, by the attributes `padding` and `strides`. An unknown
/// extent stays unknown.
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

/// Relation of convolutions whose kernel may have any form (TVM's `Conv2DWinogradRel`,
/// `Conv3DWinogradRel`, `Conv2DGemmRel`): `kernel_size` and `channels` say everything.
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
