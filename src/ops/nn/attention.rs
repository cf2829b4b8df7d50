//! Attention.

use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, MixedPrecision, OpInfo};

/// Attributes `relax.attrs.AttentionAttrs`.
static RELAX_ATTENTION: AttrsSchema = schema(
    "relax.attrs.AttentionAttrs",
    &[
        field::or_none("scale", AttrKind::Float),
        field::or_none("causal_mask", AttrKind::Str),
        field::or_none("window_size", AttrKind::Any),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.attention", "Attention: softmax of the scaled products of queries and keys, times values.").relax(
        relax(&[value("query"), value("key"), value("value")], deduce::nn::attention)
            .attrs(&RELAX_ATTENTION)
            .mixed(MixedPrecision::Always),
    ),
    op("nn.attention_bias", "The same with a bias on the products.").relax(
        relax(&[value("query"), value("key"), value("value"), value("bias").or_none()], deduce::nn::attention)
            .attrs(&RELAX_ATTENTION)
            .mixed(MixedPrecision::Always),
    ),
    op("nn.attention_var_len", "The same over sequences of different lengths, packed.").relax(
        relax(
            &[
                value("queries"),
                value("keys"),
                value("values"),
                value("seqstart_q"),
                value("max_seqlen_q"),
                value("seqstart_k").or_none(),
                value("max_seqlen_k").or_none(),
            ],
            deduce::nn::attention_var_len,
        )
        .attrs(&RELAX_ATTENTION)
        .mixed(MixedPrecision::Always),
    ),
];
