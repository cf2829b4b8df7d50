//! What gradients are made of.

use super::{RelaxOp, deduce, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.NLLLossAttrs`.
pub static NLL_LOSS: AttrsSchema = AttrsSchema {
    key: "relax.attrs.NLLLossAttrs",
    fields: &[
        AttrField::new("reduction", AttrKind::Str, AttrDefault::Str("mean")),
        AttrField::new("ignore_index", AttrKind::Int, AttrDefault::Int(-100)),
    ],
};

/// Attributes `relax.attrs.Pool2DAttrs`.
pub static POOL2D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool2DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.TakeAttrs`.
pub static TAKE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.TakeAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("fast")),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "grad.avg_pool2d_backward",
        deduce: Some(deduce::grad::backward),
        doc: "The gradient of `nn.avg_pool2d`.",
        args: &[value("output_grad"), value("data")],
        attrs: Some(&POOL2D),
        order: &[
            "output_grad",
            "data",
            "pool_size",
            "strides",
            "padding",
            "dilation",
            "ceil_mode",
            "count_include_pad",
            "layout",
            "out_layout",
        ],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.end_checkpoint",
        deduce: Some(deduce::same),
        doc: "Ends such a part.",
        args: &[value("input")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.max_pool2d_backward",
        deduce: Some(deduce::grad::backward),
        doc: "The gradient of `nn.max_pool2d`.",
        args: &[value("output_grad"), value("data")],
        attrs: Some(&POOL2D),
        order: &[
            "output_grad",
            "data",
            "pool_size",
            "strides",
            "padding",
            "dilation",
            "ceil_mode",
            "count_include_pad",
            "layout",
            "out_layout",
        ],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.nll_loss_backward",
        deduce: Some(deduce::grad::backward),
        doc: "The gradient of `nn.nll_loss`.",
        args: &[value("output_grad"), value("predictions"), value("targets"), value("weights").or_none()],
        attrs: Some(&NLL_LOSS),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.no_grad",
        deduce: Some(deduce::same),
        doc: "Nothing is differentiated through it.",
        args: &[value("input")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.start_checkpoint",
        deduce: Some(deduce::same),
        doc: "Begins a part that is computed again for the gradient.",
        args: &[value("input")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "grad.take_backward",
        deduce: Some(deduce::grad::backward),
        doc: "The gradient of `take`.",
        args: &[value("output_grad"), value("x"), value("indices")],
        attrs: Some(&TAKE),
        order: &["output_grad", "x", "indices", "axis"],
        ..RelaxOp::BASE
    },
];
