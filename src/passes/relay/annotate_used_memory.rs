//! AnnotateUsedMemory: how much memory is alive where each kernel is called.
//!
//! Each primitive function of `@main` gets `used_memory`, for every call of it the bytes of all tensors that are alive there,
//! inputs and output included; `@main` gets `io_used_memory`, the bytes of its parameters and result.
//!
//! The program must be typed and in A-normal form. Tensors of unknown extents, functions that are alive at a call, primitive
//! functions that nothing calls and other functions inside are refused, as in TVM.
//!
//! Source: `src/relay/backend/annotate_used_memory.cc`, `liveness_analysis.cc`.

use super::support::lifetimes::{Lifetimes, branches};
use super::support::{is_primitive, strip_on_device, with_dict_attrs};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::{leaf_types, post_order};
use crate::ir::{AttrValue, Expr, ExprId, Function, Module, Store, Type, TypeId, VarId};
use crate::ops::build::ints;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Annotates primitive functions with the memory that is alive where they are called.
pub static SPEC: PassSpec = PassSpec {
    name: "AnnotateUsedMemory",
    info_name: "AnnotateUsedMemory",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["ToANormalForm", "InferType"],
    params: &[],
    config: &[],
    summary: "Annotates kernels with the bytes that are alive where they are called.",
    doc: explained(
        "An analysis of lifetimes over the bindings of `@main`: for each call of a primitive function that is bound to a variable, the \
bytes of all tensors that are needed then or later, and of the result. The function gets them as `used_memory`, a number for each \
call; `@main` gets the bytes of its parameters and of its result as `io_used_memory`.",
    ),
    example_before: explained(
        "\
def @main(%input: Tensor[(1, 2, 2, 4), int8]) -> Tensor[(1, 2, 2, 4), int8] {
  let %f = fn (%x: Tensor[(1, 2, 2, 4), int8], Primitive=1) -> Tensor[(1, 2, 2, 4), int8] {
    nn.relu(%x)
  };
  let %y = %f(%input);
  %y
}
",
    ),
    example_after: explained(
        "\
def @main(%input: Tensor[(1, 2, 2, 4), int8], io_used_memory=32) -> Tensor[(1, 2, 2, 4), int8] {
  let %f: fn (Tensor[(1, 2, 2, 4), int8]) -> Tensor[(1, 2, 2, 4), int8] = fn (%x: Tensor[(1, 2, 2, 4), int8], \
Primitive=1, used_memory=[32]) -> Tensor[(1, 2, 2, 4), int8] {
    nn.relu(%x)
  };
  let %y: Tensor[(1, 2, 2, 4), int8] = %f(%input);
  %y
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let main = cx.store.name("main");
    let refused = |store: &Store, at: Option<ExprId>, message: String| {
        vec![Diagnostic::error("relay-used-memory", message, at.and_then(|at| store.source_span(at)))]
    };
    let Some(id) = module.function(main) else {
        return Err(refused(cx.store, None, "There is no definition of main".to_owned()));
    };
    let store = &mut *cx.store;
    let io = io_memory(store, id).map_err(|message| refused(store, Some(id), message))?;
    let used = Uses::of(store, id).map_err(|message| refused(store, Some(id), message))?;
    let mut annotate = Annotate { used };
    let new = rewrite(store, id, &mut annotate);
    let mut result = module.clone();
    if let Some(function) = store.as_function(new) {
        let name = store.name("io_used_memory");
        let attrs = Some(with_dict_attrs(store, function.attrs, &[(name, AttrValue::int(io))]));
        let ty = store.checked_type(id);
        let new = store.rewrite("annotated with memory", id, new, |store| {
            if attrs == function.attrs {
                return new;
            }
            let function = store.add_function(Function { attrs, ..function });
            store.add_typed(Expr::Function(function), ty)
        });
        result.set_function(main, new);
    }
    Ok(result)
}

/// Returns the bytes of the parameters and the result of a function.
fn io_memory(store: &Store, id: ExprId) -> Result<i64, String> {
    let function = store.as_function(id).ok_or("a function was expected")?;
    let mut total = bytes(store, store.checked_type(function.body))?;
    for param in store.items(function.params) {
        total += bytes(store, store.var_data(param).ty)?;
    }
    Ok(total)
}

/// Returns the bytes of a tensor or a tuple of tensors.
fn bytes(store: &Store, ty: Option<TypeId>) -> Result<i64, String> {
    let ty = ty.ok_or("InferType pass should be run before AnnotateUsedMemory.")?;
    let mut total = 0i64;
    for ty in leaf_types(store, ty) {
        let Type::Tensor { shape, dtype } = store.type_of_id(ty) else {
            return Err("only tensors have a size, and something else is alive where a kernel is called".to_owned());
        };
        let extents: Option<Vec<i64>> = shape.iter().map(|dim| dim.known()).collect();
        let extents = extents.ok_or("AnnotateUsedMemory does not support dynamic shapes.")?;
        let size = extents.iter().try_fold(dtype.bytes() as i64, |size, extent| size.checked_mul(*extent));
        total = size.and_then(|size| total.checked_add(size)).ok_or("a tensor is too large to be counted")?;
    }
    Ok(total)
}

/// The bytes that are alive at the calls of each primitive function, by the variable that it is bound to.
#[derive(Default)]
struct Uses(FxHashMap<VarId, Vec<i64>>);

enum Step {
    Scope(ExprId),
    Let(ExprId),
}

impl Uses {
    fn of(store: &Store, function: ExprId) -> Result<Uses, String> {
        let body = store.as_function(function).map_or(function, |function| function.body);
        let mut lifetimes = Lifetimes::default();
        for id in post_order(store, body) {
            if let Expr::Let { var, value, .. } = store.expr(id)
                && is_primitive(store, value)
            {
                lifetimes.watched.insert(var);
            }
        }
        lifetimes.run(store, function)?;
        let mut uses = Uses::default();
        // A let comes behind the bindings of its branches and behind the lets after it; the lists are turned at last.
        let mut stack = vec![Step::Scope(body)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Let(id) => uses.add(store, id, &lifetimes)?,
                Step::Scope(mut id) => {
                    let mut inner = Vec::new();
                    while let Expr::Let { body, value, .. } = store.expr(id) {
                        if matches!(store.expr(value), Expr::Function(_)) && !is_primitive(store, value) {
                            return Err("Expect top-level functions to be primitive.".to_owned());
                        }
                        stack.push(Step::Let(id));
                        inner.extend(branches(store, id));
                        id = body;
                    }
                    stack.extend(inner.into_iter().rev().map(Step::Scope));
                }
            }
        }
        for var in &lifetimes.watched {
            let name = store.var_name(*var);
            let missing = || format!("Could not find used_memory value for primitive function bound at {name}");
            uses.0.get_mut(var).ok_or_else(missing)?.reverse();
        }
        Ok(uses)
    }

    fn add(&mut self, store: &Store, id: ExprId, lifetimes: &Lifetimes) -> Result<(), String> {
        let (Some(alive), Expr::Let { value, .. }) = (lifetimes.alive.get(id), store.expr(id)) else { return Ok(()) };
        let Some(call) = store.call(strip_on_device(store, value)) else { return Ok(()) };
        let Expr::Var(callee) = store.expr(call.callee) else { return Ok(()) };
        let mut total = 0;
        for var in alive.iter().filter(|var| **var != callee) {
            total += bytes(store, store.var_data(*var).ty)?;
        }
        self.0.entry(callee).or_default().push(total);
        Ok(())
    }
}

struct Annotate {
    used: Uses,
}

impl ExprMutator for Annotate {
    fn rule(&self) -> &'static str {
        "annotated with memory"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Let { var, value, body } = store.expr(post) else { return post };
        let (Some(used), Some(function)) = (self.used.0.get(&var), store.as_function(value)) else { return post };
        let name = store.name("used_memory");
        let attrs = Some(with_dict_attrs(store, function.attrs, &[(name, ints(used))]));
        if attrs == function.attrs {
            return post;
        }
        let function = store.add_function(Function { attrs, ..function });
        let ty = store.checked_type(value);
        let value = store.add_typed(Expr::Function(function), ty);
        let ty = store.checked_type(post);
        store.add_typed(Expr::Let { var, value, body }, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure};

    const CALLS: &str = "ToANormalForm(), InferType(), AnnotateUsedMemory()";

    /// A kernel that keeps the type of its argument.
    fn relu(name: &str) -> String {
        format!("%{name} = fn (%p: Tensor[(2, 8), int8], Primitive=1) -> Tensor[(2, 8), int8] {{ nn.relu(%p) }};")
    }

    #[test]
    fn what_is_needed_later_is_alive() {
        let program = format!(
            "def @main(%x: Tensor[(2, 8), int8]) {{ {} {} %2 = %0(%x); %3 = %1(%x); concatenate((%2, %3)) }}",
            relu("0"),
            relu("1")
        );
        let text = after(CALLS, &program);
        // Input and output; behind it also the output of the first.
        assert!(text.contains("used_memory=[32]") && text.contains("used_memory=[48]"), "{text}");
        assert!(text.contains("io_used_memory=48"), "{text}");
    }

    #[test]
    fn a_kernel_that_is_called_twice_has_a_number_for_each_call() {
        let program =
            format!("def @main(%x: Tensor[(2, 8), int8]) {{ {} %1 = %0(%x); %2 = %0(%x); concatenate((%1, %2)) }}", relu("0"));
        assert!(after(CALLS, &program).contains("used_memory=[32, 48]"), "{}", after(CALLS, &program));
    }

    #[test]
    fn unknown_extents_and_kernels_without_calls_are_refused() {
        let said = failure("AnnotateUsedMemory()", "def @main(%x: Tensor[(?), int8]) { %x }");
        assert_eq!(said, "AnnotateUsedMemory does not support dynamic shapes.");
        let program = "def @main(%x: int8) { let %f = fn (%p: int8, Primitive=1) -> int8 { abs(%p) }; %x }";
        assert!(failure("AnnotateUsedMemory()", program).contains("bound at f"));
        let program = "def @main(%x: int8) { let %f = fn (%p: int8) -> int8 { abs(%p) }; let %y = %f(%x); %y }";
        assert!(failure("AnnotateUsedMemory()", program).contains("to be primitive"));
    }
}
