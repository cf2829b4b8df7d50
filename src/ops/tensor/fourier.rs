//! Fourier transforms.

use super::{ensure, input};
use crate::ir::Dim;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.StftAttrs`.
pub static STFT: AttrsSchema = AttrsSchema {
    key: "relay.attrs.StftAttrs",
    fields: &[
        AttrField::new("n_fft", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("hop_length", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("win_length", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("normalized", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("onesided", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.DFTAttrs`.
pub static DFT: AttrsSchema =
    AttrsSchema { key: "relay.attrs.DFTAttrs", fields: &[AttrField::new("inverse", AttrKind::Bool, AttrDefault::Bool(false))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "dft",
        doc: "Discrete Fourier transform along the last axis, of a real and an imaginary part.",
        args: &["re_data", "im_data"],
        rule: Some(dft_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "stft",
        doc: "Fourier transforms of windows slid over a signal.",
        args: &["data", "window"],
        rule: Some(stft_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];

fn dft_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    input!(cx, 1);
    let parts = [cx.types[0], cx.types[1]];
    let tuple = cx.store.tuple_type(&parts);
    cx.output(tuple)
}

fn stft_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(matches!(shape.len(), 1 | 2), "stft needs a signal or a batch of signals");
    let (size, hop) = (cx.attr_int("n_fft"), cx.attr_int("hop_length"));
    ensure!(hop > 0, "stft needs a positive `hop_length`, but got {hop}");
    let mut out = shape[..shape.len() - 1].to_vec();
    out.push(Dim::int(if cx.attr_flag("onesided") { size / 2 + 1 } else { size }));
    let rest = cx.sub(shape[shape.len() - 1], Dim::int(size));
    let steps = cx.div(rest, Dim::int(hop));
    let frames = cx.add(steps, Dim::int(1));
    out.extend([frames, Dim::int(2)]);
    cx.output_tensor(&out, dtype)
}
