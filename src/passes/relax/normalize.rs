//! Normalize: every value has a type, and function results are as precise as their bodies.
//!
//! Source: `src/relax/transform/normalize.cc` and `src/relax/ir/block_builder.cc`.

use crate::infer::relax::infer_module;
use crate::infer::relax::types::{Fit, fit};
use crate::ir::{Expr, Function, Module};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};

/// TVM's `relax.transform.Normalize`.
pub static SPEC: PassSpec = PassSpec {
    name: "Normalize",
    info_name: "Normalize",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Brings functions into the normal form that the other passes work on.",
    doc: "In the normal form nothing is nested: operands are variables or leaves, and everything has a type. A program that \
was read from text is there already but for its types, because reading binds what is nested; so the pass deduces the \
types, and a result whose annotation says less than the body gets the type of the body.\n\n\
Known divergence: a program that a script built with nested calls is not taken apart.",
    example_before: "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor(dtype=\"float32\", ndim=2):
        y: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, x)
        return y
",
    example_after: "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        y: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, x)
        return y
",
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut result = infer_module(cx.store, module)?;
    let store = &mut *cx.store;
    for (name, id) in result.clone().functions().iter().copied() {
        let Expr::Function(function) = store.expr(id) else { continue };
        let data = *store.function(function);
        let (Some(written), Some(found)) = (data.ret, store.checked_type(data.body)) else { continue };
        // What was written stands only where it says no less: TVM keeps an annotation that the body fits.
        if written != found && fit(store, written, found) == Fit::Always {
            let new = store.add_function(Function { ret: Some(found), ..data });
            let new = store.rebuild(id, Expr::Function(new), None);
            result.set_function(name, new);
        }
    }
    Ok(result)
}
