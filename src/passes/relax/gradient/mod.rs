//! Gradient: adds a function that computes gradients too.
//!
//! Source: `src/relax/transform/gradient.cc`, `src/relax/transform/gradient_simplifier.cc`.

mod backward;
mod checkpoint;
mod simplify;

use super::calls::tuple;
use super::dead_code_elimination::remove_all_unused;
use super::support::with_attrs;
use crate::build::{BlockBuilder, Mutation, copy_with_new_vars, rewrite_function};
use crate::diag::Diagnostic;
use crate::infer::relax::analysis::bound_vars;
use crate::ir::{AttrValue, Binding, DTypeCode, Expr, ExprId, Extents, Function, Id, Module, Name, Store, VarId};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use backward::Backward;
use checkpoint::{Checkpoints, Collect};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.Gradient`.
pub static SPEC: PassSpec = PassSpec {
    name: "Gradient",
    info_name: "Gradient",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "func_name", default: "", doc: "The function." },
        Param { name: "require_grads", default: "None", doc: "Names of the variables whose gradients are returned; all parameters when it is None." },
        Param { name: "target_index", default: "0", doc: "Which result is differentiated, where the function gives several." },
    ],
    config: &[],
    summary: "Adds a function that gives a result and its gradients.",
    doc: explained("Beside `main` stands `main_adjoint` then, which gives what `main` gives and the gradients of the target, a float scalar, with \
respect to all parameters, or those that `require_grads` names. The body has to be one dataflow block. From its last binding to its first, every operator says what it adds to the \
gradients of its arguments. Values between `R.grad.start_checkpoint` and `R.grad.end_checkpoint` are computed again in the backward \
part instead of being kept. At the end, what is not used is removed and transposed products are simplified.\n\n\
Known divergence: `R.call_tir_with_grad`, whose gradient is a function of \
Python, is an error."),
    example_before: explained("\
# Gradient(\"main\")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((), dtype=\"float32\") = R.sum(x, axis=None, keepdims=False)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((), dtype=\"float32\") = R.sum(x, axis=None, keepdims=False)
            R.output(gv)
        return gv

    @R.function
    def main_adjoint(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tuple(R.Tensor((), dtype=\"float32\"), R.Tuple(R.Tensor((3,), dtype=\"float32\"))):
        with R.dataflow():
            gv: R.Tensor((), dtype=\"float32\") = R.sum(x, axis=None, keepdims=False)
            gv_adjoint: R.Tensor((), dtype=\"float32\") = R.ones(R.shape([]), dtype=\"float32\")
            x_adjoint: R.Tensor((3,), dtype=\"float32\") = R.broadcast_to(gv_adjoint, R.shape([3]))
            x_adjoint_out: R.Tensor((3,), dtype=\"float32\") = x_adjoint
            R.output(gv, x_adjoint_out)
        return (gv, (x_adjoint_out,))
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let title = args.str("func_name").unwrap_or("main").to_owned();
    let name = store.name(&title);
    let fail = |message: String| vec![Diagnostic::error("gradient", message, None)];
    let Some(function) = module.function(name).filter(|function| matches!(store.expr(*function), Expr::Function(_))) else {
        return Err(fail(format!("{title} is not a Relax Function")));
    };
    let mut copying = Mutation::new(BlockBuilder::new(module));
    let copy = copy_with_new_vars(store, &mut copying, function);
    copying.builder.finish()?;
    let mut collect = Collect::default();
    if let Expr::Function(id) = store.expr(copy) {
        collect.kept = store.items(store.function(id).params).collect();
    }
    let plain = rewrite_function(store, module, copy, &mut collect)?;
    let wanted = match args.get("require_grads") {
        Literal::None => None,
        Literal::Str(name) => Some(vec![name.as_str()]),
        Literal::List(names) => {
            Some(names.iter().filter_map(|name| if let Literal::Str(name) = name { Some(name.as_str()) } else { None }).collect())
        }
        _ => return Err(fail("require_grads names variables".to_owned())),
    };
    let wanted = wanted.map(|names: Vec<&str>| named(store, plain, &names, &title)).transpose().map_err(fail)?;
    let mut builder = BlockBuilder::new(module);
    let adjoint = adjoint(store, &mut builder, plain, &collect, wanted, args.int("target_index")).map_err(fail)?;
    builder.finish()?;
    let adjoint = remove_all_unused(store, module, adjoint);
    let adjoint = rewrite_function(store, module, adjoint, &mut simplify::Simplify)?;
    let adjoint = remove_all_unused(store, module, adjoint);
    Ok(with_function(store, module, &format!("{title}_adjoint"), adjoint))
}

/// The variables of a function that have these names.
fn named(store: &Store, function: ExprId, names: &[&str], title: &str) -> Result<Vec<VarId>, String> {
    let known = bound_vars(store, function);
    let of = |name: &&str| {
        let found = known.iter().copied().find(|var| store.str(store.var_data(*var).name) == *name);
        found.ok_or_else(|| format!("There is no Var named {name} in the function {title}"))
    };
    names.iter().map(of).collect()
}

/// Adds a public function to a module.
fn with_function(store: &mut Store, module: &Module, title: &str, function: ExprId) -> Module {
    let symbol = store.name(title);
    let Expr::Function(id) = store.expr(function) else { return module.clone() };
    let attrs = store.with_attr(store.function(id).attrs, "global_symbol", AttrValue::Str(symbol));
    let function = with_attrs(store, function, Some(attrs));
    let mut result = module.clone();
    let mut name: Id<Name> = symbol;
    let mut number = 0;
    while result.function(name).is_some() {
        number += 1;
        name = store.name(&format!("{title}{number}"));
    }
    result.set_function(name, function);
    result
}

/// Makes the function that also returns the gradients.
fn adjoint(
    store: &mut Store,
    builder: &mut BlockBuilder,
    function: ExprId,
    collect: &Collect,
    wanted: Option<Vec<VarId>>,
    target_index: i64,
) -> Result<ExprId, String> {
    let Expr::Function(id) = store.expr(function) else { return Err("the function is none".to_owned()) };
    let data = *store.function(id);
    let params: Vec<VarId> = store.items(data.params).collect();
    let Expr::Seq { blocks, body } = store.expr(data.body) else { return Err("the body is no sequence".to_owned()) };
    let blocks: Vec<_> = store.items(blocks).collect();
    let [block] = blocks[..] else { return Err("now only support one dataflow block".to_owned()) };
    if !store.block(block).dataflow {
        return Err("now only support one dataflow block".to_owned());
    }
    let target = target(store, body, target_index)?;
    let bindings: Vec<Binding> = store.block_bindings(block).collect();
    builder.begin_scope(store, &params);
    builder.begin_block(true);
    for binding in &bindings {
        builder.emit_normalized(store, *binding);
    }
    let mut checkpoints = Checkpoints::new(store, &params, &bindings, &collect.kept);
    let mut backward = Backward { adjoints: FxHashMap::default(), checkpoints: &mut checkpoints };
    backward.begin(store, builder, target)?;
    for binding in bindings.iter().rev() {
        backward.binding(store, builder, *binding)?;
    }
    let wanted = wanted.as_ref().unwrap_or(&params);
    let mut gradients = Vec::with_capacity(wanted.len());
    for param in wanted {
        let original = collect.originals.get(param).copied().unwrap_or(*param);
        gradients.push(backward.output(store, builder, original)?);
    }
    let gradients = tuple(store, &gradients);
    let result = tuple(store, &[body, gradients]);
    let all = builder.end_block();
    let block = store.add_block_of(&all, true);
    let ty = store.checked_type(result).map(|ty| builder.erase(store, ty));
    let blocks = store.list(&[block]);
    let body = store.add_typed(Expr::Seq { blocks, body: result }, ty);
    builder.end_scope();
    Ok(crate::build::function_over(store, None, Function { body, ret: None, ..data }))
}

/// Returns the variable that is differentiated.
fn target(store: &Store, result: ExprId, index: i64) -> Result<VarId, String> {
    let target = match store.expr(result) {
        Expr::Var(var) if index == 0 => Expr::Var(var),
        Expr::Var(_) => {
            return Err(format!(
                "When the function has only one return value, target_index can only be 0. But the target_index specified is {index}"
            ));
        }
        Expr::Tuple(fields) => match usize::try_from(index).ok().filter(|index| *index < fields.len()) {
            Some(index) => store.expr(store.item(fields, index)),
            None => {
                let count = fields.len();
                return Err(format!(
                    "target_index should be in the range of the number of return values of the function. But the specified target_index is {index}, while the number of return values is {count}"
                ));
            }
        },
        _ => return Err("The return value of the function must be Var or Tuple.".to_owned()),
    };
    let Expr::Var(var) = target else { return Err("Target must be a Var".to_owned()) };
    let info = store.var_type(var).and_then(|ty| store.tensor_info(ty));
    let scalar = info.is_some_and(|info| {
        matches!(&info.extents, Extents::Known(dims) if dims.is_empty())
            && info.dtype.is_some_and(|dtype| dtype.code == DTypeCode::Float)
    });
    if scalar { Ok(var) } else { Err("The differentiation target must be a float scalar (0-dim Tensor)".to_owned()) }
}
