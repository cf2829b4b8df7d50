//! InstrumentBoundCheckers: stores are checked when the program runs.
//!
//! Source: `src/s_tir/transform/bound_checker.cc`.

use super::prim_func;
use crate::ir::{AttrNode, Buffer, DType, DTypeCode, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.InstrumentBoundCheckers`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InstrumentBoundCheckers",
    info_name: "s_tir.InstrumentBoundCheckers",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Checks indices of stores when the program runs.",
    doc: explained(
        "Where an attribute `buffer_bound` says the extents of a buffer, each store to it, and each store of what is loaded from it, \
happens only when all indices are within them; otherwise an assertion fails. Stores that hold `T.if_then_else` stay unchecked: \
what they load is guarded already.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        A[n] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        A[n] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(run),
};

const I64: DType = DType::new(DTypeCode::Int, 64);

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let mut bounds = FxHashMap::default();
    let store = &*cx.store;
    store.for_each_stmt(prim.body, |stmt| {
        if let Stmt::Attr { node: AttrNode::Prim(node), key, value, .. } = stmt
            && store.str(*key) == "buffer_bound"
            && let PrimExpr::Buffer(buffer) | PrimExpr::Data(buffer) = store.prim_of_id(*node)
            && let PrimExpr::Call { args, .. } = store.prim_of_id(*value)
        {
            bounds.insert(*buffer, args.to_vec());
        }
    });
    if bounds.is_empty() {
        return Ok(Some(func));
    }
    rewrite_func(cx.store, func, &mut Check { bounds, analyzer: Analyzer::new() }).map(Some)
}

struct Check {
    /// The extents of buffers.
    bounds: FxHashMap<Id<Buffer>, Vec<PrimId>>,
    analyzer: Analyzer,
}

impl StmtMutator for Check {
    fn rule(&self) -> &'static str {
        "store checked"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Alloc(buffer, _) if self.bounds.contains_key(&buffer) => {
                let data = cx.store.buffer(buffer).clone();
                if data.shape.iter().all(|extent| cx.store.as_prim_int(*extent).is_none_or(|extent| extent >= 0)) {
                    let lanes = cx.store.prim_int(i64::from(data.dtype.lanes), DType::new(DTypeCode::UInt, 64));
                    let shape = data.shape.iter().map(|extent| binary(cx.store, PrimOp::Mul, lanes, *extent)).collect();
                    self.bounds.insert(buffer, shape);
                }
                None
            }
            Stmt::Store { buffer, indices, value } => {
                let mut accesses = Vec::new();
                let mut guarded = false;
                for root in indices.iter().chain([&value]) {
                    cx.store.for_each_prim(*root, &mut |_, part| match part {
                        PrimExpr::Load { buffer, indices } => accesses.push((*buffer, indices.clone())),
                        PrimExpr::Call { op, .. } => guarded |= cx.store.str(*op) == "if_then_else",
                        _ => {}
                    });
                }
                accesses.push((buffer, indices));
                accesses.retain(|(buffer, _)| self.bounds.contains_key(buffer) && !guarded);
                let cond = self.condition(cx.store, &accesses)?;
                let kind = cx.store.name("RuntimeError");
                let message = cx.store.name("OUT OF THE BOUNDS");
                let other = Some(cx.store.add_stmt(Stmt::Assert { cond, kind, parts: [message].into() }));
                Some(cx.store.add_stmt(Stmt::If { cond, then: id, other }))
            }
            _ => None,
        }
    }
}

impl Check {
    /// Makes the condition that all indices are within the extents; nothing if there is none to check.
    fn condition(&mut self, store: &mut Store, accesses: &[(Id<Buffer>, Box<[PrimId]>)]) -> Option<PrimId> {
        let mut all: Option<PrimId> = None;
        for (buffer, indices) in accesses {
            let extents = self.bounds.get(buffer)?.clone();
            for (&index, extent) in indices.iter().zip(extents) {
                let lanes = store.prim_dtype(index).lanes;
                let index = self.analyzer.simplify(store, index);
                let extent = self.analyzer.simplify(store, extent);
                let vector = DType { lanes, ..I64 };
                let index = store.prim(PrimExpr::Cast { dtype: vector, value: index });
                let extent = store.prim(PrimExpr::Cast { dtype: I64, value: extent });
                let zero = store.prim_int(0, I64);
                let least = store.prim_binary(PrimOp::Ge, index, zero);
                let most = store.prim_binary(PrimOp::Lt, index, extent);
                let both = store.prim_binary(PrimOp::And, least, most);
                all = Some(all.map_or(both, |all| store.prim_binary(PrimOp::And, all, both)));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    fn source(value: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"float32\"), n: T.int32):\n    T.attr(A, \"buffer_bound\", T.tvm_tuple(16))\n    A[n] = {value}\n"
        )
    }

    #[test]
    fn a_store_happens_only_within_the_extents() {
        let text = after(&source("T.float32(0.0)"), "s_tir.InstrumentBoundCheckers()");
        let cond = "T.Cast(\"int64\", n) >= T.int64(0) and T.Cast(\"int64\", n) < T.Cast(\"int64\", 16)";
        assert!(text.contains(&format!("if {cond}:\n            A[n] = T.float32(0.0)\n        else:\n")), "{text}");
        assert!(text.contains(&format!("assert {cond}, (\"RuntimeError\", [\"OUT OF THE BOUNDS\"])")), "{text}");
    }

    #[test]
    fn what_is_guarded_stays() {
        unchanged(&source("T.if_then_else(n < 4, A[n], T.float32(0.0))"), "s_tir.InstrumentBoundCheckers()");
    }
}
