//! RemoveUnusedFunctions: removes global functions that the entry functions cannot reach.
//!
//! A function is reached when a reached function mentions its name, called or not. Type
//! definitions stay. Does nothing when everything is reached; fails when an entry is not there.
//!
//! Source: `src/relay/backend/vm/removed_unused_funcs.cc`.

use crate::diag::Diagnostic;
use crate::ir::walk::post_order;
use crate::ir::{Expr, Id, Module, Name};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// Removes global functions that no entry function reaches.
pub static SPEC: PassSpec = PassSpec {
    name: "RemoveUnusedFunctions",
    info_name: "RemoveUnusedFunctions",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[Param {
        name: "entry_functions",
        default: "[\"main\"]",
        doc: explained("Names of the functions that are used from outside."),
    }],
    config: &[],
    summary: "Removes global functions that the entry functions do not reach.",
    doc: explained(
        "Starting from the entry functions, every global function that is mentioned in a function that \
is kept is kept too; the others are removed.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  @used(%x)
}

def @unused(%x: Tensor[(4), float32]) {
  negative(%x)
}

def @used(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  abs(%x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  @used(%x)
}

def @used(%x1: Tensor[(4), float32]) -> Tensor[(4), float32] {
  abs(%x1)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let entries: Vec<Id<Name>> = match arguments.get("entry_functions") {
        Literal::List(items) => {
            items.iter().filter_map(|item| if let Literal::Str(s) = item { Some(cx.store.name(s)) } else { None }).collect()
        }
        _ => vec![cx.store.name("main")],
    };
    let mut reached: FxHashSet<Id<Name>> = FxHashSet::default();
    let mut work = entries;
    for name in &work {
        if module.function(*name).is_none() {
            let text = format!("There is no definition of {}", cx.store.str(*name));
            return Err(vec![Diagnostic::error("relay-no-such-function", text, None)]);
        }
    }
    while let Some(name) = work.pop() {
        if !reached.insert(name) {
            continue;
        }
        let Some(function) = module.function(name) else { continue };
        for id in post_order(cx.store, function) {
            if let Expr::Global(callee) = cx.store.expr(id) {
                work.push(callee);
            }
        }
    }
    let mut result = module.clone();
    for (name, function) in module.functions() {
        if !reached.contains(name) && cx.store.log.has_fuel() {
            cx.store.log.record_removal("function that is not reached", *function);
            result.remove_function(*name);
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure, unchanged};

    const TWO: &str = "def @main(%x: int32) { %x } def @other(%x: int32) { %x }";

    #[test]
    fn every_entry_keeps_what_it_reaches() {
        unchanged("RemoveUnusedFunctions(entry_functions=[\"main\", \"other\"])", TWO);
    }

    #[test]
    fn functions_that_only_call_each_other_go() {
        let program = "def @main(%x: int32) -> int32 { %x } \
                       def @f(%x: int32) -> int32 { @g(%x) } def @g(%x: int32) -> int32 { @f(%x) }";
        assert!(!after("RemoveUnusedFunctions()", program).contains("@f"));
    }

    #[test]
    fn an_entry_that_is_not_there_is_an_error() {
        assert_eq!(failure("RemoveUnusedFunctions(entry_functions=[\"start\"])", TWO), "There is no definition of start");
    }
}
