//! Operators on packed bits.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.BitPackAttrs`.
pub static BIT_PACK: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BitPackAttrs",
    fields: &[
        AttrField::new("bits", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("pack_axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("bit_axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("pack_type", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("name", AttrKind::Str, AttrDefault::Str("BitPack")),
    ],
};

/// Attributes `relay.attrs.BinaryConv2DAttrs`.
pub static BINARY_CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BinaryConv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Ints(&[3, 3])),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("activation_bits", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("weight_bits", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("pack_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("unipolar", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.BinaryDenseAttrs`.
pub static BINARY_DENSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BinaryDenseAttrs",
    fields: &[
        AttrField::required("units", AttrKind::Integer),
        AttrField::new("data_bits", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("weight_bits", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("pack_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("unipolar", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.bitpack",
        doc: "Packs the bits of integers along `pack_axis`, bit planes along a new `bit_axis`.",
        args: &["data"],
        attrs: Some(&BIT_PACK),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.bitserial_conv2d",
        doc: "A 2-D convolution over integers of few bits, computed bit by bit.",
        args: &["data", "weight"],
        attrs: Some(&BINARY_CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.bitserial_dense",
        doc: "A matrix product over integers of few bits, computed bit by bit.",
        args: &["data", "weight"],
        attrs: Some(&BINARY_DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
