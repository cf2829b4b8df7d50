//! qnn.Legalize: quantised operators become what the target computes fast, and then operators of Relay itself.
//!
//! [`prepare`] changes the types of products, [`lower`] expresses each operator by others. Both are rules for
//! [`super::support::legalizer`].
//!
//! Known divergences: a target of kind `hexagon` is refused, because its rules are not here. Without a target, where TVM stops
//! with an error for `compute_dtype="float32"`, numbers are rounded as on a processor without SSE 4.1.
//!
//! Source: `src/relay/qnn/pass/legalize.cc`, `python/tvm/relay/qnn/op/legalizations.py`, `src/relay/qnn/op`.

mod conv2d;
mod elementwise;
mod fixed_point;
mod products;
mod requantize;
mod tables;
mod targets;

pub(super) use fixed_point::{Factors, multiply as multiply_fixed, to_nearest};

use super::legalize::target_of;
use super::support::emit::Emit;
use super::support::legalizer::{Replaced, Site, legalize};
use super::support::target::{TARGET_DOC, Target};
use crate::ir::{ExprId, Store};
use crate::pass::spec::{Inner, Part};
use crate::pass::{Param, PassError, PassSpec, Run, explained};

/// Replaces quantised operators by operators of Relay itself.
pub static SPEC: PassSpec = PassSpec {
    name: "qnn.Legalize",
    info_name: "qnn.Legalize",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "target", default: "\"\"", doc: TARGET_DOC }],
    config: &[],
    summary: "Replaces quantised operators (`qnn.*`) by operators of Relay itself.",
    doc: explained(
        "Two passes. QnnLegalize asks the target: `qnn.conv2d` and `qnn.dense` get data of `uint8` and weights of `int8` on an \
x86 with SSE 4.2, and become products of `int16` on one without; an ARM processor and a graphics processor want other types. \
Functions of one tensor (`qnn.tanh`) become a `take` from a table of their values, and `qnn.conv2d_transpose` a product of \
`int16`.\n\n\
QnnCanonicalize expresses what is left by other operators. A product of tensors with zero points is four terms, of which those \
that are zero are left out; `qnn.requantize` is a multiplication with a fixed point number, or with a real one on an x86 with \
SSE 4.1.\n\n\
A target of kind `hexagon` is refused: its rules are not here. TVM stops at `compute_dtype=\"float32\"` without a target; here \
numbers are rounded as on a processor without SSE 4.1.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 4), uint8], %w: Tensor[(2, 4), uint8]) {
  qnn.dense(%x, %w, 3, 0, 0.5f, 0.25f, units=2, out_dtype=\"int32\")
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4), uint8], %w: Tensor[(2, 4), uint8]) -> Tensor[(1, 2), int32] {
  %0 = cast(%w, dtype=\"int32\");
  %1 = sum(%0, axis=[1]);
  %2 = nn.dense(%x, %w, units=2, out_dtype=\"int32\");
  %3 = multiply(3, %1);
  subtract(%2, %3)
}
",
    ),
    run: Run::Sequential(|_| {
        // Both require types.
        let types = || Part::call("InferType()");
        vec![types(), Part::Inner(&PREPARE), types(), Part::Inner(&LOWER)]
    }),
};

static PREPARE: Inner = Inner {
    info_name: "QnnLegalize",
    opt_level: 1,
    run: Run::Function(|cx, _, function, arguments| {
        let target = target_of("qnn.Legalize", arguments)?;
        prepare(cx.store, function, target.as_ref())
    }),
};

static LOWER: Inner = Inner {
    info_name: "QnnCanonicalize",
    opt_level: 1,
    run: Run::Function(|cx, _, function, arguments| {
        let target = target_of("qnn.Legalize", arguments)?;
        lower(cx.store, function, target.as_ref())
    }),
};

/// Gives products the types that a target computes fast (`FTVMQnnLegalize`).
pub(super) fn prepare(store: &mut Store, function: ExprId, target: Option<&Target>) -> Result<ExprId, PassError> {
    legalize(store, function, target, "quantised operator to what the target computes", &mut prepared)
}

pub(super) fn prepared(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    match site.op {
        "qnn.conv2d" | "qnn.dense" => targets::product(emit, site),
        "qnn.conv2d_transpose" => targets::conv2d_transpose(emit, site),
        name => tables::lookup(emit, site, name),
    }
}

/// Expresses quantised operators by others (`FTVMQnnCanonicalize`).
pub(super) fn lower(store: &mut Store, function: ExprId, target: Option<&Target>) -> Result<ExprId, PassError> {
    legalize(store, function, target, "quantised operator to operators of Relay", &mut lowered)
}

pub(super) fn lowered(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let made = match site.op {
        "qnn.quantize" => elementwise::quantize(emit, site)?,
        "qnn.dequantize" => elementwise::dequantize(emit, site)?,
        "qnn.requantize" => requantize::call(emit, site)?,
        "qnn.add" | "qnn.subtract" => elementwise::sum(emit, site)?,
        "qnn.mul" => elementwise::product(emit, site)?,
        "qnn.concatenate" => elementwise::concatenate(emit, site)?,
        "qnn.leaky_relu" => elementwise::leaky_relu(emit, site)?,
        "qnn.softmax" => elementwise::softmax(emit, site)?,
        "qnn.avg_pool2d" => elementwise::avg_pool2d(emit, site)?,
        "qnn.conv2d" => conv2d::conv2d(emit, site)?,
        "qnn.dense" => products::dense(emit, site)?,
        "qnn.batch_matmul" => products::batch_matmul(emit, site)?,
        "qnn.contrib_dense_pack" => {
            return Err("Canonicalization function for qnn.contrib_dense_pack is not implemented".to_owned());
        }
        name => return tables::in_floats(emit, site, name),
    };
    Ok(Some(made))
}

#[cfg(test)]
mod tests;
