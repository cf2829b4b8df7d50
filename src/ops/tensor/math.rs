//! Einstein sums and Fourier transforms.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.EinsumAttrs`.
pub static EINSUM: AttrsSchema =
    AttrsSchema { key: "relay.attrs.EinsumAttrs", fields: &[AttrField::required("equation", AttrKind::Str)] };

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
        name: "einsum",
        doc: "Sum of products over indices named by an equation, such as `ij,jk->ik`.",
        args: &["data"],
        attrs: Some(&EINSUM),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dft",
        doc: "Discrete Fourier transform along the last axis, of a real and an imaginary part.",
        args: &["re_data", "im_data"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "stft",
        doc: "Fourier transforms of windows slid over a signal.",
        args: &["data", "window"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
