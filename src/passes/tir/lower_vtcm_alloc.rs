//! LowerVtcmAlloc: tightly coupled memory comes from a call.
//!
//! Source: `src/s_tir/transform/lower_vtcm_alloc.cc`.

use crate::ir::{Buffer, DType, ExprId, Module, PrimExpr, Stmt, StmtId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `s_tir.transform.LowerVtcmAlloc`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerVtcmAlloc",
    info_name: "s_tir.LowerVtcmAlloc",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Asks the runtime for tightly coupled memory.",
    doc: explained("The allocation of a buffer whose scope contains `global.vtcm` (the memory beside the vector unit of a Hexagon) becomes a \
declaration over what `T.nd_mem_alloc_with_scope` gives."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        B = T.alloc_buffer((16,), scope=\"global.vtcm\")
        B[0] = A[0]
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        B = T.decl_buffer((16,), data=T.nd_mem_alloc_with_scope(\"global.vtcm\", T.int64(1), T.tvm_stack_make_shape(16)), scope=\"global.vtcm\")
        B[0] = A[0]
"),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Ask).map(Some)
}

struct Ask;

impl StmtMutator for Ask {
    fn rule(&self) -> &'static str {
        "tightly coupled memory asked for"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Alloc(buffer, _) = *cx.store.stmt(id) else { return None };
        let old = cx.store.buffer(buffer).clone();
        if !cx.store.str(old.scope).contains("global.vtcm") {
            return None;
        }
        let store = &mut *cx.store;
        let scope = store.prim(PrimExpr::Str(old.scope));
        let rank = store.prim_int(old.shape.len() as i64, DType::new(crate::ir::DTypeCode::Int, 64));
        let anywhere = store.name("");
        let of_numbers = store.pointer(DType::new(crate::ir::DTypeCode::Int, 64), anywhere);
        let shape = store.prim_call("tvm_stack_make_shape", &old.shape, of_numbers);
        let pointer = store.pointer(old.dtype, old.scope);
        let data = store.prim_call("nd_mem_alloc_with_scope", &[scope, rank, shape], pointer);
        let new = store.add_buffer(Buffer { data: Some(data), ..old });
        cx.set_buffer(buffer, new);
        Some(cx.store.add_stmt(Stmt::Declare(new)))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    const SOURCE: &str = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    B = T.alloc_buffer((4, 4), \"int8\", scope=\"global.vtcm\")
    T.call_extern(\"int32\", \"f\", B.data)
";

    #[test]
    fn all_extents_are_passed() {
        let text = after(SOURCE, "s_tir.LowerVtcmAlloc()");
        assert!(text.contains("T.nd_mem_alloc_with_scope(\"global.vtcm\", T.int64(2), T.tvm_stack_make_shape(4, 4))"), "{text}");
    }

    #[test]
    fn other_memory_stays() {
        unchanged(&SOURCE.replace("global.vtcm", "global.texture"), "s_tir.LowerVtcmAlloc()");
    }
}
