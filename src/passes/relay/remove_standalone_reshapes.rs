//! RemoveStandaloneReshapes: lowered calls that do nothing but reshape become the calls before them.
//!
//! In `@main`, a `call_lowered` that is marked `relay.reshape_only`, over a variable that is bound to an `on_device` of another
//! `call_lowered`, becomes that other call; then functions that nothing reaches go.
//!
//! Does nothing to reshapes of parameters, of what is computed without a device, and to those that are not lowered.
//!
//! Source: `src/relay/transforms/remove_standalone_reshapes.cc`.

use crate::diag::Diagnostic;
use crate::ir::rewrite::{Bound, ExprMutator, rewrite};
use crate::ir::{AttrValue, Expr, ExprId, Module, Store, VarId};
use crate::ops::build::{arg, args, is_call};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Removes lowered calls that only reshape.
pub static SPEC: PassSpec = PassSpec {
    name: "RemoveStandaloneReshapes",
    info_name: "RemoveStandaloneReshapes",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes lowered calls that do nothing but reshape.",
    doc: explained(
        "After lowering, a reshape that is not fused is a kernel that copies. Where memory is planned by its size only, the copy is not \
needed: the lowered call before it stands in its place. A program that is not lowered (`call_lowered`) stays as it is, apart from \
functions that `@main` does not reach, which go.\n\n\
Types are not inferred afterwards, as in TVM: the call has the shape from before the reshape.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let main = cx.store.name("main");
    let Some(function) = module.function(main) else {
        return Err(vec![Diagnostic::error("relay-no-such-function", "There is no definition of main", None)]);
    };
    let mut result = module.clone();
    let new = rewrite(cx.store, function, &mut Reshapes::default());
    result.set_function(main, new);
    cx.run("RemoveUnusedFunctions([\"main\"])", &result)
}

#[derive(Default)]
struct Reshapes {
    /// The lowered calls that variables are bound to.
    calls: FxHashMap<VarId, ExprId>,
}

/// True if a call is lowered and marked as one that only reshapes (TVM's `IsReshapeOnly`).
pub(super) fn is_reshape(store: &Store, id: ExprId) -> bool {
    if !is_call(store, id, "call_lowered") {
        return false;
    }
    let attrs = store.call(id).and_then(|call| call.attrs);
    let Some(AttrValue::Map(entries)) = store.attr(attrs, "metadata") else { return false };
    let marked = |value: &AttrValue| value.as_int().is_some_and(|value| value != 0);
    entries.iter().filter(|(name, _)| store.str(*name) == "relay_attrs").any(|(_, value)| match value {
        AttrValue::Object(object) => store.object_field(*object, "relay.reshape_only").is_some_and(marked),
        AttrValue::Map(inner) => inner.iter().any(|(name, value)| store.str(*name) == "relay.reshape_only" && marked(value)),
        _ => false,
    })
}

impl ExprMutator for Reshapes {
    fn rule(&self) -> &'static str {
        "reshape removed"
    }

    fn bind(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> Bound {
        if let Expr::Let { var, .. } = store.expr(pre)
            && is_call(store, value, "on_device")
            && is_call(store, arg(store, value, 0), "call_lowered")
        {
            self.calls.insert(var, arg(store, value, 0));
        }
        Bound::Keep
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if !is_reshape(store, post) {
            return post;
        }
        let Some(Expr::Tuple(fields)) = args(store, post).get(1).map(|tuple| store.expr(*tuple)) else { return post };
        match store.items(fields).next().map(|first| store.expr(first)) {
            Some(Expr::Var(var)) => self.calls.get(&var).copied().unwrap_or(post),
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, failure, unchanged};
    use super::*;
    use crate::ops::build::call_with;

    #[test]
    fn a_program_that_is_not_lowered_stays() {
        unchanged("RemoveStandaloneReshapes()", "def @main(%x: Tensor[(2, 2), float32]) { reshape(%x, newshape=[4]) }");
        let said = failure("RemoveStandaloneReshapes()", "def @other() { 1 }");
        assert!(said.contains("no definition of main"), "{said}");
    }

    /// Marks calls of `@flat` as those of lowered reshapes, which a text cannot say.
    struct Mark;

    impl ExprMutator for Mark {
        fn rule(&self) -> &'static str {
            "marked"
        }

        fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
            let flat = store.name("flat");
            let Some(call) = store.call(post).filter(|_| is_call(store, post, "call_lowered")) else { return post };
            let lowered: Vec<ExprId> = store.items(call.args).collect();
            if !matches!(store.expr(lowered[0]), Expr::Global(name) if name == flat) {
                return post;
            }
            let marks = AttrValue::Map([(store.name("relay.reshape_only"), AttrValue::int(1))].into());
            let metadata = AttrValue::Map([(store.name("relay_attrs"), marks)].into());
            call_with(store, "call_lowered", &lowered, &[("metadata", metadata)])
        }
    }

    #[test]
    fn a_lowered_reshape_is_the_call_before_it() {
        let store = &mut Store::new();
        let program = "def @flat(%a: Tensor[(4), float32]) -> Tensor[(4), float32] { %a }
            def @kernel(%a: Tensor[(4), float32]) -> Tensor[(4), float32] { exp(%a) }
            def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
              let %a = on_device(call_lowered(@kernel, (%x,)), virtual_device=None);
              let %b = on_device(call_lowered(@flat, (%a,)), virtual_device=None);
              let %c = on_device(call_lowered(@flat, (%x,)), virtual_device=None);
              add(%b, %c)
            }";
        let mut module = testing::read(store, program);
        let main = store.name("main");
        let marked = module.function(main).map(|main| rewrite(store, main, &mut Mark)).expect("there is a main");
        module.set_function(main, marked);
        let trace = testing::run(store, module, "RemoveStandaloneReshapes()");
        let text = testing::show(store, trace.last());
        // The call is in both places, and the reshape of a parameter stays.
        let counts = ["(@kernel, ", "(@flat, ", "on_device(%1)"].map(|part| text.matches(part).count());
        assert_eq!(counts, [1, 1, 2], "{text}");
    }
}
