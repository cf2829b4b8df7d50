//! Random numbers from a key (`random.*`).

use super::threefry;
use crate::ir::{DType, DTypeCode, Dim, TypeId};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ThreefryGenerateAttrs`.
pub static THREEFRY_GENERATE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ThreefryGenerateAttrs", fields: &[AttrField::required("out_shape", AttrKind::Ints)] };

/// Attributes `relay.attrs.UniformAttrs`.
pub static UNIFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.UniformAttrs",
    fields: &[
        AttrField::required("out_shape", AttrKind::Ints),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.NormalAttrs`.
pub static NORMAL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.NormalAttrs",
    fields: &[
        AttrField::required("out_shape", AttrKind::Ints),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.MultinomialAttrs`.
pub static MULTINOMIAL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MultinomialAttrs",
    fields: &[AttrField::new("num_samples", AttrKind::Integer, AttrDefault::Int(1))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "random.threefry_generate",
        doc: "Random bits from a key, and the next key.",
        args: &["key"],
        attrs: Some(&THREEFRY_GENERATE),
        rule: Some(generate_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(threefry::generate),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.threefry_split",
        doc: "Two independent keys from one.",
        args: &["key"],
        rule: Some(split_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(threefry::split),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.uniform",
        doc: "Uniformly distributed numbers from a key, and the next key.",
        args: &["key", "low", "high"],
        attrs: Some(&UNIFORM),
        rule: Some(distribution_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(threefry::uniform),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.normal",
        doc: "Normally distributed numbers from a key, and the next key.",
        args: &["key", "mean", "scale"],
        attrs: Some(&NORMAL),
        rule: Some(distribution_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(threefry::normal),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.multinomial",
        doc: "Indices drawn with the given probabilities, and the next key.",
        args: &["key", "probs"],
        attrs: Some(&MULTINOMIAL),
        rule: Some(multinomial_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(threefry::multinomial),
        ..OpInfo::BASE
    },
];

pub(super) const U64: DType = DType::new(DTypeCode::UInt, 64);

/// The type of a key: ten words.
fn key_type(cx: &mut RuleCx<'_>) -> TypeId {
    cx.store.tensor_type(&[Dim::int(10)], U64)
}

/// Demands that the first input is a key and the output is the next key with something.
fn output_with_key(cx: &mut RuleCx<'_>, drawn: TypeId) -> RuleResult {
    let key = key_type(cx);
    cx.assign(0, key)?;
    let tuple = cx.store.tuple_type(&[key, drawn]);
    cx.output(tuple)
}

fn generate_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let shape = cx.attr_dims("out_shape").ok_or("`out_shape` is not given")?;
    let words = cx.store.tensor_type(&shape, U64);
    output_with_key(cx, words)
}

fn split_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let key = key_type(cx);
    output_with_key(cx, key)
}

fn distribution_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let shape = cx.attr_dims("out_shape").ok_or("`out_shape` is not given")?;
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype");
    let Some(dtype) = dtype.filter(|d| *d == DType::F32 || *d == DType::F64) else {
        let found = dtype.map_or_else(String::new, |d| d.to_string());
        return Err(format!("We only support generating random values of type float32 or float64, got {found}."));
    };
    for bound in [1, 2] {
        cx.assign_tensor(bound, &[], dtype)?;
    }
    let drawn = cx.store.tensor_type(&shape, dtype);
    output_with_key(cx, drawn)
}

fn multinomial_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, _) = input!(cx, 1);
    ensure!(!shape.is_empty(), "multinomial needs probabilities along an axis");
    let last = shape.len() - 1;
    shape[last] = Dim::int(cx.attr_int("num_samples"));
    let drawn = cx.store.tensor_type(&shape, DType::I32);
    output_with_key(cx, drawn)
}
