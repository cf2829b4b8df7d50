//! Normalize: gives every value a type, and makes result types of functions as precise as their bodies.
//!
//! Source: `src/relax/transform/normalize.cc` and `src/relax/ir/block_builder.cc`.

use crate::build::{Normalize, function_over, rewrite_module};
use crate::infer::relax::{infer_module, result_type};
use crate::ir::{Expr, ExprId, Function, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

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
    doc: explained(
        "In the normal form nothing is nested: operands are variables or leaves, and everything has a type. A program that \
was read from text is there already but for its types, because reading binds what is nested; so the pass deduces the \
types, and a result whose annotation says less than the body gets the type of the body. What a script has nested is bound \
to variables, neighbouring blocks of one kind are joined, and empty ones go.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor(dtype=\"float32\", ndim=2):
        y: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, x)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        y: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, x)
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let is_typed = module.functions().iter().all(|(_, function)| is_typed(store, *function));
    let typed = if is_typed { module.clone() } else { infer_module(store, module)? };
    let mut result = rewrite_module(store, &typed, &mut Normalize)?;
    // Unlike other passes, this one keeps a result type that the body does not have.
    for &(name, id) in typed.functions() {
        let (Some(old), Some(new)) = (store.as_function(id), result.function(name).and_then(|id| store.as_function(id))) else {
            continue;
        };
        let ret = result_type(store, &Function { ret: old.ret, ..new }, store.checked_type(new.body));
        if ret != new.ret {
            let new = function_over(store, Some(id), Function { ret, ..new });
            result.set_function(name, new);
        }
    }
    Ok(result)
}

/// True if every bound variable in a function has a type; then types stay as they are. Missing types of constants and
/// tuples are inferred.
fn is_typed(store: &Store, function: ExprId) -> bool {
    let mut stack = vec![function];
    while let Some(id) = stack.pop() {
        match store.expr(id) {
            Expr::Function(function) => {
                let Function { params, ret, body, .. } = *store.function(function);
                if ret.is_none() || store.items(params).any(|param| store.var_type(param).is_none()) {
                    return false;
                }
                stack.push(body);
            }
            Expr::Seq { blocks, body } => {
                for binding in store.bindings(blocks) {
                    if store.var_type(binding.var).is_none() {
                        return false;
                    }
                    stack.push(binding.value);
                }
                stack.push(body);
            }
            Expr::If { then, other, .. } => stack.extend([then, other]),
            Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. } => {}
            _ => continue,
        }
        if store.checked_type(id).is_none() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// By hand: the symbols of the call are the function's own, so only the rank of its type is left.
    #[test]
    fn a_result_does_not_name_symbols_that_no_parameter_defines() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor(dtype=\"float32\"):\n        n = T.int64()\n        y: R.Tensor((n,), dtype=\"float32\") = \
                    R.match_cast(x, R.Tensor((n,), dtype=\"float32\"))\n        return y\n";
        assert!(after(text, "Normalize()").contains("-> R.Tensor(dtype=\"float32\", ndim=1):"));
    }
}
