//! Padding and resizing whose amounts are inputs (`dyn.nn.*`, `dyn.image.*`).

use crate::ops::image::resize::RESIZE2D;
use crate::ops::nn::pad::PAD;
use crate::ops::nn::space::{UP_SAMPLING, UP_SAMPLING3_D};
use crate::ops::{OpInfo, OpPattern};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "dyn.nn.pad",
        doc: "Like `nn.pad`, with the widths as an input.",
        args: &["data", "pad_width", "pad_val"],
        attrs: Some(&PAD),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling",
        doc: "Like `nn.upsampling`, with the scales as inputs.",
        args: &["data", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.nn.upsampling3d",
        doc: "Like `nn.upsampling3d`, with the scales as inputs.",
        args: &["data", "scale_d", "scale_h", "scale_w"],
        attrs: Some(&UP_SAMPLING3_D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.image.resize2d",
        doc: "Like `image.resize2d`, with the size as an input.",
        args: &["data", "size", "roi"],
        attrs: Some(&RESIZE2D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
