//! Correlation and the FIFO buffer.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.CorrelationAttrs`.
pub static CORRELATION: AttrsSchema = AttrsSchema {
    key: "relay.attrs.CorrelationAttrs",
    fields: &[
        AttrField::new("kernel_size", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("max_displacement", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("stride1", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("stride2", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("is_multiply", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
    ],
};

/// Attributes `relay.attrs.FIFOBufferAttrs`.
pub static FIFOBUFFER: AttrsSchema =
    AttrsSchema { key: "relay.attrs.FIFOBufferAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.correlation",
        doc: "Compares patches of two images at every displacement up to `max_displacement`.",
        args: &["data1", "data2"],
        attrs: Some(&CORRELATION),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.fifo_buffer",
        doc: "Appends `data` to `buffer` along `axis` and drops as many of the oldest elements.",
        args: &["data", "buffer"],
        attrs: Some(&FIFOBUFFER),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
