//! Pooling over whole images and to a wanted size.

use super::pool::spatial_axes;
use super::pool_kernel;
use crate::ir::Dim;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.GlobalPool2DAttrs`.
pub static GLOBAL_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GlobalPool2DAttrs",
    fields: &[
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
    ],
};

/// Attributes `relay.attrs.AdaptivePool1DAttrs`.
pub static ADAPTIVE_POOL1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AdaptivePool1DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Ints(&[])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
    ],
};

/// Attributes `relay.attrs.AdaptivePool2DAttrs`.
pub static ADAPTIVE_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AdaptivePool2DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Ints(&[])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
    ],
};

/// Attributes `relay.attrs.AdaptivePool3DAttrs`.
pub static ADAPTIVE_POOL3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AdaptivePool3DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Ints(&[])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.global_avg_pool2d",
        doc: "The mean over all of height and width.",
        args: &["data"],
        attrs: Some(&GLOBAL_POOL2D),
        rule: Some(global2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::global_avg2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.global_max_pool2d",
        doc: "The largest element over all of height and width.",
        args: &["data"],
        attrs: Some(&GLOBAL_POOL2D),
        rule: Some(global2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::global_max2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool1d",
        doc: "Means over as many windows as `output_size` asks for along the width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL1_D),
        rule: Some(adaptive1d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_avg1d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool1d",
        doc: "Maxima over as many windows as `output_size` asks for along the width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL1_D),
        rule: Some(adaptive1d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_max1d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool2d",
        doc: "Means over as many windows as `output_size` asks for along height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL2D),
        rule: Some(adaptive2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_avg2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool2d",
        doc: "Maxima over as many windows as `output_size` asks for along height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL2D),
        rule: Some(adaptive2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_max2d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool3d",
        doc: "Means over as many windows as `output_size` asks for along depth, height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL3_D),
        rule: Some(adaptive3d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_avg3d),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool3d",
        doc: "Maxima over as many windows as `output_size` asks for along depth, height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL3_D),
        rule: Some(adaptive3d),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(pool_kernel::adaptive_max3d),
        ..OpInfo::BASE
    },
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
/// number stands for all axes, none for leaving them as they are.
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
