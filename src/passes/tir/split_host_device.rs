//! SplitHostDevice: makes functions of the regions that run on a device.
//!
//! Source: `src/tirx/transform/split_host_device.cc`. TVM had three passes for this: AnnotateDeviceRegions,
//! SplitHostDevice and LowerDeviceKernelLaunch.

mod launch;

use super::undefined::Undefined;
use super::{prim_func, targets};
use crate::diag::Diagnostic;
use crate::ir::{
    AttrNode, AttrValue, Buffer, DType, DTypeCode, ExprId, Id, Module, Name, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, StmtId,
    Store, Symbol, Type, sort,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Copier, Rewriting, StmtMutator, rewrite_func};

/// TVM's `tirx.transform.SplitHostDevice`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.SplitHostDevice",
    info_name: "tirx.SplitHostDevice",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Takes what runs on a device out of functions.",
    doc: explained("In a function whose target names a host, what is bound to threads or stands in a `device_scope` becomes a function \
named `..._kernel` for the target without its host; so does in any function what a `target` attribute stands around. The \
kernel gets the variables that it uses and pointers to the buffers, sorted by name.\n\n\
In its place stands a launch, `T.call_ffi_kernel`, with how many threads there are along each axis and how much dynamic shared \
memory is needed. A kernel for a CPU is called by `T.call_extern` instead and gives an error code that is checked; within one \
target functions just call each other. Every function must have a target."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), n: T.int32):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        with T.launch_thread(\"threadIdx.x\", 64) as tx:
            if tx < n:
                A[tx] = T.float32(0.0)
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\"), n: T.int32):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        T.call_ffi_kernel(\"f_kernel\", A.data, n, 64, launch_params=[\"threadIdx.x\"], ret_ty=\"int32\")

    @T.prim_func(s_tir=True)
    def f_kernel(A_ptr: T.handle(\"float32\", \"global\"), n: T.int32):
        T.func_attr({\"calling_conv\": 2, \"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32}), \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"], \"tirx.noalias\": True})
        A = T.decl_buffer((64,), data=A_ptr)
        with T.launch_thread(\"threadIdx.x\", 64) as tx:
            if tx < n:
                A[tx] = T.float32(0.0)
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut new = module.clone();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let Some(target) = store.attr(data.attrs, "target").cloned() else {
            let message =
                format!("SplitHostDevice: Require the target attribute; {} has none: BindTarget does that", store.str(name));
            return Err(vec![Diagnostic::error("tir-split", message, store.source_span(func))]);
        };
        let prefix = store.attr_str(data.attrs, "global_symbol").map_or_else(|| store.str(name).to_owned(), str::to_owned);
        let device = targets::host(store, &target).map(|_| targets::without_host(store, &target));
        let mut split =
            Split { device, wanted: format!("{prefix}_kernel"), func: &data, from: func, module: &mut new, kernels: Vec::new() };
        let host = rewrite_func(store, func, &mut split)?;
        let kernels = split.kernels;
        new.set_function(name, host);
        for (name, kernel) in kernels {
            new.set_function(name, kernel);
        }
    }
    launch::lower(store, new)
}

/// Makes a name that no function of a module has.
fn fresh_name(store: &mut Store, taken: impl Fn(Id<Name>) -> bool, wanted: &str) -> Id<Name> {
    let mut name = store.name(wanted);
    let mut number = 0;
    while taken(name) {
        number += 1;
        name = store.name(&format!("{wanted}_{number}"));
    }
    name
}

/// Takes the kernels out of a function.
struct Split<'m> {
    /// The device of the function, where its target names a host.
    device: Option<AttrValue>,
    /// The base of the kernels' names.
    wanted: String,
    func: &'m PrimFunc,
    from: ExprId,
    module: &'m mut Module,
    kernels: Vec<(Id<Name>, ExprId)>,
}

impl StmtMutator for Split<'_> {
    fn rule(&self) -> &'static str {
        "kernel taken out"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Attr { node, key, body, .. } = cx.store.stmt(id).clone() else { return None };
        match (cx.store.str(key), &node) {
            ("target", AttrNode::Prim(node)) => {
                let target = targets::of_node(cx.store, *node)?;
                let device = targets::without_host(cx.store, &target);
                Some(self.split(cx.store, body, device))
            }
            ("device_scope", _) => self.device.clone().map(|device| self.split(cx.store, id, device)),
            ("thread_extent", _) => self.device.clone().map(|device| self.split(cx.store, id, device)),
            (_, AttrNode::Thread { .. }) if cx.store.str(key) != "virtual_thread" => {
                self.device.clone().map(|device| self.split(cx.store, id, device))
            }
            _ => None,
        }
    }
}

impl Split<'_> {
    /// Makes a kernel of a statement; returns the call in its place.
    fn split(&mut self, store: &mut Store, body: StmtId, device: AttrValue) -> StmtId {
        let undefined = Undefined::of(store, body);
        let mut captured: Vec<PrimParam> = undefined.symbols.into_iter().map(PrimParam::Var).collect();
        captured.extend(undefined.buffers.iter().copied().map(PrimParam::Buffer));
        let key = |param: &PrimParam| {
            let is_pointer = match *param {
                PrimParam::Buffer(_) => true,
                PrimParam::Var(symbol) => store.symbol(symbol).dtype.code == DTypeCode::Handle,
            };
            (!is_pointer, store.str(store.prim_param_name(*param)))
        };
        sort::sort_by(&mut captured, |a, b| key(a).cmp(&key(b)));
        let mut copier = Copier::default();
        let mut params = Vec::new();
        let mut args: Vec<PrimId> = Vec::new();
        let mut pointers: Vec<(Id<Buffer>, Id<Symbol>)> = Vec::new();
        for param in captured {
            match param {
                PrimParam::Var(symbol) => {
                    args.push(store.prim(PrimExpr::Var(symbol)));
                    params.push(PrimParam::Var(copier.define(store, symbol)));
                }
                PrimParam::Buffer(buffer) => {
                    args.push(store.prim(PrimExpr::Data(buffer)));
                    let data = store.buffer(buffer).clone();
                    let name = store.name(&format!("{}_ptr", store.str(data.name)));
                    let dtype = store.pointer(data.dtype, data.scope);
                    let pointer = store.add_symbol(Symbol { name, dtype, size: false });
                    params.push(PrimParam::Var(pointer));
                    pointers.push((buffer, pointer));
                }
            }
        }
        let mut declared = Vec::new();
        for buffer in undefined.buffers {
            let Some((_, pointer)) = pointers.iter().find(|(other, _)| *other == buffer) else { continue };
            let copy = copier.define_buffer(store, buffer);
            let data = Some(store.prim(PrimExpr::Var(*pointer)));
            let copy = Buffer { data, ..store.buffer(copy).clone() };
            let copy = store.add_buffer(copy);
            copier.buffers.insert(buffer, copy);
            declared.push(store.add_stmt(Stmt::Declare(copy)));
        }
        let inner = copier.stmt(store, body, &mut |_, _| {});
        let reports = matches!(super::make_packed_api::device_type(store, &device), 1 | 12 | 16);
        let mut stmts: Vec<StmtId> = declared.into_iter().rev().collect();
        stmts.push(inner);
        if reports {
            let zero = store.prim_int(0, DType::I32);
            stmts.push(store.add_stmt(Stmt::Return(zero)));
        }
        let body = store.flat_seq(None, &stmts);
        let mut attrs = store.with_attr(None, "target", device);
        for key in ["tirx.noalias", "tirx.is_global_func"] {
            attrs = store.with_attr(Some(attrs), key, AttrValue::Bool(true));
        }
        for key in ["s_tir", "tirx.kernel_launch_params", "num_inputs"] {
            if let Some(value) = store.attr(self.func.attrs, key).cloned() {
                attrs = store.with_attr(Some(attrs), key, value);
            }
        }
        let ret = reports.then(|| store.ty(Type::Prim(DType::I32)));
        let kernel = PrimFunc { params: params.into(), ret, attrs: Some(attrs), body };
        let kernel = crate::tir::rebuild_func(store, self.from, kernel);
        let name = fresh_name(
            store,
            |name| self.module.function(name).is_some() || self.kernels.iter().any(|(other, _)| *other == name),
            &self.wanted,
        );
        self.kernels.push((name, kernel));
        let op = store.name(&format!("@{}", store.str(name)));
        if !reports {
            let call = store.prim(PrimExpr::Call { op, args: args.into(), dtype: DType::VOID });
            return store.add_stmt(Stmt::Evaluate(call));
        }
        let call = store.prim(PrimExpr::Call { op, args: args.into(), dtype: DType::I32 });
        let name = store.name("kernel_error_code");
        let code = store.add_symbol(Symbol { name, dtype: DType::I32, size: false });
        let bind = store.add_stmt(Stmt::Bind { var: code, value: call });
        let (code, zero) = (store.prim(PrimExpr::Var(code)), store.prim_int(0, DType::I32));
        let cond = store.prim_binary(crate::ir::PrimOp::Eq, code, zero);
        let (kind, message) = (store.name("RuntimeError"), store.name("Error executing compute kernel"));
        let check = store.add_stmt(Stmt::Assert { cond, kind, parts: [message].into() });
        store.add_stmts(&[bind, check])
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    const CUDA: &str = "{\"arch\": \"sm_80\", \"host\": {\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}, \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32}";

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f(A: T.Buffer((64,), \"float32\"), n: T.int32):\n        T.func_attr({{\"target\": T.target({CUDA})}})\n{body}"
        )
    }

    fn split(body: &str) -> String {
        after(&source(body), "tir.SplitHostDevice()")
    }

    #[test]
    fn threads_are_counted_in_terms_of_the_caller() {
        let text = split(
            "x: T.let[T.int32] = n + 1\nwith T.launch_thread(\"blockIdx.x\", x) as bx:\n    y: T.let[T.int32] = x * 2\n    with T.launch_thread(\"threadIdx.x\", y) as tx:\n        A[bx + tx] = T.float32(0.0)",
        );
        assert!(
            text.contains("T.call_ffi_kernel(\"f_kernel\", A.data, x, x, x * 2, launch_params=[\"blockIdx.x\", \"threadIdx.x\"]"),
            "{text}"
        );
    }

    #[test]
    fn every_kernel_has_a_name_of_its_own() {
        let one = "with T.launch_thread(\"threadIdx.x\", 64) as tx:\n    A[tx] = T.float32(0.0)";
        let text = split(&format!("{one}\n{one}"));
        assert!(text.contains("def f_kernel(") && text.contains("def f_kernel_1("), "{text}");
    }

    #[test]
    fn dynamic_shared_memory_is_asked_for_at_the_launch() {
        let text = split(
            "with T.launch_thread(\"threadIdx.x\", 64) as tx:\n    B = T.alloc_buffer((64,), scope=\"shared.dyn\")\n    B[tx] = A[tx]\n    A[tx] = B[tx]",
        );
        assert!(
            text.contains("A.data, 64, T.int64(256), launch_params=[\"threadIdx.x\", \"tirx.use_dyn_shared_memory\"]"),
            "{text}"
        );
    }

    #[test]
    fn a_kernel_for_a_cpu_reports_errors() {
        let body = |kind: &str| {
            format!(
                "with T.attr(T.target({{\"keys\": [\"cpu\"], \"kind\": \"{kind}\", \"tag\": \"\"}}), \"target\", 0):\n    A[n] = T.float32(0.0)"
            )
        };
        let text = split(&body("c"));
        assert!(text.contains("T.call_extern(\"int32\", \"f_kernel\", A.data, n)"), "{text}");
        assert!(text.contains("assert kernel_error_code == 0"), "{text}");
        let same = split(&body("llvm"));
        assert!(same.contains("Module.f_kernel(A.data, n)"), "the host calls what is for the host: {same}");
    }

    #[test]
    fn a_function_without_target_is_refused() {
        let bare =
            source("A[n] = T.float32(0.0)").replace(&format!("        T.func_attr({{\"target\": T.target({CUDA})}})\n"), "");
        assert!(error(&bare, "tir.SplitHostDevice()").contains("Require the target attribute"));
    }

    #[test]
    fn a_kernel_that_returns_something_is_refused() {
        let body = "with T.attr({\"device_scope\": 0}):\n    return 1";
        assert!(error(&source(body), "tir.SplitHostDevice()").contains("return 0"));
    }
}
