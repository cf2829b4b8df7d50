//! BindTarget: gives every function the target that it is compiled for.
//!
//! Source: `src/tirx/transform/bind_target.cc`.

use super::{func_attrs, prim_func, targets, with_func};
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, AttrValue, ExprId, ForKind, Id, Module, Name, PrimExpr, PrimFunc, PrimId, Stmt, StmtId, Store};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Copier, Rewriting, StmtMutator, rewrite_func};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `tirx.transform.BindTarget`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.BindTarget",
    info_name: "tirx.BindTarget",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "target",
        default: "",
        doc: explained(
            "What is compiled for: `tvm.target.Target({\"kind\": \"cuda\", \"host\": \"llvm\"})`, a kind or such a dictionary.",
        ),
    }],
    config: &[],
    summary: "Gives every function the target that it is compiled for.",
    doc: explained(
        "The attribute `target` of a function that has none becomes:\n\n\
- for one that is marked `tirx.is_host_func`, the host of the target, and the mark goes;\n\
- for one with a `global_symbol`, the whole target;\n\
- for a private one that only the host calls, the host; for any other, the target without its host.\n\n\
What stands in loops bound to threads, or in attributes that launch them, runs on the device; all else on the host. A private \
function that both call is doubled: the copy is called `name_host`, is for the host, and is what the host calls then. A function \
that has a target already and a `global_symbol` gets the host, if it names none.",
    ),
    example_before: explained(
        "\
# tirx.BindTarget(tvm.target.Target({\"kind\": \"llvm\", \"mcpu\": \"skylake\"}))
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), \"float32\")):
        A[0] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), \"float32\")):
        T.func_attr({\"target\": T.target({\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"mcpu\": \"skylake\", \"tag\": \"\"})})
        A[0] = T.float32(1.0)
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let target = targets::read(store, args.get("target"));
    let target = target.map_err(|message| vec![Diagnostic::error("pass-argument", format!("BindTarget: {message}"), None)])?;
    let named = targets::host(store, &target);
    let host = match &named {
        Some(host) => host.clone(),
        None => targets::read(store, &crate::pass::Literal::Str("llvm".to_owned())).unwrap_or(AttrValue::Null),
    };
    let device = targets::without_host(store, &target);
    let callers = Callers::of(store, module);
    let mut new = module.clone();
    let mut replaced: FxHashMap<Id<Name>, Id<Name>> = FxHashMap::default();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let exposed = store.attr_str(data.attrs, "global_symbol").is_some();
        let bind = |store: &mut Store, to: &AttrValue| set_target(store, func, to);
        if let Some(own) = store.attr(data.attrs, "target").cloned() {
            if let (Some(host), None, true) = (&named, targets::host(store, &own), exposed) {
                let with = targets::with_host(store, &own, host);
                new.set_function(name, bind(store, &with));
            }
            continue;
        }
        if store.attr_int(data.attrs, "tirx.is_host_func").is_some_and(|mark| mark != 0) {
            let both = targets::with_host(store, &host, &host);
            let bound = bind(store, &both);
            let bound = with_func(store, "host function marked", bound, |store, func| {
                let attrs = store.without_attr(func.attrs, "tirx.is_host_func");
                PrimFunc { attrs, ..func }
            });
            new.set_function(name, bound);
            continue;
        }
        if exposed {
            new.set_function(name, bind(store, &target));
            continue;
        }
        match (callers.host.contains(&name), callers.device.contains(&name)) {
            (true, true) => {
                let copy = renewed(store, func);
                new.set_function(name, bind(store, &device));
                let copy = set_target(store, copy, &host);
                let fresh = fresh_name(store, &new, &format!("{}_host", store.str(name)));
                new.set_function(fresh, copy);
                replaced.insert(name, fresh);
            }
            (true, false) => new.set_function(name, bind(store, &host)),
            _ => new.set_function(name, bind(store, &device)),
        }
    }
    if replaced.is_empty() {
        return Ok(new);
    }
    for (name, func) in new.functions().to_vec() {
        if prim_func(store, func).is_some() && store.attr_str(func_attrs(store, func), "global_symbol").is_some() {
            let called = rewrite_func(store, func, &mut Redirect { replaced: &replaced, on_device: false })?;
            new.set_function(name, called);
        }
    }
    Ok(new)
}

fn set_target(store: &mut Store, func: ExprId, target: &AttrValue) -> ExprId {
    with_func(store, "target bound", func, |store, func| {
        let attrs = Some(store.with_attr(func.attrs, "target", target.clone()));
        PrimFunc { attrs, ..func }
    })
}

fn renewed(store: &mut Store, func: ExprId) -> ExprId {
    let crate::ir::Expr::PrimFunc(id) = store.expr(func) else { return func };
    let copy = Copier::default().program(store, id);
    crate::tir::rebuild_func(store, func, copy)
}

fn fresh_name(store: &mut Store, module: &Module, wanted: &str) -> Id<Name> {
    let mut name = store.name(wanted);
    let mut number = 0;
    while module.function(name).is_some() {
        number += 1;
        name = store.name(&format!("{wanted}_{number}"));
    }
    name
}

/// True if the body of a statement runs on the device.
fn launches(store: &Store, id: StmtId) -> bool {
    match store.stmt(id) {
        Stmt::For(head, _) => matches!(head.kind, ForKind::Thread(_)),
        Stmt::Attr { key, node, .. } => {
            matches!(node, AttrNode::Thread { .. })
                || matches!(store.str(*key), "thread_extent" | "virtual_thread" | "tirx.device_entry")
        }
        _ => false,
    }
}

/// The functions that are called, from where.
#[derive(Default)]
struct Callers {
    host: FxHashSet<Id<Name>>,
    device: FxHashSet<Id<Name>>,
}

impl Callers {
    fn of(store: &mut Store, module: &Module) -> Callers {
        let mut callers = Callers::default();
        for &(_, func) in module.functions() {
            let Some(data) = prim_func(store, func) else { continue };
            if store.attr_str(data.attrs, "global_symbol").is_none() {
                continue;
            }
            let mut stack = vec![(data.body, false)];
            while let Some((id, outer)) = stack.pop() {
                let on_device = outer || launches(store, id);
                let mut called = Vec::new();
                store.for_each_prim_of(store.stmt(id), |root| {
                    store.for_each_prim(root, &mut |_, part| called.extend(called_function(store, part)));
                });
                for name in called {
                    let name = store.name(&name);
                    (if on_device { &mut callers.device } else { &mut callers.host }).insert(name);
                }
                store.for_each_inner_stmt(id, |inner| stack.push((inner, on_device)));
            }
        }
        callers
    }
}

/// Returns the function of the module that an expression calls.
fn called_function(store: &Store, expr: &PrimExpr) -> Option<String> {
    match expr {
        PrimExpr::Call { op, .. } => store.str(*op).strip_prefix('@').map(str::to_owned),
        _ => None,
    }
}

/// Makes the host call the host's variants.
struct Redirect<'r> {
    replaced: &'r FxHashMap<Id<Name>, Id<Name>>,
    on_device: bool,
}

impl StmtMutator for Redirect<'_> {
    fn rule(&self) -> &'static str {
        "host function called"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if self.on_device || !launches(cx.store, id) {
            return None;
        }
        self.on_device = true;
        cx.forget();
        let new = cx.descend(self, id);
        self.on_device = false;
        cx.forget();
        Some(new)
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { args, dtype, .. } = &*cx.store.prim_rc(post) else { return post };
        let name = called_function(cx.store, cx.store.prim_of_id(post)).filter(|_| !self.on_device);
        let Some(name) = name.map(|name| cx.store.name(&name)) else { return post };
        match self.replaced.get(&name) {
            Some(new) => {
                let op = format!("@{}", cx.store.str(*new));
                cx.store.prim_call(&op, args, *dtype)
            }
            None => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    const MAIN: &str = "\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(a: T.int32, b: T.int32) -> T.int32:
        return a + b

    @T.prim_func
    def main(A: T.Buffer((128,), \"int32\"), B: T.Buffer((128,), \"int32\")):
        cls = Module
        length: T.let[T.int32] = cls.add(64, 64)
        for bx in T.thread_binding(length, thread=\"blockIdx.x\"):
            B[bx] = cls.add(A[bx], 1)
";

    const CALL: &str =
        "tir.BindTarget(tvm.target.Target({\"kind\": \"cuda\", \"arch\": \"sm_80\", \"host\": {\"kind\": \"llvm\"}}))";

    #[test]
    fn a_function_that_host_and_device_call_is_doubled() {
        let text = after(MAIN, CALL);
        assert!(text.contains("def add_host(") && text.contains(".add_host(64, 64)"), "{text}");
        assert!(text.contains(".add(A[bx], 1)"), "{text}");
    }

    #[test]
    fn a_private_function_of_the_host_is_for_the_host() {
        let text = after(&MAIN.replace("cls.add(A[bx], 1)", "A[bx]"), CALL);
        let add = &text[text.find("def add(").expect("it is there")..];
        assert!(add.lines().nth(1).expect("attributes").contains("\"kind\": \"llvm\""), "{text}");
        assert!(!text.contains("add_host"), "{text}");
    }

    #[test]
    fn an_unknown_target_is_refused() {
        let error = error(MAIN, "tirx.BindTarget(\"gpu\")");
        assert!(error.contains("Target kind \"gpu\" is not defined"), "{error}");
    }
}
