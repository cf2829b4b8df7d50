//! ExtractFusedFunctions: the primitive functions of a program as a module of their own.
//!
//! Runs SimplifyInference and FuseOps, then keeps nothing but the primitive functions in `@main`, each once, as global functions.
//!
//! Fails without a `@main`.
//!
//! Known divergence: TVM names them by their structural hash, a number; such a name cannot be read again. Here names are
//! `fused_` and a hash.
//!
//! Source: `src/relay/analysis/extract_fused_functions.cc`.

use super::support::is_primitive;
use super::support::text_hash::ExprHasher;
use crate::diag::Diagnostic;
use crate::ir::Module;
use crate::ir::walk::post_order;
use crate::pass::spec::{Inner, Part};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Keeps only the primitive functions that FuseOps makes.
pub static SPEC: PassSpec = PassSpec {
    name: "ExtractFusedFunctions",
    info_name: "ExtractFusedFunctions",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes a module of the kernels that FuseOps makes of a program.",
    doc: explained(
        "A `Sequential` of SimplifyInference, FuseOps at level 3 and a pass that replaces all functions of the module by the primitive \
functions in `@main`, equal ones once. What is left are the kernels that are to be compiled or tuned; \
`relay.analysis.extract_fused_functions` gives them as a dictionary.\n\n\
TVM names them by their structural hash, which is a number and cannot be read again as a name; here the names are `fused_` and a \
hash.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = exp(%x);
  negative(%0)
}
",
    ),
    example_after: explained(
        "\
def @fused_e680a2aadd10cf56(%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] {
  %0 = exp(%p0);
  negative(%0)
}
",
    ),
    run: Run::Sequential(|_| vec![Part::call("SimplifyInference()"), Part::call("FuseOps(3)"), Part::Inner(&EXTRACT)]),
};

static EXTRACT: Inner = Inner { info_name: "ExtractFusedFunctions", opt_level: 1, run: Run::Module(run) };

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let main = cx.store.name("main");
    let Some(function) = module.function(main) else {
        return Err(vec![Diagnostic::error("relay-no-such-function", "There is no definition of main", None)]);
    };
    let mut result = module.clone();
    for (name, _) in module.functions() {
        result.remove_function(*name);
    }
    let mut hasher = ExprHasher::default();
    for id in post_order(cx.store, function) {
        if is_primitive(cx.store, id) {
            let name = format!("fused_{:016x}", hasher.hash(cx.store, id));
            let name = cx.store.name(&name);
            result.set_function(name, id);
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failure, read, run};
    use crate::ir::Store;

    #[test]
    fn equal_kernels_are_kept_once() {
        let store = &mut Store::new();
        let program = "def @main(%x: Tensor[(4), float32]) {
            %0 = nn.softmax(%x);
            %1 = nn.softmax(%0);
            exp(%1)
        }";
        let module = read(store, program);
        let trace = run(store, module, "ExtractFusedFunctions()");
        assert!(trace.is_complete(), "{:?}", trace.failures());
        assert_eq!(trace.last().functions().len(), 2);
    }

    #[test]
    fn a_module_without_main_is_refused() {
        assert!(failure("ExtractFusedFunctions()", "def @other() { 1 }").contains("no definition of main"));
    }
}
