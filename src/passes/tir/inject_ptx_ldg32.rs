//! InjectPTXLDG32: guarded loads become loads of PTX with a predicate.
//!
//! Source: `src/s_tir/transform/inject_ptx_ldg32.cc`.

use super::emit::{alloc, buffer, call, load, put};
use super::{prim_func, targets};
use crate::ir::{AttrValue, Buffer, DType, ExprId, Id, Module, PrimExpr, Stmt, StmtId, Store};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_body};

/// TVM's `s_tir.transform.InjectPTXLDG32`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectPTXLDG32",
    info_name: "s_tir.InjectPTXLDG32",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "enable_inject_ptx_intrin", default: "True", doc: "Whether it does anything." }],
    config: &[],
    summary: "Guarded loads become loads of PTX with a predicate.",
    doc: explained(
        "In functions for `cuda`, `A[i] = T.if_then_else(cond, B[j], x)` becomes a store of `x` and `T.s_tir.ldg32`, which loads where \
the condition holds. Places and condition are kept in two small buffers. Loads of vectors stay.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), \"float32\")):
        T.func_attr({\"target\": T.target({\"kind\": \"cuda\", \"arch\": \"sm_80\"})})
        for i in range(4):
            B[i] = T.if_then_else(i < 3, A[i], T.float32(0.0))
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), \"float32\"), B: T.Buffer((4,), \"float32\")):
        T.func_attr({\"target\": T.target({\"kind\": \"cuda\", \"arch\": \"sm_80\"})})
        predicate = T.alloc_local((1,), \"bool\")
        addr = T.alloc_local((2,), \"int32\")
        for i in range(4):
            addr[0] = i
            addr[1] = i
            predicate[0] = i < 3
            B[addr[1]] = T.float32(0.0)
            T.s_tir.ldg32(B.data, predicate[0], A[addr[0]], addr[1])
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let target = cx.store.attr(prim.attrs, "target").cloned();
    let kind = target.and_then(|target| targets::field(cx.store, &target, "kind"));
    if !args.bool("enable_inject_ptx_intrin") || !matches!(kind, Some(AttrValue::Str(kind)) if cx.store.str(kind) == "cuda") {
        return Ok(Some(func));
    }
    rewrite_body(cx.store, func, &mut Inject::default(), |inject, cx, body| {
        let body = cx.visit(inject, body);
        inject.allocated(cx.store, body)
    })
    .map(Some)
}

#[derive(Default)]
struct Inject {
    /// Buffers for a condition and two places, once they are needed.
    buffers: Option<(Id<Buffer>, Id<Buffer>)>,
    allocated: bool,
}

impl Inject {
    /// A statement after the allocations, if they are needed and are nowhere yet.
    fn allocated(&mut self, store: &mut Store, stmt: StmtId) -> StmtId {
        let Some((predicate, places)) = self.buffers.filter(|_| !self.allocated) else { return stmt };
        self.allocated = true;
        let all = [alloc(store, predicate), alloc(store, places), stmt];
        store.flat_seq(None, &all)
    }
}

impl StmtMutator for Inject {
    fn rule(&self) -> &'static str {
        "guarded load made a load with a predicate"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Alloc(..) => Some(self.allocated(cx.store, id)),
            Stmt::Store { buffer: to, indices, value } => {
                let PrimExpr::Call { op, args, .. } = &*cx.store.prim_rc(value) else { return None };
                if cx.store.str(*op) != "if_then_else" {
                    return None;
                }
                let is_load = |id| matches!(cx.store.prim_of_id(id), PrimExpr::Load { .. });
                let (loaded, or) = if is_load(args[1]) { (args[1], args[2]) } else { (args[2], args[1]) };
                let PrimExpr::Load { buffer: from, indices: source } = &*cx.store.prim_rc(loaded) else { return None };
                if matches!(cx.store.prim_of_id(source[0]), PrimExpr::Ramp { .. }) {
                    return None;
                }
                let store = &mut *cx.store;
                let [zero, one, two] = [0, 1, 2].map(|n| store.prim_int(n, DType::I32));
                let (predicate, places) = *self.buffers.get_or_insert_with(|| {
                    (buffer(store, "predicate", DType::BOOL, one, "local"), buffer(store, "addr", DType::I32, two, "local"))
                });
                let (first, second) = (load(store, places, zero), load(store, places, one));
                let (cond, value) = (load(store, predicate, zero), load(store, *from, first));
                let data = store.prim(PrimExpr::Data(to));
                let dtype = store.buffer(to).dtype;
                let all = [
                    put(store, places, zero, source[0]),
                    put(store, places, one, indices[0]),
                    put(store, predicate, zero, args[0]),
                    put(store, to, second, or),
                    call(store, "s_tir.ldg32", &[data, cond, value, second], dtype),
                ];
                Some(store.flat_seq(None, &all))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, unchanged};

    #[test]
    fn only_functions_for_cuda_change_and_only_when_asked() {
        unchanged(&SPEC.example_before.replace("\"cuda\", \"arch\": \"sm_80\"", "\"metal\""), "s_tir.InjectPTXLDG32()");
        unchanged(SPEC.example_before, "s_tir.InjectPTXLDG32(False)");
    }

    #[test]
    fn the_loaded_value_may_be_the_second() {
        let source = SPEC.example_before.replace("A[i], T.float32(0.0)", "T.float32(5.0), A[i]");
        let text = after(&source, "s_tir.InjectPTXLDG32()");
        assert!(text.contains("B[addr[1]] = T.float32(5.0)"), "{text}");
    }
}
