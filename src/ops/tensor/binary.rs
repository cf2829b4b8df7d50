//! Element-wise operators of two inputs, which are broadcast against each other.

use crate::ops::{OpInfo, OpPattern, broadcast, broadcast_compare};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "add",
        doc: "Sum of two tensors, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "subtract",
        doc: "Difference of two tensors, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "multiply",
        doc: "Product of two tensors, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "divide",
        doc: "Quotient of two tensors, element by element with broadcasting. Integers are rounded towards zero.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "trunc_divide",
        doc: "Quotient rounded towards zero, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "floor_divide",
        doc: "Quotient rounded down, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "power",
        doc: "The first tensor to the power of the second, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "mod",
        doc: "Remainder with the sign of the dividend, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "floor_mod",
        doc: "Remainder with the sign of the divisor, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "trunc_mod",
        doc: "Remainder of the quotient rounded towards zero, element by element with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "maximum",
        doc: "The larger of two elements, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "minimum",
        doc: "The smaller of two elements, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "right_shift",
        doc: "Bits of the first tensor moved right by the second, with broadcasting. Signed numbers keep their sign.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "left_shift",
        doc: "Bits of the first tensor moved left by the second, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "logical_and",
        doc: "Whether both elements are true, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "logical_or",
        doc: "Whether at least one of two elements is true, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "logical_xor",
        doc: "Whether exactly one of two elements is true, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "bitwise_and",
        doc: "Bits set in both elements, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "bitwise_or",
        doc: "Bits set in at least one of two elements, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "bitwise_xor",
        doc: "Bits set in exactly one of two elements, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "equal",
        doc: "Whether two elements are equal, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "not_equal",
        doc: "Whether two elements differ, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "less",
        doc: "Whether the first element is smaller than the second, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "less_equal",
        doc: "Whether the first element is at most the second, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "greater",
        doc: "Whether the first element is larger than the second, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "greater_equal",
        doc: "Whether the first element is at least the second, with broadcasting.",
        args: &["lhs", "rhs"],
        rule: Some(broadcast_compare),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
];
