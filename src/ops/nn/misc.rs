//! Correlation and the FIFO buffer.

use crate::ir::Dim;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        rule: Some(correlation),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.fifo_buffer",
        doc: "Appends `data` to `buffer` along `axis` and drops as many of the oldest elements.",
        args: &["data", "buffer"],
        attrs: Some(&FIFOBUFFER),
        rule: Some(fifo_buffer),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];

/// TVM's `CorrelationRel`.
fn correlation(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((a, dtype)), Some((b, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if cx.attr_text("layout") != "NCHW" || a.len() != 4 || b.len() != 4 {
        return Err("layout not supported.".into());
    }
    let Some(padding) = cx.total_padding(2) else {
        return Err("Padding size should be 1, 2 or 4".into());
    };
    let [stride1, stride2, displacement] = ["stride1", "stride2", "max_displacement"].map(|name| cx.attr_int(name));
    if stride1 < 1 || stride2 < 1 {
        return Err("the strides of a correlation must be positive".into());
    }
    let border = displacement.saturating_add((cx.attr_int("kernel_size").saturating_sub(1)) / 2);
    let channels = (displacement / stride2).saturating_mul(2).saturating_add(1).saturating_pow(2);
    let mut out = vec![a[0], Dim::int(channels)];
    for (extent, pad) in [(a[2], padding[0]), (b[3], padding[1])] {
        let room = cx.add(extent, pad);
        let room = cx.sub(room, Dim::int(border.saturating_mul(2)));
        let room = cx.add(room, Dim::int(stride1));
        let room = cx.sub(room, Dim::int(1));
        out.push(cx.div(room, Dim::int(stride1)));
    }
    cx.output_tensor(&out, dtype)
}

/// TVM's `FIFOBufferRel`.
fn fifo_buffer(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((data, _)), Some((buffer, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if data.len() != buffer.len() || cx.attr_axis(buffer.len()).is_none() {
        return Err("nn.fifo_buffer needs data and buffer of one rank and an axis within it".into());
    }
    cx.output(cx.types[1])
}
