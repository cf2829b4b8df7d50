//! Shapes, axes, gathering and scattering.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, prim, shape, tuple, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.ConcatAttrs`.
pub static CONCAT: AttrsSchema =
    AttrsSchema { key: "relax.attrs.ConcatAttrs", fields: &[AttrField::new("axis", AttrKind::Integer, AttrDefault::Int(0))] };

/// Attributes `relax.attrs.ExpandDimsAttrs`.
pub static EXPAND_DIMS: AttrsSchema =
    AttrsSchema { key: "relax.attrs.ExpandDimsAttrs", fields: &[AttrField::required("axis", AttrKind::Ints)] };

/// Attributes `relax.attrs.FlipAttrs`.
pub static FLIP: AttrsSchema =
    AttrsSchema { key: "relax.attrs.FlipAttrs", fields: &[AttrField::required("axis", AttrKind::Int)] };

/// Attributes `relax.attrs.GatherElementsAttrs`.
pub static GATHER_ELEMENTS: AttrsSchema =
    AttrsSchema { key: "relax.attrs.GatherElementsAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// Attributes `relax.attrs.GatherNDAttrs`.
pub static GATHER_ND: AttrsSchema =
    AttrsSchema { key: "relax.attrs.GatherNDAttrs", fields: &[AttrField::new("batch_dims", AttrKind::Int, AttrDefault::Int(0))] };

/// Attributes `relax.attrs.IndexPutAttrs`.
pub static INDEX_PUT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.IndexPutAttrs",
    fields: &[AttrField::new("accumulate", AttrKind::Bool, AttrDefault::Bool(false))],
};

/// Attributes `relax.attrs.LayoutTransformAttrs`.
pub static LAYOUT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.LayoutTransformAttrs",
    fields: &[AttrField::required("index_map", AttrKind::Any), AttrField::new("pad_value", AttrKind::Any, AttrDefault::Null)],
};

/// Attributes `relax.attrs.MeshgridAttrs`.
pub static MESHGRID: AttrsSchema = AttrsSchema {
    key: "relax.attrs.MeshgridAttrs",
    fields: &[AttrField::new("indexing", AttrKind::Str, AttrDefault::Str("ij"))],
};

/// Attributes `relax.attrs.OneHotAttrs`.
pub static ONE_HOT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.OneHotAttrs",
    fields: &[AttrField::required("depth", AttrKind::Int), AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))],
};

/// Attributes `relax.attrs.PermuteDimsAttrs`.
pub static PERMUTE_DIMS: AttrsSchema =
    AttrsSchema { key: "relax.attrs.PermuteDimsAttrs", fields: &[AttrField::new("axes", AttrKind::Ints, AttrDefault::Null)] };

/// Attributes `relax.attrs.RepeatAttrs`.
pub static REPEAT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.RepeatAttrs",
    fields: &[AttrField::required("repeats", AttrKind::Int), AttrField::new("axis", AttrKind::Integer, AttrDefault::Null)],
};

/// Attributes `relax.attrs.ReverseSequenceAttrs`.
pub static REVERSE_SEQUENCE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ReverseSequenceAttrs",
    fields: &[
        AttrField::new("seq_axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("batch_axis", AttrKind::Int, AttrDefault::Int(0)),
    ],
};

/// Attributes `relax.attrs.ScatterElementsAttrs`.
pub static SCATTER_ELEMENTS: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ScatterElementsAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("reduction", AttrKind::Str, AttrDefault::Str("update")),
    ],
};

/// Attributes `relax.attrs.ScatterNDAttrs`.
pub static SCATTER_ND: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ScatterNDAttrs",
    fields: &[AttrField::new("reduction", AttrKind::Str, AttrDefault::Str("update"))],
};

/// Attributes `relax.attrs.SliceScatterAttrs`.
pub static SLICE_SCATTER: AttrsSchema =
    AttrsSchema { key: "relax.attrs.SliceScatterAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// Attributes `relax.attrs.SplitAttrs`.
pub static SPLIT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.SplitAttrs",
    fields: &[
        AttrField::required("indices_or_sections", AttrKind::Any),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0)),
    ],
};

/// Attributes `relax.attrs.SqueezeAttrs`.
pub static SQUEEZE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.SqueezeAttrs", fields: &[AttrField::new("axis", AttrKind::Ints, AttrDefault::Null)] };

/// Attributes `relax.attrs.StackAttrs`.
pub static STACK: AttrsSchema =
    AttrsSchema { key: "relax.attrs.StackAttrs", fields: &[AttrField::new("axis", AttrKind::Integer, AttrDefault::Int(0))] };

/// Attributes `relax.attrs.TileAttrs`.
pub static TILE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.TileAttrs", fields: &[AttrField::required("repeats", AttrKind::Ints)] };

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "broadcast_to",
        deduce: Some(deduce::manipulate::broadcast_to),
        doc: "The tensor repeated to a shape.",
        args: &[value("x"), shape("shape")],
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::manipulate::broadcast_to),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "collapse_sum_like",
        deduce: Some(deduce::manipulate::collapse_sum_like),
        doc: "Sums up what broadcasting to this shape would have repeated, the shape being that of the second tensor.",
        args: &[value("data"), value("collapse_target")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "collapse_sum_to",
        deduce: Some(deduce::manipulate::collapse_sum_to),
        doc: "Sums up what broadcasting from this shape would have repeated.",
        args: &[value("data"), shape("shape")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "concat",
        deduce: Some(deduce::manipulate::concat),
        doc: "Tensors one behind the other along `axis`.",
        args: &[tuple("tensors")],
        attrs: Some(&CONCAT),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::concat),
        gradient: Some(gradient::manipulate::concat),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "expand_dims",
        deduce: Some(deduce::manipulate::expand_dims),
        doc: "The same elements with axes of extent one put in.",
        args: &[value("x")],
        attrs: Some(&EXPAND_DIMS),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::expand_dims),
        gradient: Some(gradient::manipulate::expand_dims),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "flatten",
        deduce: Some(deduce::manipulate::flatten),
        doc: "All elements on one axis.",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "flip",
        deduce: Some(deduce::manipulate::along_axis),
        doc: "The elements along `axis` backwards.",
        args: &[value("data")],
        attrs: Some(&FLIP),
        layout: Some(layout::manipulate::flip),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "gather_elements",
        deduce: Some(deduce::manipulate::gather_elements),
        doc: "Elements along `axis` at the given indices.",
        args: &[value("data"), value("indices")],
        attrs: Some(&GATHER_ELEMENTS),
        layout: Some(layout::select::gather_elements),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "gather_nd",
        deduce: Some(deduce::manipulate::gather_nd),
        doc: "Parts of a tensor at the given indices.",
        args: &[value("data"), value("indices")],
        attrs: Some(&GATHER_ND),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "index_put",
        deduce: Some(deduce::manipulate::update),
        doc: "A tensor with the values at the given indices replaced.",
        args: &[value("data"), value("indices"), value("values")],
        attrs: Some(&INDEX_PUT),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "index_tensor",
        deduce: Some(deduce::manipulate::index_tensor),
        doc: "Elements at the given indices, as NumPy indexes.",
        args: &[value("data"), tuple("indices")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "layout_transform",
        deduce: Some(deduce::manipulate::layout_transform),
        doc: "The elements at the places that an index map gives.",
        args: &[value("x")],
        attrs: Some(&LAYOUT_TRANSFORM),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "meshgrid",
        deduce: Some(deduce::manipulate::meshgrid),
        doc: "Coordinates of a grid from its axes.",
        args: &[tuple("tensors")],
        attrs: Some(&MESHGRID),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "one_hot",
        deduce: Some(deduce::manipulate::one_hot),
        doc: "`on_value` at each index, `off_value` elsewhere.",
        args: &[value("indices"), prim("on_value"), prim("off_value")],
        attrs: Some(&ONE_HOT),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "permute_dims",
        deduce: Some(deduce::manipulate::permute_dims),
        doc: "The axes in another order.",
        args: &[value("x")],
        attrs: Some(&PERMUTE_DIMS),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::permute_dims),
        gradient: Some(gradient::manipulate::permute_dims),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "repeat",
        deduce: Some(deduce::manipulate::repeat),
        doc: "Each element some times.",
        args: &[value("data")],
        attrs: Some(&REPEAT),
        layout: Some(layout::manipulate::repeat),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "reshape",
        deduce: Some(deduce::manipulate::reshape),
        doc: "The same elements in another shape.",
        args: &[value("x"), shape("shape")],
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::manipulate::reshape),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "reverse_sequence",
        deduce: Some(deduce::manipulate::along_axis),
        relay: "reverse_sequence",
        args: &[value("data"), value("seq_lengths")],
        attrs: Some(&REVERSE_SEQUENCE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "scatter_elements",
        deduce: Some(deduce::manipulate::update),
        doc: "A tensor with elements along `axis` updated.",
        args: &[value("data"), value("indices"), value("updates")],
        attrs: Some(&SCATTER_ELEMENTS),
        layout: Some(layout::select::scatter_elements),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "scatter_nd",
        deduce: Some(deduce::manipulate::update),
        doc: "A tensor with parts updated.",
        args: &[value("data"), value("indices"), value("updates")],
        attrs: Some(&SCATTER_ND),
        layout: Some(layout::select::scatter_nd),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "slice_scatter",
        deduce: Some(deduce::manipulate::update),
        doc: "A tensor with a slice replaced.",
        args: &[value("input_tensor"), value("src"), prim("start"), prim("end"), prim("step")],
        attrs: Some(&SLICE_SCATTER),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "split",
        deduce: Some(deduce::manipulate::split),
        doc: "Parts of a tensor along `axis`.",
        args: &[value("x")],
        attrs: Some(&SPLIT),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::split),
        gradient: Some(gradient::manipulate::split),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "squeeze",
        deduce: Some(deduce::manipulate::squeeze),
        doc: "Without axes of extent one.",
        args: &[value("x")],
        attrs: Some(&SQUEEZE),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::squeeze),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "stack",
        deduce: Some(deduce::manipulate::stack),
        doc: "Tensors along a new axis.",
        args: &[tuple("tensors")],
        attrs: Some(&STACK),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::manipulate::stack),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "tile",
        deduce: Some(deduce::manipulate::tile),
        doc: "The tensor again and again.",
        args: &[value("data")],
        attrs: Some(&TILE),
        layout: Some(layout::manipulate::tile),
        ..RelaxOp::BASE
    },
];
