//! Element-wise operators of one input.

use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern, identity, identity_compare};

/// Attributes `relay.attrs.ClipAttrs`.
pub static CLIP: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ClipAttrs",
    fields: &[AttrField::required("a_min", AttrKind::Float), AttrField::required("a_max", AttrKind::Float)],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "log",
        doc: "Natural logarithm of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "log2",
        doc: "Logarithm to base 2 of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "log10",
        doc: "Logarithm to base 10 of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "tan",
        doc: "Tangent of each element, in radians.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cos",
        doc: "Cosine of each element, in radians.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cosh",
        doc: "Hyperbolic cosine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sin",
        doc: "Sine of each element, in radians.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sinh",
        doc: "Hyperbolic sine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "acos",
        doc: "Inverse cosine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "acosh",
        doc: "Inverse hyperbolic cosine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "asin",
        doc: "Inverse sine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "asinh",
        doc: "Inverse hyperbolic sine of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "atan",
        doc: "Inverse tangent of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "atanh",
        doc: "Inverse hyperbolic tangent of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "exp",
        doc: "e to the power of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "fast_exp",
        doc: "e to the power of each element by a polynomial, accurate to a few units in the last place. The pass FastMath puts it in place of `exp`.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "erf",
        doc: "Gauss error function of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "fast_erf",
        doc: "Gauss error function of each element by a polynomial. The pass FastMath puts it in place of `erf`.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sqrt",
        doc: "Square root of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "rsqrt",
        doc: "One over the square root of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "zeros_like",
        doc: "Zeros in shape and type of the input.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "ones_like",
        doc: "Ones in shape and type of the input.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sigmoid",
        doc: "Logistic function `1 / (1 + exp(-x))` of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "copy",
        doc: "The input itself, as a new tensor.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "floor",
        doc: "Each element rounded down to a whole number.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "ceil",
        doc: "Each element rounded up to a whole number.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "trunc",
        doc: "Each element rounded towards zero.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "round",
        doc: "Each element rounded to the nearest whole number, halves to the even one.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sign",
        doc: "-1, 0 or 1 by the sign of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "abs",
        doc: "Absolute value of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "tanh",
        doc: "Hyperbolic tangent of each element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "fast_tanh",
        doc: "Hyperbolic tangent of each element by a rational function. The pass FastMath puts it in place of `tanh`.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "negative",
        doc: "Each element with the opposite sign.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "logical_not",
        doc: "Whether each element is false.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "bitwise_not",
        doc: "Each element with all its bits flipped.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "isnan",
        doc: "Whether each element is not a number.",
        args: &["data"],
        rule: Some(identity_compare),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "isfinite",
        doc: "Whether each element is neither infinite nor NaN.",
        args: &["data"],
        rule: Some(identity_compare),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "isinf",
        doc: "Whether each element is infinite.",
        args: &["data"],
        rule: Some(identity_compare),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "clip",
        doc: "Each element limited to the range from `a_min` to `a_max`.",
        args: &["data"],
        attrs: Some(&CLIP),
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
];
