//! ToCPS: continuation passing style.
//!
//! A function from `A` to `B` becomes one from `A` and a function from `B` to an answer: instead of returning its result it
//! calls that function, its continuation. Then a call of a function is the last thing that its function does.
//!
//! Each expression is visited with the rest of the work that is to be done with its value. Here the rest is data, a chain, and what
//! surrounds a result is on a stack, where TVM has closures: see [`machine`].
//!
//! Primitive functions, and operators and constructors that are not called, are refused, as in TVM.
//!
//! Known divergence: functions of a module share the versions of those that they call. In TVM the second function that calls
//! one makes a function of a name that is taken, which is an error there.
//!
//! Source: `src/relay/transforms/to_cps.cc`.

mod machine;

use super::support::feature::holds_no_graph;
use crate::diag::Diagnostic;
use crate::infer::map_type_children;
use crate::ir::walk::{for_each_binder, post_order};
use crate::ir::{ExprId, Function, Id, Module, Name, Store, Type, TypeId, TypeVar};
use crate::pass::manager::optimisable;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use machine::Cps;
use rustc_hash::FxHashMap;

/// Makes functions hand their results to continuations.
pub static SPEC: PassSpec = PassSpec {
    name: "ToCPS",
    info_name: "ToCPS",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes functions call a continuation with their result instead of returning it.",
    doc: explained(
        "Continuation passing style: every function gets one more parameter, a function that is called with the result, and \
its own result is what that one answers, of a type that is a parameter, `answer`. Calls of functions become the last thing that \
happens; the branches of an `if` call the rest of the program, a function of its own, so that PartialEvaluate can specialise the \
rest for each branch. Global functions that are called get versions named `f_cps`.\n\n\
The program must be typed and must not share expressions (ToANormalForm comes first). Primitive functions are refused. *UnCPS* \
gives a function its old type back.\n\n\
In TVM two functions that call the same third one are an error (`Duplicate global function name`); here they share its version.",
    ),
    example_before: explained(
        "\
def @main(%c: bool, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %a = if (%c) {
    exp(%x)
  } else {
    %x
  };
  negative(%a)
}
",
    ),
    example_after: explained(
        "\
def @main[answer](%c: bool, %x: Tensor[(4), float32], %k: fn (Tensor[(4), float32]) -> answer) -> answer {
  let %x_1: fn (Tensor[(4), float32]) -> answer = fn (%arg: Tensor[(4), float32]) -> answer {
    let %a: Tensor[(4), float32] = %arg;
    let %x_0: Tensor[(4), float32] = negative(%a);
    %k(%x_0)
  };
  if (%c) {
    let %x_2: Tensor[(4), float32] = exp(%x);
    %x_1(%x_2)
  } else {
    %x_1(%x)
  }
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    holds_no_graph(cx.store, module, "relay-cps")?;
    let mut globals = Globals::default();
    let mut result = module.clone();
    for (name, function) in optimisable(cx.store, module) {
        let mut outcome = Ok(());
        // A function and the versions of those that it calls belong together, so this is one rewrite.
        let new = cx.store.rewrite("result handed to a continuation", function, function, |store| {
            with_callees(store, module, &mut globals, function, &mut result).unwrap_or_else(|error| {
                outcome = Err(vec![error]);
                function
            })
        });
        outcome?;
        result.set_function(name, new);
    }
    cx.run("InferType()", &result)
}

/// The versions of global functions that are called.
#[derive(Default)]
struct Globals {
    names: FxHashMap<Id<Name>, Id<Name>>,
    /// Those that are to be made: the name, and the function that it is a version of.
    left: Vec<(Id<Name>, ExprId)>,
    /// The number of variables that were made.
    vars: u32,
}

/// Makes the version of a global function, and those of functions that it calls, which go into `result`.
fn with_callees(
    store: &mut Store,
    module: &Module,
    globals: &mut Globals,
    function: ExprId,
    result: &mut Module,
) -> Result<ExprId, Diagnostic> {
    let new = whole(store, module, globals, function)?;
    while let Some((name, callee)) = globals.left.pop() {
        let made = whole(store, module, globals, callee)?;
        result.set_function(name, made);
    }
    Ok(new)
}

/// Makes the version of a global function.
fn whole(store: &mut Store, module: &Module, globals: &mut Globals, function: ExprId) -> Result<ExprId, Diagnostic> {
    let name = store.name("answer");
    let var = store.add_type_var(TypeVar { name });
    let answer = store.ty(Type::Var(var));
    let mut vars = Vec::new();
    for id in post_order(store, function) {
        for_each_binder(store, id, |var| vars.push(var));
    }
    let mut cps = Cps::new(store, module, globals, answer);
    for var in vars {
        let name = cps.store.var_name(var).to_owned();
        let ty = cps.store.var_data(var).ty.ok_or_else(|| refused(cps.store, function, UNTYPED))?;
        let ty = cps_type(cps.store, ty, answer);
        let new = cps.store.var(&name, Some(ty));
        cps.vars.insert(var, new);
    }
    let new = cps.run(function)?;
    let Some(made) = store.as_function(new) else { return Ok(new) };
    let mut type_params: Vec<Id<TypeVar>> = store.items(made.type_params).collect();
    type_params.push(var);
    let type_params = store.list(&type_params);
    Ok(store.function_expr(Function { type_params, ..made }))
}

const UNTYPED: &str = "internal error: the type checker has not populated the checked_type field: run InferType first";

fn refused(store: &Store, at: ExprId, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("relay-cps", message, store.source_span(at))
}

fn arrow(store: &mut Store, from: TypeId, to: TypeId) -> TypeId {
    store.ty(Type::Func { type_params: Box::new([]), params: Box::new([from]), ret: to })
}

/// Gives every function in a type a continuation. Recursive: types nest at most as deep as the parser lets them.
fn cps_type(store: &mut Store, ty: TypeId, answer: TypeId) -> TypeId {
    let Type::Func { type_params, params, ret } = store.type_of_id(ty).clone() else {
        return map_type_children(store, ty, &mut |store, ty| cps_type(store, ty, answer));
    };
    let mut params: Vec<TypeId> = params.iter().map(|param| cps_type(store, *param, answer)).collect();
    let ret = cps_type(store, ret, answer);
    params.push(arrow(store, ret, answer));
    store.ty(Type::Func { type_params, params: params.into(), ret: answer })
}

#[cfg(test)]
mod tests;
