//! Random numbers from a key (`random.*`).

use super::threefry;
use crate::ir::{DType, DTypeCode, Dim, TypeId};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("random.threefry_generate", "Random bits from a key, and the next key.")
        .pattern(OpPattern::Opaque)
        .kernel(threefry::generate)
        .relay(
            relay(&["key"], generate_rule)
                .attrs(&schema("relay.attrs.ThreefryGenerateAttrs", &[field::required("out_shape", AttrKind::Ints)])),
        ),
    op("random.threefry_split", "Two independent keys from one.")
        .pattern(OpPattern::Opaque)
        .kernel(threefry::split)
        .relay(relay(&["key"], split_rule)),
    op("random.uniform", "Uniformly distributed numbers from a key, and the next key.")
        .pattern(OpPattern::Opaque)
        .kernel(threefry::uniform)
        .relay(relay(&["key", "low", "high"], distribution_rule).attrs(&schema(
            "relay.attrs.UniformAttrs",
            &[field::required("out_shape", AttrKind::Ints), field::dtype("out_dtype", "")],
        ))),
    op("random.normal", "Normally distributed numbers from a key, and the next key.")
        .pattern(OpPattern::Opaque)
        .kernel(threefry::normal)
        .relay(relay(&["key", "mean", "scale"], distribution_rule).attrs(&schema(
            "relay.attrs.NormalAttrs",
            &[field::required("out_shape", AttrKind::Ints), field::dtype("out_dtype", "")],
        ))),
    op("random.multinomial", "Indices drawn with the given probabilities, and the next key.")
        .pattern(OpPattern::Opaque)
        .kernel(threefry::multinomial)
        .relay(
            relay(&["key", "probs"], multinomial_rule)
                .attrs(&schema("relay.attrs.MultinomialAttrs", &[field::integer("num_samples", 1)])),
        ),
    op("multinomial_from_uniform", "Samples of distributions, from uniform samples.").relax(
        relax(&[value("prob"), value("uniform_sample"), value("sample_indices")], deduce::search::multinomial)
            .attrs(&schema("relax.attrs.MultinomialFromUniformAttrs", &[field::dtype("dtype", "int64")])),
    ),
];

pub(super) const U64: DType = DType::new(DTypeCode::UInt, 64);

/// The type of a key: ten words.
fn key_type(cx: &mut RuleCx<'_>) -> TypeId {
    cx.store.tensor_type(&[Dim::int(10)], U64)
}

/// Demands that the first input is a key and the output a tuple of the next key and `drawn`.
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
