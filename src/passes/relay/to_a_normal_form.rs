//! ToANormalForm: binds every intermediate value to a variable.
//!
//! Calls, tuples, projections, branches, inner functions, constants and everything else that is not
//! a variable, operator, constructor or global name is bound by a `let`, in the innermost scope that
//! encloses all its uses, so sharing becomes visible. Names are `x_0`, `x_1`, ...
//!
//! Does nothing to functions with the attribute `Compiler` and to the inside of primitive
//! functions. TVM numbers names over the whole process; here each run starts at `x_0`.
//!
//! Source: `src/relay/transforms/to_a_normal_form.cc`.

use super::support::let_lists::{Bound, fill};
use super::support::normal_form;
use super::support::scope::Scopes;
use crate::ir::Module;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Binds every intermediate value by a `let`.
pub static SPEC: PassSpec = PassSpec {
    name: "ToANormalForm",
    info_name: "ToANormalForm",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Binds every intermediate value to a variable.",
    doc: explained(
        "After it, arguments are variables and every computation is the value of a `let`, in order of \
evaluation: what was shared in the graph is now a variable that is used more than once. A value is bound in \
the innermost scope (function body, branch, match arm) that all its uses are in.\n\n\
Constants are bound too. The new bindings have no types until the next InferType.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = add(%x, %x);
  multiply(%0, %0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %x_0 = add(%x, %x);
  let %x_1 = multiply(%x_0, %x_0);
  %x_1
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut names = 0;
    Ok(normal_form::each_function(cx.store, module, "everything bound by let", |store, function| {
        let scopes = Scopes::of(store, function);
        fill(store, function, &scopes, Bound::All, &mut names)
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, unchanged};

    #[test]
    fn what_two_branches_share_is_bound_before_the_if() {
        check(
            "ToANormalForm()",
            "def @main(%c: bool, %x: Tensor[(4), float32]) {
               if (%c) { %0 = exp(%x); negative(%0) } else { abs(%0) }
             }",
            "def @main(%c: bool, %x: Tensor[(4), float32]) {
               let %a = exp(%x);
               let %b = if (%c) { let %d = negative(%a); %d } else { let %e = abs(%a); %e };
               %b
             }",
        );
    }

    #[test]
    fn constants_and_inner_functions_are_bound_too() {
        check(
            "ToANormalForm()",
            "def @main(%x: int32) -> int32 { %0 = fn (%y: int32) -> int32 { add(%y, 1) }; %0(%x) }",
            "def @main(%x: int32) -> int32 {
               let %f = fn (%y: int32) -> int32 { let %one = 1; let %s = add(%y, %one); %s };
               let %r = %f(%x);
               %r
             }",
        );
    }

    /// A metadata section with one device.
    const DEVICE: &str = r#"
#[metadata]
{"root": 1, "b64ndarrays": [], "attrs": {"tvm_version": "0.19.0"}, "nodes": [{"type_key": ""},
 {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]}, {"type_key": "Array", "data": [3]},
 {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1", "memory_scope": "4", "target": "0", "virtual_device_id": "0"}},
 {"type_key": "runtime.String"}]}"#;

    #[test]
    fn what_is_computed_on_a_device_says_so() {
        let before = "#[version = \"0.0.5\"]
def @main(%x: Tensor[(4), float32], virtual_device=meta[VirtualDevice][0]) {
  %0 = on_device(exp(%x), virtual_device=meta[VirtualDevice][0], constrain_result=True);
  negative(%0)
}";
        let made = after("ToANormalForm()", &format!("{before}{DEVICE}"));
        let on = "virtual_device=meta[VirtualDevice][0], constrain_result=True";
        for line in [
            "%0 = exp(%x);".to_owned(),
            format!("let %x_0 = on_device(%0, {on});"),
            format!("%1 = on_device(%x_0, {on});"),
            "%2 = negative(%1);".to_owned(),
            format!("let %x_1 = on_device(%2, {on});"),
        ] {
            assert!(made.contains(&line), "{line}\n{made}");
        }
    }

    #[test]
    fn a_function_for_an_external_compiler_stays() {
        unchanged("ToANormalForm()", "def @main(%x: int32, Compiler=\"ccompiler\") -> int32 { add(%x, 1) }");
    }
}
