//! Legalize: operators that no kernel takes as they are become others that one does.
//!
//! [`super::support::legalizer`] walks over the calls; [`generic`] has the rules of every target, [`x86`] those of
//! processors of x86.
//!
//! Known divergence: targets other than processors of x86 are refused, because their rules are not here. If a script has rules,
//! those of every target are asked beside them.
//!
//! Source: `src/relay/transforms/legalize.cc`, `python/tvm/topi`.

mod generic;
mod x86;

use super::qnn_legalize;
use super::support::emit::Emit;
use super::support::legalizer::{OpRule, Replaced, Site, legalize};
use super::support::target::{Rules, TARGET_DOC, Target};
use crate::diag::Diagnostic;
use crate::ir::{ExprId, Module, Store};
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
Targets other than processors of x86 are refused, as their rules are not here, unless a script has registered rules; then those \
and the rules of every target are asked.",
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
    with_rules(cx.store, function, arguments, &[], &mut |_, _, _, _| Ok(None))
}

/// Runs the pass with rules from outside for some operators, which take the place of its own.
pub fn with_rules(
    store: &mut Store,
    function: ExprId,
    arguments: &Args,
    operators: &[String],
    rule: OpRule<'_>,
) -> Result<ExprId, PassError> {
    let target = target_of("Legalize", arguments)?;
    let target = target.as_ref();
    let map = arguments.str("legalize_map_attr_name").unwrap_or("None");
    let (own, name): (fn(&mut Emit<'_>, &Site<'_>) -> Replaced, _) = match map {
        "FTVMQnnLegalize" => (qnn_legalize::prepared, "quantised operator to what the target computes"),
        "FTVMQnnCanonicalize" => (qnn_legalize::lowered, "quantised operator to operators of Relay"),
        "FTVMLegalize" if target.is_some_and(|target| target.rules != Rules::Cpu) && operators.is_empty() => {
            return Err(refused("Legalize", "its rules for other targets than llvm on x86 are not here"));
        }
        "FTVMLegalize" => (rules, "operator to what its kernel takes"),
        _ if !operators.is_empty() => (|_, _| Ok(None), "operator to what a registered rule makes"),
        other => {
            let known = "FTVMLegalize, FTVMQnnLegalize and FTVMQnnCanonicalize";
            return Err(refused("Legalize", &format!("no operator has rules named {other}; there are {known}")));
        }
    };
    legalize(store, function, target, name, &mut |emit, site| match operators.iter().any(|known| known == site.op) {
        true => rule(emit.store, site.pre, site.attrs, site.args),
        false => own(emit, site),
    })
}

/// Reads the parameter `target` of a pass.
pub(super) fn target_of(pass: &str, arguments: &Args) -> Result<Option<Target>, PassError> {
    Target::read(arguments.get("target")).map_err(|message| refused(pass, &message))
}

fn refused(pass: &str, message: &str) -> PassError {
    vec![Diagnostic::error("pass-argument", format!("{pass}: {message}"), None)]
}

fn rules(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let on_cpu = emit.target.is_some_and(|target| target.rules == Rules::Cpu);
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
