//! Defunctionalization: functions as values become constructors of a data type.
//!
//! A call of a global function that takes functions becomes a call of a version of it for those types, in which a parameter
//! that was a function has a data type, with a constructor for each function that is given somewhere and the variables that
//! this one captures as fields. A call of such a parameter becomes one of `apply`, which matches on the constructor.
//!
//! Functions that return functions or keep them in data, those that are bound by `let`, and polymorphic entries are refused,
//! as in TVM.
//!
//! Known divergences: in TVM this is a function of a function and a module; here it is a pass on a function of the module. TVM
//! gives all types of functions one data type and one `apply`, which is a type error when there are two; here each has its own.
//! TVM's names (`Defuncrelay.FuncType`, constructors that are numbers) cannot be read again: here they are `DefuncFuncType` and
//! `F0`. Other arguments of such calls are visited, too.
//!
//! Source: `src/relay/transforms/defunctionalization.cc`.

mod encode;

use super::support::types::has;
use crate::diag::Diagnostic;
use crate::ir::rewrite::rewrite;
use crate::ir::{ExprId, Module, Store, Type};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use encode::Defunc;

/// Makes programs that take functions as arguments first-order.
pub static SPEC: PassSpec = PassSpec {
    name: "Defunctionalization",
    info_name: "Defunctionalization",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[Param { name: "func_name", default: "\"main\"", doc: "The function where the program starts." }],
    config: &[],
    summary: "Replaces functions that are given as arguments by data, and their calls by a match.",
    doc: explained(
        "After it, no function takes functions: each function that was given as an argument is a constructor of a data type, with what \
the function captures as fields, and `apply` matches on the constructor and computes what the function did. Global functions that take \
functions get versions for the types they are called with.\n\n\
The program must be typed. Functions must not return functions, be kept in data or be bound by `let`.\n\n\
In TVM this is `relay.transform.Defunctionalization(func, mod)`, which is no pass. There all types of functions share one data type, \
so that a program with two is ill-typed afterwards, and names cannot be read again.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = fn (%y: Tensor[(4), float32]) -> Tensor[(4), float32] {
    add(%y, %x)
  };
  @twice(%0, %x)
}

def @twice(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %v: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %1 = %f(%v);
  %f(%1)
}
",
    ),
    example_after: explained(
        "\
type DefuncFuncType {
  F0(Tensor[(4), float32]),
}

def @applyrelay.FuncType(%x: DefuncFuncType[], %y: Tensor[(4), float32]) -> Tensor[(4), float32] {
  match (%x) {
    F0(%x1: Tensor[(4), float32]) => {
      %0 = fn (%y1: Tensor[(4), float32]) -> Tensor[(4), float32] {
        add(%y1, %x1)
      };
      %0(%y)
    },
  }
}

def @main(%x2: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %1 = F0(%x2);
  @twicerelay.FuncType(%1, %x2)
}

def @twice(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %v: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %2 = %f(%v);
  %f(%2)
}

def @twicerelay.FuncType(%f1: DefuncFuncType[], %v1: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %3 = @applyrelay.FuncType(%f1, %v1);
  @applyrelay.FuncType(%f1, %3)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let wanted = arguments.str("func_name").unwrap_or_default();
    let name = cx.store.name(wanted);
    let Some(function) = module.function(name) else {
        return Err(vec![Diagnostic::error(
            "pass-argument",
            format!("Defunctionalization: there is no function @{wanted}"),
            None,
        )]);
    };
    let mut pass = Defunc::new(module);
    let new = cx.store.rewrite(RULE, function, function, |store| {
        if let Err(message) = checked(store, function) {
            pass.refuse(store, function, message);
            return function;
        }
        let new = rewrite(store, function, &mut pass);
        pass.versions(store);
        if pass.errors.is_empty() { new } else { function }
    });
    if !pass.errors.is_empty() {
        return Err(pass.errors);
    }
    let mut result = pass.made;
    result.set_function(name, new);
    for encoding in &pass.encodings {
        encoding.add(cx.store, &mut result);
    }
    cx.run("InferType()", &result)
}

const RULE: &str = "functions as data";

fn is_function(ty: &Type) -> bool {
    matches!(ty, Type::Func { .. })
}

/// Checks the function where the program starts.
fn checked(store: &Store, function: ExprId) -> Result<(), &'static str> {
    let Some(data) = store.as_function(function) else { return Err("a function was expected") };
    if !data.type_params.is_empty() {
        return Err("no polymorphism supported for defunctionalization");
    }
    if store.items(data.params).any(|param| store.var_type(param).is_none_or(|ty| has(store, ty, is_function))) {
        return Err("program cannot have func type parameters");
    }
    if data.ret.is_some_and(|ty| has(store, ty, is_function)) {
        return Err("return type cannot contain function");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
