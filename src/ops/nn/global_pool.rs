//! Pooling over whole images and to a wanted size.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

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
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.global_max_pool2d",
        doc: "The largest element over all of height and width.",
        args: &["data"],
        attrs: Some(&GLOBAL_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool1d",
        doc: "Means over as many windows as `output_size` asks for along the width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL1_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool1d",
        doc: "Maxima over as many windows as `output_size` asks for along the width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL1_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool2d",
        doc: "Means over as many windows as `output_size` asks for along height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool2d",
        doc: "Maxima over as many windows as `output_size` asks for along height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_avg_pool3d",
        doc: "Means over as many windows as `output_size` asks for along depth, height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL3_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.adaptive_max_pool3d",
        doc: "Maxima over as many windows as `output_size` asks for along depth, height and width.",
        args: &["data"],
        attrs: Some(&ADAPTIVE_POOL3_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
