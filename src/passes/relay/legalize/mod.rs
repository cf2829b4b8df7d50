//! Legalize: operators that no kernel takes as they are become others that one does.
//!
//! [`super::support::legalizer`] walks over the calls; [`generic`] has the rules of every target, [`x86`] those of
//! processors of x86.
//!
//! Known divergence: targets other than processors of x86 are refused, because their rules are not here.
//!
//! Source: `src/relay/transforms/legalize.cc`, `python/tvm/topi`.

mod generic;
mod x86;

use super::qnn_legalize;
use super::support::emit::Emit;
use super::support::legalizer::{Replaced, Site, legalize};
use super::support::target::{Rules, TARGET_DOC, Target};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, Module};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Replaces operators by others that kernels of the target take.
pub static SPEC: PassSpec = PassSpec {
    name: "Legalize",
    info_name: "Legalize",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &["InferType"],
    params: &[
        Param {
            name: "legalize_map_attr_name",
            default: "\"FTVMLegalize\"",
            doc: explained(
                "Which rules: `FTVMLegalize`, or those of quantised operators, `FTVMQnnLegalize` and `FTVMQnnCanonicalize`.",
            ),
        },
        Param { name: "target", default: "\"\"", doc: TARGET_DOC },
    ],
    config: &[],
    summary: "Replaces operators by others that kernels of the target take.",
    doc: explained(
        "Some operators have kernels for some layouts and types only. `nn.conv2d_transpose` gets its weight in `IOHW`, and \
in `NHWC` transposes around it; `nn.conv3d_transpose` likewise; `nn.conv2d_backward_weight` becomes a convolution in groups; \
`take` from a tensor of unknown extents is kept out of the function that makes it.\n\n\
For `llvm` on x86, `erf` is computed in `float32`, and convolutions, dense layers and batched products of `int8` by `int8` \
become those of `uint8` by `int8` where the processor has such instructions: 128 is added to the data and its share \
subtracted from the result, and channels are filled up to what a register holds.\n\n\
Targets other than processors of x86 are refused: their rules are not here.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 4, 4, 3), float32], %w: Tensor[(3, 3, 2, 3), float32]) {
  nn.conv2d_transpose(%x, %w, channels=2, kernel_size=[3, 3], data_layout=\"NHWC\", kernel_layout=\"HWOI\")
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 4, 3), float32], %w: Tensor[(3, 3, 2, 3), float32]) -> Tensor[(1, 6, 6, 2), float32] {
  %0 = transpose(%x, axes=[0, 3, 1, 2]);
  %1 = transpose(%w, axes=[3, 2, 0, 1]);
  %2 = nn.conv2d_transpose(%0, %1, channels=2, kernel_size=[3, 3], padding=[0, 0, 0, 0]);
  transpose(%2, axes=[0, 2, 3, 1])
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let target = target_of("Legalize", arguments)?;
    let target = target.as_ref();
    match arguments.str("legalize_map_attr_name") {
        Some("FTVMQnnLegalize") => qnn_legalize::prepare(cx.store, function, target),
        Some("FTVMQnnCanonicalize") => qnn_legalize::lower(cx.store, function, target),
        Some("FTVMLegalize") if target.is_some_and(|target| target.rules != Rules::Cpu) => {
            Err(refused("Legalize", "its rules for other targets than llvm on x86 are not here"))
        }
        Some("FTVMLegalize") => legalize(cx.store, function, target, "operator to what its kernel takes", rules),
        other => {
            let known = "FTVMLegalize, FTVMQnnLegalize and FTVMQnnCanonicalize";
            Err(refused("Legalize", &format!("no operator has rules named {}; there are {known}", other.unwrap_or("None"))))
        }
    }
}

/// Reads the parameter `target` of a pass.
pub(super) fn target_of(pass: &str, arguments: &Args) -> Result<Option<Target>, PassError> {
    Target::read(arguments.get("target")).map_err(|message| refused(pass, &message))
}

fn refused(pass: &str, message: &str) -> PassError {
    vec![Diagnostic::error("pass-argument", format!("{pass}: {message}"), None)]
}

fn rules(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let on_cpu = emit.target.is_some();
    match site.op {
        "nn.conv2d_transpose" => generic::conv2d_transpose(emit, site),
        "nn.conv3d_transpose" => generic::conv3d_transpose(emit, site),
        "nn.conv2d_backward_weight" => generic::conv2d_backward_weight(emit, site),
        "take" => generic::take(emit, site),
        "nn.conv2d" if on_cpu => x86::conv2d(emit, site),
        "nn.dense" | "nn.batch_matmul" if on_cpu => x86::product(emit, site),
        "erf" if on_cpu => x86::erf(emit, site),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
