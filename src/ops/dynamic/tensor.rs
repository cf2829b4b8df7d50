//! Tensor operators whose shape argument is an input (`dyn.*`).

use crate::ops::tensor::arrange::INIT_OP;
use crate::ops::tensor::arrange::TILE;
use crate::ops::tensor::index::ONE_HOT;
use crate::ops::tensor::shape::RESHAPE;
use crate::ops::tensor::shape::SQUEEZE;
use crate::ops::tensor::slice::STRIDED_SLICE;
use crate::ops::tensor::sort::TOPK;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.DynExpandDimsAttrs`.
pub static DYN_EXPAND_DIMS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DynExpandDimsAttrs",
    fields: &[AttrField::new("num_newaxis", AttrKind::Int, AttrDefault::Int(1))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "dyn.reshape",
        doc: "Like `reshape`, with the new shape as an input.",
        args: &["data", "newshape"],
        attrs: Some(&RESHAPE),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.squeeze",
        doc: "Like `squeeze`, with the axes as an input.",
        args: &["data", "axes"],
        attrs: Some(&SQUEEZE),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.expand_dims",
        doc: "Like `expand_dims`, with the axis as an input.",
        args: &["data", "axis"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.tile",
        doc: "Like `tile`, with the repetitions as an input.",
        args: &["data", "reps"],
        attrs: Some(&TILE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.broadcast_to",
        doc: "Like `broadcast_to`, with the shape as an input.",
        args: &["data", "shape"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.zeros",
        doc: "Like `zeros`, with the shape as an input.",
        args: &["shape"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.ones",
        doc: "Like `ones`, with the shape as an input.",
        args: &["shape"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.full",
        doc: "Like `full`, with the shape as an input.",
        args: &["fill_value", "shape"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.one_hot",
        doc: "Like `one_hot`, with the depth as an input.",
        args: &["indices", "on_value", "off_value", "depth"],
        attrs: Some(&ONE_HOT),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.strided_slice",
        doc: "Like `strided_slice`, with begin, end and strides as inputs.",
        args: &["data", "begin", "end", "strides", "slice_mode"],
        attrs: Some(&STRIDED_SLICE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.sparse_to_dense",
        doc: "Like `sparse_to_dense`, with the shape as an input.",
        args: &["sparse_indices", "sparse_values", "default_value", "output_shape"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "dyn.topk",
        doc: "Like `topk`, with `k` as an input.",
        args: &["data", "k"],
        attrs: Some(&TOPK),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
