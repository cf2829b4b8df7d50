//! CompactBufferAllocation: shrinks buffers to their accessed regions.
//!
//! Source: `src/s_tir/transform/compact_buffer_region.cc`.

mod narrow;
mod regions;

use super::lower_opaque_block::alignments;
use super::{block_of, prim_func};
use crate::diag::Diagnostic;
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Block, Buffer, ExprId, Id, Module, PrimId, PrimOp, Region, Stmt, StmtId, Store};
use crate::pass::spec::Param;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};
use regions::{Collector, Range};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.CompactBufferAllocation`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.CompactBufferAllocation",
    info_name: "s_tir.CompactBufferAllocation",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "is_strict", default: "True", doc: "A buffer never becomes larger than it was." }],
    config: &[],
    summary: "Makes allocated buffers as small as what is accessed of them.",
    doc: explained(
        "For each buffer that a block or a statement allocates, the pass finds the part that is accessed between one allocation \
and the next, allocates only that, and moves the indices. Loops around the allocation stand still, except that all threads which \
share the memory count. What `buffer_dim_align` of a block asks becomes strides. With `is_strict` the part never leaves the shape \
that was there; without, what lies outside is allocated, too.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")):
        for i in range(4):
            with T.sblock(\"\"):
                T.reads(A[i, 0:8])
                T.writes(C[i, 0:8])
                B = T.sblock_alloc_buffer((4, 8))
                for j in range(8):
                    with T.sblock(\"B\"):
                        T.reads(A[i, j])
                        T.writes(B[i, j])
                        B[i, j] = A[i, j] + T.float32(1.0)
                for j in range(8):
                    with T.sblock(\"C\"):
                        T.reads(B[i, j])
                        T.writes(C[i, j])
                        C[i, j] = B[i, j] * T.float32(2.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(4):
            with T.sblock(\"\"):
                T.reads(A[i, 0:8])
                T.writes(C[i, 0:8])
                B = T.sblock_alloc_buffer((1, 8))
                for j in range(8):
                    with T.sblock(\"B\"):
                        T.reads(A[i, j])
                        T.writes(B[i - i, j])
                        B[i - i, j] = A[i, j] + T.float32(1.0)
                for j in range(8):
                    with T.sblock(\"C\"):
                        T.reads(B[i - i, j])
                        T.writes(C[i, j])
                        C[i, j] = B[i - i, j] * T.float32(2.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let mut collector = Collector::new(args.bool("is_strict"));
    collector.body(cx.store, prim.body);
    if let Some(message) = collector.error {
        return Err(vec![Diagnostic::error("tir-buffers", message, None)]);
    }
    let aligns = alignments(cx.store, prim.body);
    let mut infos = FxHashMap::default();
    let mut found: Vec<(Id<Buffer>, Vec<Range>)> = collector.found.into_iter().collect();
    sort_by(&mut found, |a, b| a.0.cmp(&b.0));
    for (buffer, region) in found {
        let old = cx.store.buffer(buffer).clone();
        let shape: Box<[PrimId]> = region.iter().map(|range| range.1).collect();
        let strides = strides(cx.store, &shape, aligns.get(&buffer).map(Vec::as_slice));
        let new = Buffer { shape, strides, ..old.clone() };
        let new = if new == old { buffer } else { cx.store.add_buffer(new) };
        infos.insert(buffer, Info { region, new });
    }
    rewrite_func(cx.store, func, &mut Compact { infos }).map(Some)
}

/// Returns the strides of a buffer with aligned axes; nothing when none is aligned.
fn strides(store: &mut Store, shape: &[PrimId], aligns: Option<&[AttrValue]>) -> Box<[PrimId]> {
    let (Some(aligns), Some(first)) = (aligns, shape.first()) else { return [].into() };
    let mut factors = vec![(0, 0); shape.len()];
    for align in aligns {
        let AttrValue::Array(parts) = align else { continue };
        let numbers: Vec<i64> = parts.iter().filter_map(|part| store.value_int(part)).collect();
        if let [_, axis, factor, offset] = numbers[..]
            && let Some(at) = usize::try_from(axis).ok().and_then(|axis| factors.get_mut(axis))
        {
            *at = (factor, offset);
        }
    }
    let dtype = store.prim_dtype(*first);
    let mut stride = store.prim_int(1, dtype);
    let mut strides = Vec::new();
    for (extent, (factor, offset)) in shape.iter().zip(factors).rev() {
        if factor != 0 {
            let [factor, offset] = [factor, offset].map(|number| store.prim_int(number, dtype));
            let rest = binary(store, PrimOp::FloorMod, stride, factor);
            let ahead = binary(store, PrimOp::Add, factor, offset);
            let missing = binary(store, PrimOp::Sub, ahead, rest);
            let padding = binary(store, PrimOp::FloorMod, missing, factor);
            stride = binary(store, PrimOp::Add, stride, padding);
        }
        strides.push(stride);
        stride = binary(store, PrimOp::Mul, stride, *extent);
    }
    strides.reverse();
    strides.into()
}

/// The new form of a buffer.
struct Info {
    /// The part that is accessed.
    region: Vec<Range>,
    /// The buffer for that part.
    new: Id<Buffer>,
}

struct Compact {
    infos: FxHashMap<Id<Buffer>, Info>,
}

impl StmtMutator for Compact {
    fn rule(&self) -> &'static str {
        "buffer compacted"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let block = block_of(cx.store, id)?;
        let reads = block.reads.iter().map(|region| self.region(cx.store, region)).collect();
        let writes = block.writes.iter().map(|region| self.region(cx.store, region)).collect();
        let matches = block.matches.iter().map(|(part, source)| (*part, self.region(cx.store, source))).collect();
        let new = Block { reads, writes, matches, ..(*block).clone() };
        if new == *block {
            return None;
        }
        let new = cx.store.add_prim_block(new);
        let new = cx.store.add_stmt(Stmt::Block(new));
        Some(cx.descend(self, new))
    }

    fn define_buffer(&mut self, _: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        self.infos.get(&buffer).map(|info| info.new)
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let info = self.infos.get(&buffer)?;
        let moved: Vec<PrimId> =
            indices.iter().zip(&info.region).map(|(index, range)| binary(cx.store, PrimOp::Sub, *index, range.0)).collect();
        (info.new != buffer || moved != indices).then_some((info.new, moved))
    }
}

impl Compact {
    fn region(&self, store: &mut Store, region: &Region) -> Region {
        let Some(info) = self.infos.get(&region.buffer) else { return region.clone() };
        let moved = region.ranges.iter().zip(&info.region);
        let ranges = moved.map(|((min, extent), range)| (binary(store, PrimOp::Sub, *min, range.0), *extent)).collect();
        Region { buffer: info.new, ranges }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error};

    fn source(inner: &str) -> String {
        format!(
            "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((64,), \"float32\")):
    for i in T.thread_binding(4, thread=\"threadIdx.x\"):
        with T.sblock(\"b\"):
            T.reads(A[0:64])
            T.writes(A[0:64])
{inner}
"
        )
    }

    #[test]
    fn threads_count_where_they_share_memory() {
        for (scope, extent, index) in [("shared", 16, "i * 4 + j"), ("local", 4, "j")] {
            let inner = format!(
                "            B = T.sblock_alloc_buffer((64,), scope=\"{scope}\")\n            for j in range(4):\n                B[i * 4 + j] = A[j]"
            );
            let text = after(&source(&inner), "s_tir.CompactBufferAllocation()");
            assert!(text.contains(&format!("B = T.sblock_alloc_buffer(({extent},), scope=\"{scope}\")")), "{text}");
            assert!(text.contains(&format!("B[{index}] = A[j]")) || scope == "local", "{text}");
        }
    }

    #[test]
    fn conditions_make_the_part_smaller() {
        let inner = "            B = T.sblock_alloc_buffer((64,), scope=\"local\")\n            for j in range(64):\n                if j < 10:\n                    B[j] = A[j]";
        let text = after(&source(inner), "s_tir.CompactBufferAllocation()");
        assert!(text.contains("B = T.sblock_alloc_buffer((10,), scope=\"local\")"), "{text}");
    }

    #[test]
    fn what_lies_outside_counts_when_asked_for() {
        let inner = "            B = T.sblock_alloc_buffer((8,), scope=\"local\")\n            for j in range(10):\n                B[j - 1] = A[j]";
        let [strict, loose] =
            ["", "is_strict=False"].map(|args| after(&source(inner), &format!("s_tir.CompactBufferAllocation({args})")));
        assert!(strict.contains("T.sblock_alloc_buffer((8,), ") && strict.contains("B[j - 1] = "), "{strict}");
        assert!(loose.contains("T.sblock_alloc_buffer((10,), "), "{loose}");
    }

    #[test]
    fn a_buffer_that_is_not_accessed_is_refused() {
        let inner = "            B = T.sblock_alloc_buffer((8,), scope=\"local\")\n            A[i] = T.float32(0.0)";
        let error = error(&source(inner), "s_tir.CompactBufferAllocation()");
        assert_eq!(error, "B is allocated but not accessed within block scope");
    }
}
