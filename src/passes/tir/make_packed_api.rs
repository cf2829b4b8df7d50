//! MakePackedAPI: functions get the signature that TVM's runtime calls.
//!
//! Source: `src/tirx/transform/make_packed_api.cc`.

mod binder;
mod returns;
pub(super) mod shown;
mod tensor;

use super::{prim_func, targets};
use crate::diag::Diagnostic;
use crate::ir::{
    AttrNode, AttrValue, DType, DTypeCode, ExprId, Id, Module, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, StmtId, Store,
    Symbol, Type,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, over_body};
use binder::Binder;
use returns::Returns;
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.MakePackedAPI`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.MakePackedAPI",
    info_name: "tirx.MakePackedAPI",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives functions the signature that the runtime calls.",
    doc: explained("A function with a `global_symbol` whose target names a host becomes one of four parameters: a handle of itself, the \
packed arguments, their number, and where the result goes. The body first takes the arguments out: it checks how many there \
are and of which kind, and of each tensor the number of axes, type, shape, strides, offset and device, with messages that name \
the argument. Sizes that are variables are bound to what the first tensor says. Then follows what was there, with `return` \
written to the result and 0 returned instead; the device is set where it is not a CPU.\n\n\
Calls of such functions become `T.call_cpacked`. A function without `target` is refused; one whose target names no host is for \
a device, and stays."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(n: T.int32) -> T.int32:
        T.func_attr({\"target\": T.target({\"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})})
        return n + 1
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(self_handle: T.handle, args: T.handle, num_args: T.int32, result: T.handle) -> T.int32:
        T.func_attr({\"calling_conv\": 1, \"global_symbol\": \"__tvm_ffi_f\", \"target\": T.target({\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})})
        assert num_args == 1, (\"TypeError\", [\"Expected \", \"1\", \" arguments\", \" when calling:\\n  `\", \"f(n: int32)\", \"`\"])
        assert not T.isnullptr(args), (\"TypeError\", [\"args pointer is NULL\", \" when calling:\\n  `\", \"f(n: int32)\", \"`\"])
        n_type_index: T.let[T.int32] = T.tvm_struct_get(args, 0, 13, \"int32\")
        assert n_type_index == 1 or n_type_index == 2, (\"TypeError\", [\"Mismatched type on argument #\", \"0\", \" when calling:\\n  `\", \"f(n: int32)\", \"`,\\n  expected \", \"int\"])
        n: T.let[T.int32] = T.Cast(\"int32\", T.tvm_struct_get(args, 0, 15, \"int64\"))
        with T.attr({\"compute_scope\": \"f_compute_\"}):
            T.tvm_struct_set(result, 0, 13, 1)
            T.tvm_struct_set(result, 0, 14, 0)
            T.tvm_struct_set(result, 0, 15, T.Cast(\"int64\", n + 1))
            return 0
        return 0
"),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let mut symbols = FxHashMap::default();
    for (name, other) in module.functions() {
        if let Some(other) = prim_func(cx.store, *other)
            && let Some(symbol) = packed_symbol(cx.store, &other)
        {
            symbols.insert(*name, symbol);
        }
    }
    let mut calls = Calls { symbols };
    let func = over_body(cx.store, func, |store, body| Rewriting::new(store).visit(&mut calls, body));
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let Some(symbol) = packed_symbol(cx.store, &prim) else { return Ok(Some(func)) };
    let refuse = |store: &Store, message: String| vec![Diagnostic::error("tir-packed", message, store.source_span(func))];
    let Some(target) = cx.store.attr(prim.attrs, "target").cloned() else {
        let message =
            format!("MakePackedAPI required the function {symbol} to be annotated with \"target\": BindTarget does that");
        return Err(refuse(cx.store, message));
    };
    let Some(host) = targets::host(cx.store, &target) else { return Ok(Some(func)) };
    let device = device_type(cx.store, &target);
    let mut problem = None;
    let new = super::with_func(cx.store, "packed function made", func, |store, old| {
        let (new, found) = packed(store, old, &symbol, host, device);
        problem = found;
        new
    });
    match problem {
        Some(message) => Err(refuse(cx.store, message)),
        None => Ok(Some(new)),
    }
}

/// The name under which a function is called as a packed one, if it is.
fn packed_symbol(store: &Store, func: &PrimFunc) -> Option<String> {
    if store.attr_int(func.attrs, "calling_conv").unwrap_or(0) != 0 {
        return None;
    }
    store.attr_str(func.attrs, "global_symbol").map(str::to_owned)
}

/// The device that code for a target runs on, as DLPack numbers it.
pub(super) fn device_type(store: &Store, target: &AttrValue) -> i64 {
    if let Some(said) = targets::field(store, target, "target_device_type").and_then(|value| value.as_int()) {
        return said;
    }
    let Some(AttrValue::Str(kind)) = targets::field(store, target, "kind") else { return 1 };
    crate::tir::device_type(store.str(kind))
}

/// A new variable.
fn variable(store: &mut Store, name: &str, dtype: DType) -> Id<Symbol> {
    let name = store.name(name);
    store.add_symbol(Symbol { name, dtype, size: false })
}

/// The function as the runtime calls it, and what cannot be done.
fn packed(store: &mut Store, old: PrimFunc, symbol: &str, host: AttrValue, device: i64) -> (PrimFunc, Option<String>) {
    let handle = variable(store, "self_handle", DType::HANDLE);
    let args = variable(store, "args", DType::HANDLE);
    let count = variable(store, "num_args", DType::I32);
    let result = variable(store, "result", DType::HANDLE);
    let mut binder = Binder::new(store, symbol, &old.params, args, count, device);
    binder.params(store);
    let mut returns = Returns { result, parallel: 0, error: None };
    let mut rewriting = Rewriting::new(store);
    for (buffer, new) in &binder.buffers {
        rewriting.set_buffer(*buffer, *new);
    }
    let body = rewriting.visit(&mut returns, old.body);
    let scope = store.name(&format!("{symbol}_compute_"));
    let (scope, key) = (store.prim(PrimExpr::Str(scope)), store.name("compute_scope"));
    let body = store.add_stmt(Stmt::Attr { node: AttrNode::Nothing, key, value: scope, body });
    let mut stmts = vec![body];
    let mut nest = std::mem::take(&mut binder.init);
    if let Some(device_id) = binder.device_id() {
        let default = store.name("default");
        let default = store.prim(PrimExpr::Str(default));
        let (id, kind) = (store.prim(PrimExpr::Var(device_id)), store.prim_int(device, DType::I32));
        for (key, value) in [("device_id", id), ("device_type", kind)] {
            nest.push(Nest::Attr(AttrNode::Prim(default), store.name(key), value));
        }
        if device != 1 {
            let name = store.name("__tvm_set_device");
            let name = store.prim(PrimExpr::Str(name));
            let call = store.prim_call("call_packed", &[name, kind, id], DType::I32);
            stmts.insert(0, store.add_stmt(Stmt::Evaluate(call)));
        }
    }
    nest.append(&mut binder.asserts);
    nest.append(&mut binder.declared);
    let zero = store.prim_int(0, DType::I32);
    stmts.push(store.add_stmt(Stmt::Return(zero)));
    let body = store.add_stmts(&stmts);
    let body = nested(store, nest, body);
    let attrs = store.with_attr(old.attrs, "calling_conv", AttrValue::Int { value: 1, bits: 64 });
    let attrs = store.with_attr(Some(attrs), "target", host);
    let name = AttrValue::Str(store.name(&format!("__tvm_ffi_{symbol}")));
    let attrs = store.with_attr(Some(attrs), "global_symbol", name);
    let ret = Some(store.ty(Type::Prim(DType::I32)));
    let params = [handle, args, count, result].map(PrimParam::Var).into();
    (PrimFunc { params, ret, attrs: Some(attrs), body }, returns.error.or(binder.error))
}

/// Statements before or around the body.
enum Nest {
    Before(StmtId),
    Attr(AttrNode, Id<crate::ir::Name>, PrimId),
}

/// A body with things before and around it, the outermost first.
fn nested(store: &mut Store, nest: Vec<Nest>, body: StmtId) -> StmtId {
    // The statements of the innermost attribute so far, the last first.
    let mut stmts = vec![body];
    for part in nest.into_iter().rev() {
        match part {
            Nest::Before(stmt) => stmts.push(stmt),
            Nest::Attr(node, key, value) => {
                stmts.reverse();
                let body = store.add_stmts(&stmts);
                stmts = vec![store.add_stmt(Stmt::Attr { node, key, value, body })];
            }
        }
    }
    stmts.reverse();
    store.add_stmts(&stmts)
}

/// Calls of functions of the module that are packed.
struct Calls {
    symbols: FxHashMap<Id<crate::ir::Name>, String>,
}

impl StmtMutator for Calls {
    fn rule(&self) -> &'static str {
        "call made packed"
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { op, args, dtype } = &*cx.store.prim_rc(post) else { return post };
        let Some(name) = cx.store.str(*op).strip_prefix('@').map(str::to_owned) else { return post };
        let name = cx.store.name(&name);
        let Some(symbol) = self.symbols.get(&name).cloned() else { return post };
        let symbol = cx.store.name(&symbol);
        let mut packed = vec![cx.store.prim(PrimExpr::Str(symbol))];
        packed.extend(args);
        let null = cx.store.prim_int(0, DType::new(DTypeCode::UInt, 64));
        packed.push(cx.store.prim_call("reinterpret", &[null], DType::HANDLE));
        cx.store.prim_call("call_cpacked", &packed, *dtype)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const TARGET: &str = "T.func_attr({\"target\": T.target({\"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})})";

    fn source(head: &str, body: &str) -> String {
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        format!("@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f({head}):\n        {TARGET}\n{body}")
    }

    fn packed(head: &str, body: &str) -> String {
        after(&source(head, body), "tir.MakePackedAPI()")
    }

    #[test]
    fn sizes_are_bound_to_what_the_first_tensor_says() {
        let text = packed(
            "A: T.Buffer((\"n\", 4), \"float32\"), B: T.Buffer((\"n\",), \"float32\")",
            "n = T.int32()\nB[0] = A[n - 1, 0]",
        );
        assert!(text.contains("n: T.let[T.int32] = T.Cast(\"int32\", T.tvm_struct_get(f_A_shape, 0, 17, \"int64\"))"), "{text}");
        for part in ["Mismatched ", "B.shape[0]", "expected to match ", "A.shape[0]", "Invalid ", "A.shape[1]"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_device_is_set_when_it_is_not_a_cpu() {
        let source = source("A: T.Buffer((4,), \"float32\")", "A[0] = T.float32(0.0)").replace(
            "\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"})",
            "\"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"tag\": \"\"})",
        );
        let text = after(&source, "tir.MakePackedAPI()");
        assert!(text.contains("T.call_packed(\"__tvm_set_device\", 2, dev_id)") && text.contains("\"cuda\"])"), "{text}");
    }

    #[test]
    fn functions_for_a_device_stay() {
        let host = "\"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, ";
        unchanged(&source("A: T.Buffer((4,), \"float32\")", "A[0] = T.float32(0.0)").replace(host, ""), "tir.MakePackedAPI()");
    }

    #[test]
    fn a_function_without_target_is_refused() {
        let bare = source("A: T.Buffer((4,), \"float32\")", "A[0] = T.float32(0.0)").replace(&format!("        {TARGET}\n"), "");
        assert!(error(&bare, "tir.MakePackedAPI()").contains("to be annotated with \"target\""));
    }

    #[test]
    fn a_return_in_a_parallel_loop_is_refused() {
        assert!(
            error(&source("n: T.int32", "for i in T.parallel(n):\n    return i"), "tir.MakePackedAPI()").contains("parallel")
        );
    }
}
