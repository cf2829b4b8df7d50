//! VerifyMemory: code of the host does not touch memory of a GPU.
//!
//! Source: `src/tirx/analysis/verify_memory.cc`.

use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, Buffer, Id, Module, PrimExpr, PrimFunc, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.VerifyMemory`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.VerifyMemory",
    info_name: "tirx.VerifyMemory",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Refuses programs in which the host touches memory of a GPU.",
    doc: explained("In a function for a GPU every access to a parameter must stand inside of a binding of threads; otherwise no loop was \
bound, and the host would read or write memory of the device. Functions without target, for other devices, and those that are \
packed or kernels already are not looked at. Nothing is changed."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\")):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        with T.launch_thread(\"threadIdx.x\", 64) as tx:
            A[tx] = T.float32(0.0)
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64,), \"float32\")):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        with T.launch_thread(\"threadIdx.x\", 64) as tx:
            A[tx] = T.float32(0.0)
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    for &(_, func) in module.functions() {
        let Some(prim) = prim_func(cx.store, func) else { continue };
        let Some(target) = cx.store.attr(prim.attrs, "target").cloned() else { continue };
        let gpu = matches!(super::make_packed_api::device_type(cx.store, &target), 2 | 4 | 7 | 8 | 10);
        if !gpu || cx.store.attr_int(prim.attrs, "calling_conv").unwrap_or(0) != 0 {
            continue;
        }
        let mut verifier = Verifier { func: &prim, bound: FxHashMap::default(), found: Vec::new() };
        verifier.stmt(cx.store, prim.body);
        if !verifier.found.is_empty() {
            return Err(verifier.found);
        }
    }
    Ok(module.clone())
}

struct Verifier<'f> {
    func: &'f PrimFunc,
    /// Variables bound to fields of a structure, with the variable of that structure.
    bound: FxHashMap<Id<Symbol>, Option<Id<Symbol>>>,
    found: Vec<Diagnostic>,
}

impl Verifier<'_> {
    /// Visits a statement. Statements nest as deep as the parser's limit; the bodies of threads are skipped.
    fn stmt(&mut self, store: &Store, id: StmtId) {
        let stmt = store.stmt(id);
        match stmt {
            Stmt::Attr { node: AttrNode::Thread { .. }, key, .. } if store.str(*key) != "virtual_thread" => return,
            Stmt::Bind { var, value } => {
                let from = match store.prim_of_id(*value) {
                    PrimExpr::Call { op, args, .. } if store.str(*op) == "tvm_struct_get" => match store.prim_of_id(args[0]) {
                        PrimExpr::Var(symbol) => Some(*symbol),
                        _ => None,
                    },
                    _ => None,
                };
                self.bound.insert(*var, from);
            }
            Stmt::Store { buffer, .. } => self.access(store, *buffer, id),
            _ => {}
        }
        store.for_each_prim_of(stmt, |root| {
            store.for_each_prim(root, &mut |_, part| {
                if let PrimExpr::Load { buffer, .. } = part {
                    self.access(store, *buffer, id);
                }
            });
        });
        store.for_each_inner_stmt(id, |inner| self.stmt(store, inner));
    }

    fn access(&mut self, store: &Store, buffer: Id<Buffer>, at: StmtId) {
        let span = store.source_span(store.stmt_node(at));
        let name = store.str(store.buffer(buffer).name);
        if self.func.params.is_empty() {
            let message =
                format!("memory of `{name}` cannot be verified: TVM ends with an IndexError in a function without parameters");
            self.found.push(Diagnostic::error("tir-memory", message, span));
        } else if self.func.params.contains(&PrimParam::Buffer(buffer)) {
            let message = format!(
                "Variable `{name}` is directly accessed by host memory (it is not contained in a thread environment or in the \
                 function arguments. Did you forget to bind?"
            );
            self.found.push(Diagnostic::error("tir-memory", message, span));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{error, unchanged};

    const CUDA: &str = "{\"arch\": \"sm_50\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32}";

    fn source(target: &str, body: &str) -> String {
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float32\")):\n    T.func_attr({{\"target\": T.target({target})}})\n    {body}\n"
        )
    }

    #[test]
    fn a_loop_that_is_not_bound_is_refused() {
        let found = error(&source(CUDA, "for i in range(64):\n        A[i] = T.float32(0.0)"), "tir.VerifyMemory()");
        assert!(found.contains("Variable `A` is directly accessed") && found.contains("forget to bind"), "{found}");
    }

    #[test]
    fn memory_of_the_host_is_its_own() {
        let body = "for i in range(64):\n        A[i] = T.float32(0.0)";
        unchanged(&source("{\"keys\": [\"cpu\"], \"kind\": \"llvm\", \"tag\": \"\"}", body), "tir.VerifyMemory()");
    }
}
