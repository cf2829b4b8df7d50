//! ToBasicBlockNormalForm: binds values that several scopes share in the innermost scope around them.
//!
//! A graph may share a node between two branches or functions. Here such a node is bound by a `let`
//! in the innermost scope around its uses; everything else stays a graph. After it each scope is
//! a block that can be evaluated by itself.
//!
//! Does nothing to values that are shared within one scope, nor to functions with the attribute `Compiler`. As in TVM
//! all of a function is copied, also where no binding is needed, so its types are missing until the next InferType.
//!
//! Source: `src/relay/transforms/to_basic_block_normal_form.cc`.

use super::support::let_lists::{Bound, fill};
use super::support::normal_form;
use super::support::scope::Scopes;
use crate::ir::Module;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Binds values that several scopes share.
pub static SPEC: PassSpec = PassSpec {
    name: "ToBasicBlockNormalForm",
    info_name: "ToBasicBlockNormalForm",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Binds what several scopes share in the scope around them.",
    doc: explained(
        "An expression that is used in two branches of an `if`, in two functions or otherwise in different \
scopes gets a `let` in the innermost scope that encloses its uses. Sharing within one scope stays a graph.\n\n\
The whole function is made anew, and has no types until the next InferType.",
    ),
    example_before: explained(
        "\
def @main(%c: bool, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (%c) {
    %0 = exp(%x);
    negative(%0)
  } else {
    abs(%0)
  }
}
",
    ),
    example_after: explained(
        "\
def @main(%c: bool, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %x_0 = exp(%x);
  if (%c) {
    negative(%x_0)
  } else {
    abs(%x_0)
  }
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut names = 0;
    Ok(normal_form::each_function(cx.store, module, "shared between scopes, bound by let", |store, function| {
        let scopes = Scopes::of(store, function);
        fill(store, function, &scopes, Bound::Lifted, &mut names)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn sharing_within_a_scope_stays_a_graph() {
        for program in [
            "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %0) }",
            "def @main(%x: Tensor[(4), float32]) { let %a = exp(%x); let %b = add(%a, %a); (%a, %b) }",
        ] {
            check("ToBasicBlockNormalForm()", program, program);
        }
    }

    #[test]
    fn what_two_functions_share_is_bound_around_both() {
        check(
            "ToBasicBlockNormalForm()",
            "def @main(%x: int32) {
               %1 = fn (%y: int32) { %0 = negative(%x); add(%y, %0) };
               %2 = fn (%z: int32) { multiply(%z, %0) };
               (%1, %2)
             }",
            "def @main(%x: int32) {
               let %s = negative(%x);
               (fn (%y: int32) { add(%y, %s) }, fn (%z: int32) { multiply(%z, %s) })
             }",
        );
    }
}
