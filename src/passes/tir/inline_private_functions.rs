//! InlinePrivateFunctions: replaces calls by the bodies of private functions.
//!
//! Source: `src/tirx/transform/inline_private_functions.cc`. TVM knows only functions that call themselves as
//! recursive; two that call each other it inlines without end, and here they stay.

use super::prim_func;
use crate::ir::{AttrValue, Block, Id, Module, Name, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `tirx.transform.InlinePrivateFunctions`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.InlinePrivateFunctions",
    info_name: "tirx.InlinePrivateFunctions",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts private functions where they are called.",
    doc: explained(
        "A call that is a statement becomes the body of the function it calls, over what it is called with, if the function is \
private, is not recursive, takes no buffers, has no block at its top and is for the same target. Functions that are called \
nowhere else go. A call inside of an expression stays, and so does its function.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            Module.put(A.data, i)

    @T.prim_func(private=True)
    def put(data: T.handle(\"int32\", \"global\"), n: T.int32):
        B = T.decl_buffer((16,), \"int32\", data=data)
        B[n] = n + 1
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            B = T.decl_buffer((16,), \"int32\", data=A.data)
            B[i] = i + 1
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let callees = inlinable(cx.store, module);
    if callees.is_empty() {
        return Ok(module.clone());
    }
    let removable = callees.keys().copied().collect();
    let mut pass = Inline { callees, removable, target: None };
    let mut new = module.clone();
    let mut changed = false;
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(cx.store, func) else { continue };
        pass.target = cx.store.attr(data.attrs, "target").cloned();
        let inlined = rewrite_func(cx.store, func, &mut pass)?;
        changed |= inlined != func;
        new.set_function(name, inlined);
    }
    if !changed {
        return Ok(module.clone());
    }
    for &(name, _) in module.functions() {
        if pass.removable.contains(&name) {
            new.remove_function(name);
        }
    }
    cx.run("tirx.ConvertSSA()", &new)
}

/// Returns the functions that may stand where they are called.
fn inlinable(store: &mut Store, module: &Module) -> FxHashMap<Id<Name>, PrimFunc> {
    let mut calls: FxHashMap<Id<Name>, Vec<Id<Name>>> = FxHashMap::default();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let mut called = Vec::new();
        let mut stack = vec![data.body];
        while let Some(id) = stack.pop() {
            store.for_each_prim_of(store.stmt(id), |root| {
                store.for_each_prim(root, &mut |_, part| called.extend(callee(store, part).map(str::to_owned)));
            });
            store.for_each_inner_stmt(id, |inner| stack.push(inner));
        }
        calls.insert(name, called.iter().map(|called| store.name(called)).collect());
    }
    let mut found = FxHashMap::default();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let exposed = store.attr_str(data.attrs, "global_symbol").is_some();
        let buffers = data.params.iter().any(|param| matches!(param, PrimParam::Buffer(_)));
        let scheduled = matches!(*store.stmt(data.body), Stmt::Block(block) if is_block(store.prim_block(block)));
        if !exposed && !buffers && !scheduled && !reaches(&calls, name) {
            found.insert(name, data);
        }
    }
    found
}

/// True for a block that is not bare.
fn is_block(block: &Block) -> bool {
    !block.bare
}

/// True if a function calls itself, directly or through others.
fn reaches(calls: &FxHashMap<Id<Name>, Vec<Id<Name>>>, name: Id<Name>) -> bool {
    let mut seen = FxHashSet::default();
    let mut stack = calls.get(&name).cloned().unwrap_or_default();
    while let Some(next) = stack.pop() {
        if next == name {
            return true;
        }
        if seen.insert(next) {
            stack.extend(calls.get(&next).into_iter().flatten());
        }
    }
    false
}

/// Returns the function of the module that an expression calls.
fn callee<'s>(store: &'s Store, expr: &PrimExpr) -> Option<&'s str> {
    match expr {
        PrimExpr::Call { op, .. } => store.str(*op).strip_prefix('@'),
        _ => None,
    }
}

struct Inline {
    callees: FxHashMap<Id<Name>, PrimFunc>,
    /// The functions that nothing calls any more.
    removable: FxHashSet<Id<Name>>,
    target: Option<AttrValue>,
}

impl Inline {
    /// Returns the body of the called function, over the arguments.
    fn inlined(&mut self, cx: &mut Rewriting<'_>, call: PrimId) -> Option<StmtId> {
        let PrimExpr::Call { args, .. } = &*cx.store.prim_rc(call) else { return None };
        let name = callee(cx.store, cx.store.prim_of_id(call))?.to_owned();
        let name_id = cx.store.name(&name);
        let func = self.callees.get(&name_id)?;
        if let (Some(own), Some(target)) = (&self.target, cx.store.attr(func.attrs, "target"))
            && own != target
        {
            return None;
        }
        if func.params.len() != args.len() {
            let message = format!("Callee {name} accepts {} parameters, but is called with {}", func.params.len(), args.len());
            cx.fail("tir-call", message);
            return None;
        }
        let values = func.params.iter().zip(args).filter_map(|(param, arg)| match param {
            PrimParam::Var(symbol) => Some((*symbol, *arg)),
            PrimParam::Buffer(_) => None,
        });
        let values: Vec<(Id<Symbol>, PrimId)> = values.collect();
        let mut special = Rewriting::new(cx.store);
        for (symbol, value) in values {
            special.set_symbol(symbol, value);
        }
        Some(special.visit(&mut Specialize, func.body))
    }
}

impl StmtMutator for Inline {
    fn rule(&self) -> &'static str {
        "function inlined"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Evaluate(value) = *cx.store.stmt(id) else { return None };
        let body = self.inlined(cx, value)?;
        Some(cx.visit(self, body))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        if let Some(name) = callee(cx.store, cx.store.prim_of_id(post)).map(str::to_owned) {
            let name = cx.store.name(&name);
            self.removable.remove(&name);
        }
        post
    }
}

/// Folds expressions over substituted numbers, as TVM does in a specialised function.
struct Specialize;

impl StmtMutator for Specialize {
    fn rule(&self) -> &'static str {
        ""
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        match *cx.store.prim_of_id(post) {
            PrimExpr::Binary { op, a, b } if pre != post => binary(cx.store, op, a, b),
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    const CALL: &str = "tirx.InlinePrivateFunctions()";

    fn module(main: &str, others: &str) -> String {
        format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main(A: T.Buffer((16,), \"int32\"), n: T.int32):\n        {main}\n{others}"
        )
    }

    const PUT: &str = "
    @T.prim_func(private=True)
    def put(data: T.handle(\"int32\", \"global\"), n: T.int32):
        B = T.decl_buffer((n,), \"int32\", data=data)
        m: T.let[T.int32] = n + 2
        if n > 2:
            B[0] = m
";

    #[test]
    fn two_calls_have_variables_of_their_own_and_numbers_are_folded() {
        let text = after(&module("Module.put(A.data, 3)\n        Module.put(A.data, n)", PUT), CALL);
        assert!(!text.contains("def put"), "{text}");
        assert!(text.contains("m: T.let[T.int32] = 5") && text.contains("m_1: T.let[T.int32] = n + 2"), "{text}");
        assert!(text.contains("if T.bool(True):") && text.contains("if n > 2:"), "{text}");
    }

    #[test]
    fn a_call_through_another_is_inlined_too() {
        let through = format!(
            "{PUT}\n    @T.prim_func(private=True)\n    def twice(data: T.handle(\"int32\", \"global\")):\n        Module.put(data, 3)\n        Module.put(data, 4)\n"
        );
        let text = after(&module("Module.twice(A.data)", &through), CALL);
        assert_eq!(text.matches("def ").count(), 1, "{text}");
        assert!(text.contains("= 5") && text.contains("= 6"), "{text}");
    }

    #[test]
    fn a_call_in_an_expression_stays() {
        let value = "\n    @T.prim_func(private=True)\n    def value(n: T.int32) -> T.int32:\n        return n\n";
        unchanged(&module("A[0] = Module.value(n)", value), CALL);
    }

    #[test]
    fn functions_that_call_each_other_stay() {
        let both = "
    @T.prim_func(private=True)
    def f(n: T.int32):
        if n > 0:
            Module.g(n)

    @T.prim_func(private=True)
    def g(n: T.int32):
        Module.f(n - 1)
";
        unchanged(&module("Module.f(n)", both), CALL);
    }

    #[test]
    fn a_function_for_another_target_stays() {
        let source = module("T.func_attr({\"target\": T.target(\"llvm\")})\n        Module.put(A.data, 3)", PUT);
        let put = "data: T.handle(\"int32\", \"global\"), n: T.int32):\n";
        unchanged(&source.replace(put, &format!("{put}        T.func_attr({{\"target\": T.target(\"cuda\")}})\n")), CALL);
    }
}
