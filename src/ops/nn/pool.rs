//! Pooling with a window.

use super::pool_kernel;
use crate::ir::{Dim, PrimOp};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.MaxPool1DAttrs`.
pub static MAX_POOL1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool1DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.MaxPool2DAttrs`.
pub static MAX_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool2DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.MaxPool3DAttrs`.
pub static MAX_POOL3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool3DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool1DAttrs`.
pub static AVG_POOL1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool1DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool2DAttrs`.
pub static AVG_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool2DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool3DAttrs`.
pub static AVG_POOL3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool3DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.max_pool1d",
        doc: "The largest element of each window over the width.",
        args: &["data"],
        attrs: Some(&MAX_POOL1_D),
        rule: Some(pool1d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::max_pool1d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool2d",
        doc: "The largest element of each window over height and width.",
        args: &["data"],
        attrs: Some(&MAX_POOL2D),
        rule: Some(pool2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::max_pool2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool3d",
        doc: "The largest element of each window over depth, height and width.",
        args: &["data"],
        attrs: Some(&MAX_POOL3_D),
        rule: Some(pool3d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::max_pool3d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool1d",
        doc: "The mean of each window over the width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL1_D),
        rule: Some(pool1d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::avg_pool1d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool2d",
        doc: "The mean of each window over height and width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL2D),
        rule: Some(pool2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::avg_pool2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool3d",
        doc: "The mean of each window over depth, height and width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL3_D),
        rule: Some(pool3d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::avg_pool3d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool2d_grad",
        doc: "The gradient of `nn.max_pool2d`: each window sends its gradient to its largest element. The first input is the incoming gradient.",
        args: &["data", "grad"],
        attrs: Some(&MAX_POOL2D),
        rule: Some(pool2d_grad),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::max_pool2d_grad),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool2d_grad",
        doc: "The gradient of `nn.avg_pool2d`: each window spreads its gradient evenly. The first input is the incoming gradient.",
        args: &["data", "grad"],
        attrs: Some(&MAX_POOL2D),
        rule: Some(pool2d_grad),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::avg_pool2d_grad),
        ..OpInfo::BASE
    },
];

/// Where the spatial axes `letters` stand in the layout; none of them may be split.
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
    // With any other number of paddings TVM says nothing and the type stays open.
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
