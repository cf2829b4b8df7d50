//! InjectPermutedLayout: shared memory is laid out so that the threads of a warp do not meet in a bank.
//!
//! Source: `src/s_tir/transform/inject_permuted_layout.cc`.

use super::prim_func;
use super::storage_scope::Scope;
use crate::ir::{AttrValue, Block, Buffer, ExprId, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, binary, constant, descend_knowing, enter_knowing, math, rewrite_func};

/// TVM's `s_tir.transform.InjectPermutedLayout`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectPermutedLayout",
    info_name: "s_tir.InjectPermutedLayout",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Exchanges columns of shared memory so that threads use different banks.",
    doc: explained(
        "In a block with the annotation `permuted_layout`, accesses to shared memory of two axes or more go to another column: \
groups of eight elements of a row are exchanged by the number of the row, so that what threads read below each other stands in \
different banks. The last axis must be a multiple of 64, or of 32 with an even number of rows. Pointers that matrices are \
loaded from (`T.ptx_legacy.ldmatrix`) are moved likewise, and the annotation goes.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(X: T.Buffer((16, 64), \"float16\")):
        with T.sblock(\"root\"):
            S = T.sblock_alloc_buffer((16, 64), \"float16\", scope=\"shared\")
            for i, j in T.grid(16, 64):
                with T.sblock(\"copy\"):
                    T.reads(X[i, j])
                    T.writes(S[i, j])
                    T.sblock_attr({\"permuted_layout\": 1})
                    S[i, j] = X[i, j]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(X: T.Buffer((16, 64), \"float16\")):
        with T.sblock(\"root\"):
            S = T.sblock_alloc_buffer((16, 64), \"float16\", scope=\"shared\")
            for i, j in T.grid(16, 64):
                with T.sblock(\"copy\"):
                    T.reads(X[i, j])
                    T.writes(S[i, j])
                    S[i, (j // 8 ^ i % 8) * 8 + j % 8] = X[i, j]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    if prim_func(cx.store, func).is_none() {
        return Ok(Some(func));
    }
    rewrite_func(cx.store, func, &mut Permute { known: Known::default(), permutes: false, error: None }).map(Some)
}

struct Permute {
    known: Known,
    /// True if columns are exchanged here.
    permutes: bool,
    error: Option<String>,
}

/// The number of elements that a thread moves at once.
const GROUP: i64 = 8;

impl Knowing for Permute {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl Permute {
    /// Returns the column in which an element of a row of so many stands.
    fn column(&mut self, store: &mut Store, row: PrimId, column: PrimId, size: i64) -> PrimId {
        let number = |store: &mut Store, value, like| constant(store, value, store.prim_dtype(like));
        let group = number(store, GROUP, column);
        let (outer, inner) = (binary(store, PrimOp::FloorDiv, column, group), binary(store, PrimOp::FloorMod, column, group));
        let eight = number(store, 8, row);
        let mut by = binary(store, PrimOp::FloorMod, row, eight);
        if size % 64 != 0 {
            let two = number(store, 2, by);
            by = binary(store, PrimOp::FloorDiv, by, two);
        }
        let outer = math::matched(store, "bitwise_xor", outer, by);
        let group = number(store, GROUP, outer);
        let begin = binary(store, PrimOp::Mul, outer, group);
        let new = binary(store, PrimOp::Add, begin, inner);
        self.known.analyzer.simplify(store, new)
    }

    /// Returns the length of the rows of a buffer; nothing, and an error, if they cannot be permuted.
    fn row_size(&mut self, store: &Store, buffer: Id<Buffer>) -> Option<i64> {
        let data = store.buffer(buffer);
        let known = |back: usize| data.shape.len().checked_sub(back).and_then(|at| store.as_prim_int(data.shape[at]));
        let fine = match (known(1), known(2)) {
            (Some(row), Some(_)) if row % 64 == 0 => Some(row),
            (Some(row), Some(rows)) if row % 32 == 0 && rows % 2 == 0 => Some(row),
            _ => None,
        };
        if fine.is_none() {
            let name = store.str(data.name);
            self.error.get_or_insert_with(|| {
                format!("Permuted Layout for Buffer \"{name}\" is not supported: its last dimension must be divisible by 64, or by 32 with an even number of rows")
            });
        }
        fine
    }

    /// Makes a pointer into shared memory that is moved by an offset.
    fn pointer(&mut self, store: &mut Store, pointer: PrimId, more: Option<PrimId>) -> Option<PrimId> {
        let PrimExpr::Call { op, args, dtype } = &*store.prim_rc(pointer) else { return None };
        let buffer = match *store.prim_of_id(*args.get(1)?) {
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) if store.str(*op) == "tvm_access_ptr" => buffer,
            _ => {
                self.error.get_or_insert_with(|| "Invalid access ptr for permuted layout".to_owned());
                return None;
            }
        };
        let size = self.row_size(store, buffer)?;
        let offset = match more {
            Some(more) => binary(store, PrimOp::Add, args[2], more),
            None => args[2],
        };
        let width = constant(store, size, store.prim_dtype(offset));
        let (row, column) = (binary(store, PrimOp::FloorDiv, offset, width), binary(store, PrimOp::FloorMod, offset, width));
        let column = self.column(store, row, column, size);
        let begin = binary(store, PrimOp::Mul, row, width);
        let place = binary(store, PrimOp::Add, begin, column);
        let mut args = args.clone();
        args[2] = self.known.analyzer.simplify(store, place);
        Some(store.prim(PrimExpr::Call { op: *op, args, dtype: *dtype }))
    }
}

impl StmtMutator for Permute {
    fn rule(&self) -> &'static str {
        "layout permuted"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::BLOCK_ANNOTATION | Kinds::DECIDED)
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let mut annotations = None;
        if let Stmt::Block(block) = *cx.store.stmt(id) {
            annotations = cx.store.prim_block(block).annotations;
        }
        let asked = match annotations.and_then(|attrs| cx.store.attr(Some(attrs), "permuted_layout")) {
            Some(AttrValue::Str(text)) => !cx.store.str(*text).is_empty(),
            Some(value) => value.as_int().is_some_and(|value| value != 0),
            None => false,
        };
        let outer = self.permutes;
        self.permutes |= asked;
        if asked != outer {
            cx.forget();
        }
        let mut new = descend_knowing(self, cx, id);
        self.permutes = outer;
        if asked != outer {
            cx.forget();
        }
        if let Some(message) = self.error.take() {
            cx.fail("tir-layout", message);
        }
        if asked && let Stmt::Block(block) = *cx.store.stmt(new) {
            let annotations = cx.store.without_attr(annotations, "permuted_layout");
            let block = Block { annotations, ..cx.store.prim_block(block).clone() };
            let block = cx.store.add_prim_block(block);
            new = cx.store.rebuild_stmt(id, Stmt::Block(block));
        }
        Some(new)
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        enter_knowing(self, cx, id)
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let data = cx.store.buffer(buffer);
        if !self.permutes || data.shape.len() < 2 || Scope::of(cx.store.str(data.scope)).rank != "shared" {
            return None;
        }
        let size = self.row_size(cx.store, buffer)?;
        let mut indices = indices.to_vec();
        let [.., row, column] = &mut indices[..] else { return None };
        *column = self.column(cx.store, *row, *column, size);
        Some((cx.buffer(buffer), indices))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { op, args, dtype } = &*cx.store.prim_rc(post) else { return post };
        let (at, more) = match cx.store.str(*op) {
            "ptx_legacy.ldmatrix" if self.permutes && args.len() > 6 => (5, Some(args[6])),
            "mma_store_legacy" if self.permutes && args.len() > 2 => (2, None),
            _ => return post,
        };
        let Some(pointer) = self.pointer(cx.store, args[at], more) else { return post };
        let mut args = args.clone();
        args[at] = pointer;
        if let Some(more) = more {
            args[6] = cx.store.prim_int(0, cx.store.prim_dtype(more));
        }
        cx.store.prim(PrimExpr::Call { op: *op, args, dtype: *dtype })
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(shape: &str, marked: bool) -> String {
        let mark = if marked { "            T.sblock_attr({\"permuted_layout\": 1})\n" } else { "" };
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(X: T.Buffer({shape}, \"float16\")):\n    S = T.sblock_alloc_buffer({shape}, \"float16\", scope=\"shared\")\n    for i, j in T.grid(8, 32):\n        with T.sblock(\"copy\"):\n            T.reads(X[i, j])\n            T.writes(S[i, j])\n{mark}            S[i, j] = X[i, j]\n"
        )
    }

    const CALL: &str = "s_tir.InjectPermutedLayout()";

    #[test]
    fn short_rows_are_exchanged_in_pairs() {
        let text = after(&source("(8, 32)", true), CALL);
        assert!(text.contains("(j // 8 ^ i // 2) * 8 + j % 8") && !text.contains("permuted_layout"), "{text}");
    }

    #[test]
    fn a_block_that_does_not_ask_stays() {
        unchanged(&source("(8, 64)", false), CALL);
    }

    #[test]
    fn rows_of_other_lengths_are_refused() {
        assert!(error(&source("(8, 48)", true), CALL).contains("not supported"));
    }
}
