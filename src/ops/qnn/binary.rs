//! Element-wise operators over two quantised tensors.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.ConcatenateAttrs`.
pub static CONCATENATE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ConcatenateAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.add",
        doc: "Adds two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.subtract",
        doc: "Subtracts two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.mul",
        doc: "Multiplies two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.concatenate",
        doc: "Joins quantised tensors along `axis`, each requantised to the output scale and zero point.",
        args: &["data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"],
        attrs: Some(&CONCATENATE),
        pattern: Some(OpPattern::Injective),
        non_computational: true,
        ..OpInfo::BASE
    },
];
