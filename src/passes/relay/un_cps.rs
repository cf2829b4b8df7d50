//! UnCPS: from continuation passing style back.
//!
//! A function whose last parameter is a continuation becomes one without it, which calls the old function with `fn (%x) { %x }`
//! in its place and returns the answer.
//!
//! Functions without parameters, and those whose last one is no function, are refused. Parameters keep the type parameters
//! of the old function, as in TVM.
//!
//! Source: `src/relay/transforms/to_cps.cc`.

use super::support::feature::holds_no_graph;
use crate::diag::Diagnostic;
use crate::ir::{Expr, ExprId, Function, Id, List, Module, Store, Type, TypeId, TypeVar, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Gives functions with a continuation the type that they had without.
pub static SPEC: PassSpec = PassSpec {
    name: "UnCPS",
    info_name: "UnCPS",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Calls functions in continuation passing style with a continuation that returns its argument.",
    doc: explained(
        "The opposite of *ToCPS* for the type of a function: its last parameter, the continuation, goes, and the old function is \
called with `fn (%x) { %x }` instead. PartialEvaluate then computes what is left of the style. Every function of the module must \
have a continuation; ApplyPassToFunction chooses one.",
    ),
    example_before: explained(
        "\
def @main[answer](%x: Tensor[(4), float32], %k: fn (Tensor[(4), float32]) -> answer) -> answer {
  let %x_0 = exp(%x);
  %k(%x_0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = fn (%x2: Tensor[(4), float32]) -> Tensor[(4), float32] {
    %x2
  };
  %1 = fn [answer](%x1: Tensor[(4), float32], %k: fn (Tensor[(4), float32]) -> answer) -> answer {
    let %x_0: Tensor[(4), float32] = exp(%x1);
    %k(%x_0)
  };
  %1(%x, %0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    holds_no_graph(cx.store, module, "relay-cps")?;
    let mut outcome = Ok(());
    let new = cx.store.rewrite("called with a continuation", function, function, |store| {
        without(store, function).unwrap_or_else(|message| {
            outcome = Err(vec![Diagnostic::error("relay-cps", message, store.source_span(function))]);
            function
        })
    });
    outcome.map(|()| new)
}

fn without(store: &mut Store, id: ExprId) -> Result<ExprId, &'static str> {
    let function = store.as_function(id).ok_or("a function was expected")?;
    let params: Vec<VarId> = store.items(function.params).collect();
    let Some((last, others)) = params.split_last() else {
        return Err("a function in continuation passing style has a continuation as its last parameter");
    };
    let ty = store.var_type(*last).map(|ty| store.type_of_id(ty).clone());
    let Some(Type::Func { params: given, .. }) = ty else { return Err("the last parameter must be a continuation: a function") };
    let [ret] = *given else { return Err("a continuation takes one argument") };
    let names: Vec<_> = store.items(function.type_params).map(|var| *store.type_var(var)).collect();
    let mut type_params: Vec<Id<TypeVar>> = names.into_iter().map(|var| store.add_type_var(var)).collect();
    if type_params.pop().is_none() {
        return Err("the type of the answer must be a type parameter");
    }
    let mut args = Vec::with_capacity(params.len());
    let mut new = Vec::with_capacity(others.len());
    for param in others {
        let name = store.var_name(*param).to_owned();
        let var = store.var(&name, store.var_type(*param));
        new.push(var);
        args.push(store.use_var(var));
    }
    let x = store.var("x", Some(ret));
    let (body, params) = (store.use_var(x), store.list(&[x]));
    let same = Function { params, type_params: List::EMPTY, ret: Some(ret), body, attrs: None, device: None, pure: true };
    args.push(store.function_expr(same));
    let mut type_args: Vec<TypeId> = type_params.iter().map(|var| store.ty(Type::Var(*var))).collect();
    type_args.push(ret);
    let args = store.list(&args);
    let info = store.add_call_info(None, &type_args);
    let body = store.add(Expr::Call { callee: id, args, info });
    let (params, type_params) = (store.list(&new), store.list(&type_params));
    Ok(store.function_expr(Function { params, type_params, ret: Some(ret), body, ..function }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::failure;

    #[test]
    fn a_function_without_a_continuation_is_refused() {
        assert!(failure("UnCPS()", "def @main() { 1 }").contains("last parameter"));
        assert!(failure("UnCPS()", "def @main(%x: int32) { %x }").contains("must be a continuation"));
        let known = "def @main(%x: int32, %k: fn (int32) -> int32) -> int32 { %k(%x) }";
        assert!(failure("UnCPS()", known).contains("type parameter"));
    }
}
