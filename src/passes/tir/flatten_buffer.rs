//! FlattenBuffer: every buffer gets one dimension.
//!
//! Source: `src/tirx/transform/flatten_buffer.cc`.

use super::{block_of, prim_func};
use crate::ir::{Buffer, BufferLayout, DType, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, PrimParam, Stmt, StmtId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::iter::{Level, simplify_iter_map};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, descend_knowing, elem_offset, enter_knowing, rewrite_body};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `tirx.transform.FlattenBuffer`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.FlattenBuffer",
    info_name: "tirx.FlattenBuffer",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives every buffer one dimension.",
    doc: explained(
        "Memory has one dimension, and so have buffers after this pass: indices along several become one, by the strides of the \
buffer or by rows that stand behind each other, written as simply as the ranges of loops and the conditions around allow. \
Parameters keep their shapes, since callers are checked against them; the body uses a flat buffer that is declared over the \
same memory. Of blocks it knows nothing: what a block allocates or matches must not be used any more, and *LowerOpaqueBlock* \
comes before. The seeds' `StorageFlatten` was this.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4, 8), \"float32\")):
        for i in range(4):
            B = T.alloc_buffer((2, 4), scope=\"local\", layout=None)
            for j in range(8):
                B[j // 4, j % 4] = A[i, j]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4, 8), \"float32\")):
        A_1 = T.decl_buffer((32,), data=A.data, layout=None)
        for i in range(4):
            B = T.alloc_local((8,), layout=None)
            for j in range(8):
                B[j] = A_1[i * 8 + j]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let params: Vec<Id<Buffer>> =
        prim.params.iter().filter_map(|param| if let PrimParam::Buffer(buffer) = *param { Some(buffer) } else { None }).collect();
    let known = Known::of_params(cx.store, &prim);
    let mut flatten = Flatten {
        known,
        params: params.iter().copied().collect(),
        views: FxHashMap::default(),
        of_blocks: FxHashSet::default(),
        used: FxHashSet::default(),
    };
    rewrite_body(cx.store, func, &mut flatten, |flatten, cx, body| {
        for param in &params {
            cx.define_buffer(flatten, *param);
        }
        let mut all = vec![cx.visit(flatten, body)];
        for param in params.iter().rev().filter(|param| flatten.used.contains(param)) {
            let flat = cx.buffer(*param);
            all.insert(0, cx.store.add_stmt(Stmt::Declare(flat)));
        }
        if all.len() == 1 { all[0] } else { cx.store.flat_seq(None, &all) }
    })
    .map(Some)
}

struct Flatten {
    known: Known,
    params: FxHashSet<Id<Buffer>>,
    /// Buffers as they were, over expressions that are rewritten.
    views: FxHashMap<Id<Buffer>, Buffer>,
    /// Buffers that blocks allocate or match, which are not defined as far as this pass is concerned.
    of_blocks: FxHashSet<Id<Buffer>>,
    /// Buffers that are accessed.
    used: FxHashSet<Id<Buffer>>,
}

impl Knowing for Flatten {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Flatten {
    fn rule(&self) -> &'static str {
        "buffers flattened"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Some(block) = block_of(cx.store, id) else {
            let new = descend_knowing(self, cx, id);
            if matches!(cx.store.stmt(id), Stmt::Assert { .. }) {
                cx.forget();
            }
            return Some(new);
        };
        self.of_blocks.extend(block.allocs.iter().copied());
        self.of_blocks.extend(block.matches.iter().map(|(part, _)| *part));
        None
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        if let PrimExpr::Data(buffer) = *cx.store.prim_of_id(id) {
            self.used.insert(buffer);
            return None;
        }
        enter_knowing(self, cx, id)
    }

    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, id: Id<Buffer>) -> Option<Id<Buffer>> {
        if self.of_blocks.contains(&id) {
            return Some(id);
        }
        let old = cx.store.buffer(id).clone();
        let is_param = self.params.contains(&id);
        let data = match old.data {
            _ if is_param => Some(cx.store.prim(PrimExpr::Data(id))),
            Some(data) => match *cx.store.prim_of_id(data) {
                PrimExpr::Data(source) if self.params.contains(&source) => Some(data),
                _ => Some(cx.root(self, data)),
            },
            None => None,
        };
        let (shape, strides) = (cx.roots(self, &old.shape), cx.roots(self, &old.strides));
        let offset = old.elem_offset.map(|offset| cx.root(self, offset));
        let view = Buffer { shape, strides, elem_offset: offset, ..old.clone() };
        let mut extent = match view.strides.first().zip(view.shape.first()) {
            Some((stride, extent)) => binary(cx.store, PrimOp::Mul, *stride, *extent),
            None => {
                let one = cx.store.prim_int(1, DType::I32);
                view.shape.iter().fold(one, |product, extent| binary(cx.store, PrimOp::Mul, product, *extent))
            }
        };
        extent = self.known.analyzer.canonical_simplify(cx.store, extent);
        let elem_offset = offset.filter(|offset| cx.store.as_prim_int(*offset) == Some(0));
        let flat =
            Buffer { shape: [extent].into(), strides: [].into(), elem_offset, data, layout: BufferLayout::Unsaid, ..old.clone() };
        self.views.insert(id, view);
        Some(if !is_param && flat == old { id } else { cx.store.add_buffer(flat) })
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        self.used.insert(buffer);
        let index = self.fold(cx, buffer, indices)?;
        Some((cx.buffer(buffer), vec![index]))
    }
}

impl Flatten {
    /// Returns the index in memory of an element, by the facts known here. Fails for a buffer without a definition.
    fn fold(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<PrimId> {
        let Some(view) = self.views.get(&buffer) else {
            let name = cx.store.str(cx.store.buffer(buffer).name).to_owned();
            cx.fail(
                "tir-undefined",
                format!("Buffer {name} is used before its definition (AllocBuffer/DeclBuffer/PrimFunc param)"),
            );
            return None;
        };
        if view.shape.len() != indices.len() {
            let (rank, given) = (view.shape.len(), indices.len());
            cx.fail(
                "tir-indices",
                format!("BufferType is {rank}-dimensional, cannot be indexed with the {given}-dimensional indices provided."),
            );
            return None;
        }
        let index = elem_offset(cx.store, view, indices);
        let (iters, predicate) = self.known.iters_of(cx.store, index);
        let analyzer = &mut self.known.analyzer;
        simplify_iter_map(cx.store, analyzer, &[index], &iters, predicate, Level::Surjective, true).pop()
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    fn source(body: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16, 16), \"float32\", strides=(20, 1)), B: T.Buffer((16, 16), \"float32\")):\n{body}"
        )
    }

    #[test]
    fn parameters_are_declared_flat_when_they_are_used() {
        let text = after(&source("    for i, j in T.grid(16, 16):\n        B[i, j] = T.float32(0.0)\n"), "tirx.FlattenBuffer()");
        assert!(text.contains("B_1 = T.decl_buffer((256,), data=B.data, layout=None)\n"), "{text}");
        assert!(text.contains("B_1[i * 16 + j] = ") && !text.contains("A_1"), "{text}");
    }

    #[test]
    fn strides_say_where_rows_begin() {
        let text = after(&source("    for i, j in T.grid(16, 16):\n        A[i, j] = T.float32(0.0)\n"), "tirx.FlattenBuffer()");
        assert!(
            text.contains("A_1 = T.decl_buffer((320,), data=A.data, layout=None)\n") && text.contains("A_1[i * 20 + j] = "),
            "{text}"
        );
    }

    #[test]
    fn indices_of_fused_loops_are_one_again() {
        let text = after(
            &source(
                "    for i in range(256):\n        B[i // 16, i % 16] = T.if_then_else(i < 200, A[i // 16, i % 16], T.float32(0.0))\n",
            ),
            "tirx.FlattenBuffer()",
        );
        assert!(text.contains("B_1[i] = T.if_then_else(i < 200, A_1[i // 16 * 20 + i % 16], "), "{text}");
    }

    #[test]
    fn what_a_block_allocates_is_refused() {
        let source = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16, 16), \"float32\")):
    with T.sblock(\"b\"):
        T.reads()
        T.writes(A[0:16, 0:16])
        S = T.sblock_alloc_buffer((16, 16))
        S[0, 0] = T.float32(0.0)
";
        assert!(error(source, "tirx.FlattenBuffer()").starts_with("Buffer S is used before its definition"));
    }
}
