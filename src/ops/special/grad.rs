//! Markers for gradients, and gradients of operators as operators of their own.

use crate::ops::nn::{loss, pool};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo};

const POOL2D_ORDER: &[&str] = &[
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
];

/// TVM's Python names all four sides here.
static POOL2D: AttrsSchema = schema("relax.attrs.Pool2DAttrs", &pool::relax_pool(2, &[0, 0, 0, 0], false));

/// TVM leaves the mode of `take` unset here.
static TAKE_BACKWARD: AttrsSchema =
    schema("relax.attrs.TakeAttrs", &[field::or_none("axis", AttrKind::Integer), field::text("mode", "")]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("grad.avg_pool2d_backward", "The gradient of `nn.avg_pool2d`.")
        .relax(relax(&[value("output_grad"), value("data")], deduce::grad::backward).attrs(&POOL2D).order(POOL2D_ORDER)),
    op("grad.end_checkpoint", "Ends such a part.").relax(relax(&[value("input")], deduce::grad::checkpoint)),
    op("grad.max_pool2d_backward", "The gradient of `nn.max_pool2d`.")
        .relax(relax(&[value("output_grad"), value("data")], deduce::grad::backward).attrs(&POOL2D).order(POOL2D_ORDER)),
    op("grad.nll_loss_backward", "The gradient of `nn.nll_loss`.").relax(
        relax(
            &[value("output_grad"), value("predictions"), value("targets"), value("weights").or_none()],
            deduce::grad::backward,
        )
        .attrs(&loss::RELAX_NLL_LOSS),
    ),
    op("grad.no_grad", "Nothing is differentiated through it.").relax(relax(&[value("input")], deduce::same)),
    op("grad.start_checkpoint", "Begins a part that is computed again for the gradient.")
        .relax(relax(&[value("input")], deduce::grad::checkpoint)),
    op("grad.take_backward", "The gradient of `take`.").relax(
        relax(&[value("output_grad"), value("x"), value("indices")], deduce::grad::backward).attrs(&TAKE_BACKWARD).order(&[
            "output_grad",
            "x",
            "indices",
            "axis",
        ]),
    ),
];
