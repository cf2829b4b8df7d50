//! Tensors spread over devices.

use super::{RelaxOp, deduce, layout, tuple, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AllGatherAttrs`.
pub static ALL_GATHER: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AllGatherAttrs",
    fields: &[
        AttrField::required("num_workers", AttrKind::Int),
        AttrField::new("in_group", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.AllReduceAttrs`.
pub static ALL_REDUCE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AllReduceAttrs",
    fields: &[
        AttrField::new("op_type", AttrKind::Str, AttrDefault::Str("sum")),
        AttrField::new("in_group", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.DistributionAttrs`.
pub static DISTRIBUTION: AttrsSchema = AttrsSchema {
    key: "relax.attrs.DistributionAttrs",
    fields: &[AttrField::required("device_mesh", AttrKind::Any), AttrField::required("placement", AttrKind::Any)],
};

/// Attributes `relax.attrs.ScatterCollectiveAttrs`.
pub static SCATTER_COLLECTIVE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ScatterCollectiveAttrs",
    fields: &[AttrField::required("num_workers", AttrKind::Int), AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "ccl.allgather",
        deduce: Some(deduce::runtime::all_gather),
        doc: "Gathers the tensors of all workers.",
        args: &[value("x")],
        attrs: Some(&ALL_GATHER),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ccl.allreduce",
        deduce: Some(deduce::same),
        doc: "Combines the tensors of all workers.",
        args: &[value("x")],
        attrs: Some(&ALL_REDUCE),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ccl.broadcast_from_worker0",
        deduce: Some(deduce::same),
        doc: "The tensor of the first worker, on all of them.",
        args: &[value("x")],
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ccl.scatter_from_worker0",
        deduce: Some(deduce::runtime::scatter),
        doc: "To each worker its part of a tensor of the first.",
        args: &[value("x")],
        attrs: Some(&SCATTER_COLLECTIVE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "dist.annotate_sharding",
        deduce: Some(deduce::same),
        doc: "Says how a tensor is spread over a mesh.",
        args: &[value("value")],
        attrs: Some(&DISTRIBUTION),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "dist.call_tir_local_view",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a tensor program on the part of each device.",
        args: &[value("gvar"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "dist.redistribute",
        deduce: Some(deduce::same),
        doc: "Spreads a tensor another way.",
        args: &[value("value")],
        attrs: Some(&DISTRIBUTION),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "dist.redistribute_replica_to_shard",
        deduce: Some(deduce::same),
        doc: "Keeps one part of a tensor that each device has whole.",
        args: &[value("input")],
        attrs: Some(&SCATTER_COLLECTIVE),
        ..RelaxOp::BASE
    },
];
