//! Communication between workers, and tensors spread over a mesh of devices.

use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, relax, tuple, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo};

/// Attributes `relax.attrs.ScatterCollectiveAttrs`.
static RELAX_SCATTER_COLLECTIVE: AttrsSchema =
    schema("relax.attrs.ScatterCollectiveAttrs", &[field::required("num_workers", AttrKind::Int), field::int("axis", 0)]);

/// Attributes `relax.attrs.DistributionAttrs`.
static RELAX_DISTRIBUTION: AttrsSchema = schema(
    "relax.attrs.DistributionAttrs",
    &[field::required("device_mesh", AttrKind::Any), field::required("placement", AttrKind::Any)],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("ccl.allgather", "Gathers the tensors of all workers.").relax(
        relax(&[value("x")], deduce::runtime::all_gather)
            .attrs(&schema(
                "relax.attrs.AllGatherAttrs",
                &[field::required("num_workers", AttrKind::Int), field::flag("in_group", true)],
            ))
            .layout(layout::element::unary),
    ),
    op("ccl.allreduce", "Combines the tensors of all workers.").relax(
        relax(&[value("x")], deduce::unary::same_tensor)
            .attrs(&schema("relax.attrs.AllReduceAttrs", &[field::text("op_type", "sum"), field::flag("in_group", true)]))
            .layout(layout::element::unary),
    ),
    op("ccl.broadcast_from_worker0", "The tensor of the first worker, on all of them.")
        .relax(relax(&[value("x")], deduce::unary::same_tensor).layout(layout::element::unary)),
    op("ccl.scatter_from_worker0", "To each worker its part of a tensor of the first.")
        .relax(relax(&[value("x")], deduce::runtime::scatter).attrs(&RELAX_SCATTER_COLLECTIVE)),
    op("dist.annotate_sharding", "Says how a tensor is spread over a mesh.")
        .relax(relax(&[value("value")], deduce::same).attrs(&RELAX_DISTRIBUTION)),
    op("dist.call_tir_local_view", "Calls a tensor program on the part of each device.")
        .relax(relax(&[value("gvar"), tuple("args")], deduce::runtime::named)),
    op("dist.redistribute", "Spreads a tensor another way.")
        .relax(relax(&[value("value")], deduce::same).attrs(&RELAX_DISTRIBUTION)),
    op("dist.redistribute_replica_to_shard", "Keeps one part of a tensor that each device has whole.")
        .relax(relax(&[value("input")], deduce::runtime::shard).attrs(&RELAX_SCATTER_COLLECTIVE)),
];
