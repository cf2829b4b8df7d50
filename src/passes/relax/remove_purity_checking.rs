//! RemovePurityChecking: marks pure functions so that their purity is no longer checked.
//!
//! Source: `src/relax/transform/remove_purity_checking.cc`.

use super::support::scope::is_erased;
use super::support::with_attrs;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation};
use crate::ir::{AttrValue, Expr, ExprId, Function, Module, Store};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.RemovePurityChecking`.
pub static SPEC: PassSpec = PassSpec {
    name: "RemovePurityChecking",
    info_name: "RemovePurityChecking",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Marks pure functions with relax.force_pure and unwraps calls that were declared pure.",
    doc: explained(
        "Lowering puts calls with side effects into functions that are pure as a whole. Every pure function gets \
`relax.force_pure`, so that nobody checks what is in it, and `R.call_pure_packed`, `R.call_inplace_packed` and \
`R.invoke_pure_closure` become the plain calls that they wrap. It comes after `ToNonDataflow`, because in a dataflow \
block such calls stay forbidden.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.call_pure_packed(\"f\", x, ty_args=(R.Tensor((2,), dtype=\"float32\"),))
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        y: R.Tensor((2,), dtype=\"float32\") = R.call_packed(\"f\", x, ty_args=(R.Tensor((2,), dtype=\"float32\"),))
        return y
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &mut *cx.store;
    let function = forced(store, function);
    let Some(data) = store.as_function(function) else { return Ok(function) };
    // TVM rewrites the body alone, outside of the scope of the function.
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let body = build::run(store, &mut cx, &mut Unwrap, data.body);
    cx.builder.finish()?;
    if body == data.body {
        return Ok(function);
    }
    Ok(build::function_over(store, Some(function), Function { body, ..data }))
}

/// Adds the mark `relax.force_pure` to a pure function.
fn forced(store: &mut Store, function: ExprId) -> ExprId {
    let Some(data) = store.as_function(function) else { return function };
    let is_forced = matches!(store.attr(data.attrs, "relax.force_pure"), Some(AttrValue::Bool(true)));
    if !data.pure || is_forced {
        return function;
    }
    let attrs = store.with_attr(data.attrs, "relax.force_pure", AttrValue::Bool(true));
    with_attrs(store, function, Some(attrs))
}

struct Unwrap;

impl BlockMutator for Unwrap {
    fn rule(&self) -> &'static str {
        "a call declared pure to the call itself"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        ["call_pure_packed", "call_inplace_packed", "invoke_pure_closure"].contains(&super::calls::op_name(store, id))
            || is_erased(store, id)
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        if matches!(store.expr(post), Expr::Function(_)) {
            return forced(store, post);
        }
        if is_erased(store, pre) {
            return store.add(store.expr(post));
        }
        let Expr::Call { callee, args, info } = store.expr(post) else { return post };
        let Expr::Op(op) = store.expr(callee) else { return post };
        let name = ops::info(op).relax.as_ref().map_or("", |op| op.name);
        let args: Vec<ExprId> = store.items(args).collect();
        match (name, args.split_first()) {
            ("call_pure_packed" | "call_inplace_packed", Some((callee, rest))) => {
                let ty_args = info.map(|info| store.call_info(info).type_args.to_vec()).unwrap_or_default();
                let info = store.add_call_info(None, &ty_args);
                let args = store.list(rest);
                store.rebuild(pre, Expr::Call { callee: *callee, args, info }, None)
            }
            ("invoke_pure_closure", Some(_)) => {
                let op = ops::lookup_relax("invoke_closure").unwrap_or(op);
                let callee = store.add(Expr::Op(op));
                let args = store.list(&args);
                store.rebuild(pre, Expr::Call { callee, args, info }, None)
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn a_function_with_side_effects_promises_nothing() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def main(x: R.Tensor((2,), dtype=\"float32\")) \
                    -> R.Tensor((2,), dtype=\"float32\"):\n        return x\n";
        assert!(!super::super::testing::after(text, "RemovePurityChecking()").contains("force_pure"));
    }
}
