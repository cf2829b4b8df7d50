//! LowerMatchBuffer: accesses to parts of buffers go to the buffers themselves.
//!
//! Source: `src/s_tir/transform/lower_match_buffer.cc`, and of `src/tirx/transform/ir_utils.cc` how indices and regions of a
//! part become those of the whole.

use super::{block_of, prim_func};
use crate::ir::{
    Block, Buffer, DType, ExprId, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, PrimParam, Region, Stmt, StmtId, Store, show_dim,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, cast, elem_offset, has_kinds, rewrite_func, substitute};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.LowerMatchBuffer`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerMatchBuffer",
    info_name: "s_tir.LowerMatchBuffer",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Replaces parts of buffers by the buffers that they are parts of.",
    doc: explained(
        "`T.match_buffer` in a block gives a part of a buffer a name, a shape and variables for its strides and its offset. The \
pass puts the buffer in its place, with indices moved to where the part begins, and the numbers that these variables stand for. \
It fails when the part is not what the block says of it: another scope or type, strides or extents that differ, an offset that \
is not a multiple of `offset_factor`.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def fill(A: T.Buffer((8, 8), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(4):
            with T.sblock(\"B\"):
                T.reads()
                T.writes(A[i * 2:i * 2 + 2, 0:8])
                S = T.match_buffer(A[i * 2:i * 2 + 2, 0:8], (2, 8), offset_factor=1)
                for j, k in T.grid(2, 8):
                    S[j, k] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def fill(A: T.Buffer((8, 8), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(4):
            with T.sblock(\"B\"):
                T.reads()
                T.writes(A[i * 2:i * 2 + 2, 0:8])
                for j, k in T.grid(2, 8):
                    A[i * 2 + j, k] = T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    if !has_kinds(cx.store, func, Kinds::MATCH) {
        return Ok(Some(func));
    }
    let mut lower = Lower::default();
    // A parameter keeps the caller's value and is never bound again.
    for param in &prim.params {
        if let PrimParam::Var(symbol) = *param {
            let var = cx.store.prim(PrimExpr::Var(symbol));
            lower.values.insert(symbol, var);
        }
    }
    rewrite_func(cx.store, func, &mut lower).map(Some)
}

#[derive(Default)]
struct Lower {
    /// The parts in scope, with the regions that they match.
    parts: FxHashMap<Id<Buffer>, Region>,
    /// The values of the variables of parts.
    values: FxHashMap<Id<crate::ir::Symbol>, PrimId>,
    analyzer: Analyzer,
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "part of a buffer replaced"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if let Stmt::For(head, _) = cx.store.stmt(id).clone() {
            self.analyzer.bind_range(cx.store, head.var, head.min, head.extent);
            return None;
        }
        let block = block_of(cx.store, id)?;
        if self.parts.is_empty() && block.matches.is_empty() {
            return None;
        }
        for (part, source) in &block.matches {
            if let Err(message) = self.open(cx, *part, source) {
                cx.fail("tir-match-buffer", message);
                return None;
            }
        }
        let inner = cx.descend(self, id);
        let new = block_of(cx.store, inner)?;
        let reads = self.regions(cx.store, &block.reads, &new.reads);
        let writes = self.regions(cx.store, &block.writes, &new.writes);
        if block.matches.is_empty() && reads == new.reads && writes == new.writes {
            return Some(inner);
        }
        let new = cx.store.add_prim_block(Block { matches: [].into(), reads, writes, ..(*new).clone() });
        Some(cx.store.add_stmt(Stmt::Block(new)))
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let PrimExpr::Data(buffer) = *cx.store.prim_of_id(id) else { return None };
        let source = self.parts.get(&buffer)?.buffer;
        Some(cx.store.prim(PrimExpr::Data(source)))
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let source = self.parts.get(&buffer)?;
        let first = source.ranges.len().checked_sub(indices.len())?;
        let mut all: Vec<PrimId> = source.ranges[..first].iter().map(|(min, _)| *min).collect();
        for ((min, _), index) in source.ranges[first..].iter().zip(indices) {
            all.push(binary(cx.store, PrimOp::Add, *min, *index));
        }
        Some((source.buffer, all))
    }
}

impl Lower {
    fn regions(&self, store: &mut Store, old: &[Region], new: &[Region]) -> Box<[Region]> {
        old.iter().zip(new).map(|(old, new)| self.region(store, old.buffer, new)).collect()
    }

    /// Converts a region of `buffer` to one of the buffer that it is a part of.
    fn region(&self, store: &mut Store, buffer: Id<Buffer>, region: &Region) -> Region {
        let Some(source) = self.parts.get(&buffer) else { return region.clone() };
        let Some(first) = source.ranges.len().checked_sub(region.ranges.len()) else { return region.clone() };
        let outer = source.ranges[..first].iter().map(|(min, _)| (*min, None));
        let mut ranges: Vec<(PrimId, Option<PrimId>)> = outer.collect();
        for ((from, _), (min, extent)) in source.ranges[first..].iter().zip(&region.ranges) {
            ranges.push((binary(store, PrimOp::Add, *from, *min), *extent));
        }
        Region { buffer: source.buffer, ranges: ranges.into() }
    }

    /// Notes a part and the values of its variables. The error is TVM's.
    fn open(&mut self, cx: &mut Rewriting<'_>, part: Id<Buffer>, source: &Region) -> Result<(), String> {
        let store = &mut *cx.store;
        let source = self.region(store, source.buffer, source);
        let (buffer, whole) = (store.buffer(part).clone(), store.buffer(source.buffer).clone());
        let name = store.str(buffer.name).to_owned();
        if buffer.scope != whole.scope {
            let (scope, other) = (store.str(buffer.scope), store.str(whole.scope));
            return Err(format!("MatchBuffer {name} scope mismatch:{scope}vs.{other}"));
        }
        if buffer.dtype != whole.dtype {
            return Err(format!("MatchBuffer {name} data type mismatch:{}vs.{}", buffer.dtype, whole.dtype));
        }
        let zero = store.prim_int(0, DType::I32);
        let is_zero = |store: &Store, offset: Option<PrimId>| offset.is_none_or(|offset| store.as_prim_int(offset) == Some(0));
        if is_zero(store, buffer.elem_offset) && !is_zero(store, whole.elem_offset) {
            let offset = show(store, whole.elem_offset.unwrap_or(zero));
            return Err(format!(
                "Trying to bind a BufferVar with offset into one without offset  required elem_offset=0, provided elem_offset={offset}"
            ));
        }
        self.parts.insert(part, source.clone());
        let mins: Vec<PrimId> = source.ranges.iter().map(|(min, _)| *min).collect();
        let start = elem_offset(store, &whole, &mins);
        let offset = buffer.elem_offset.unwrap_or(zero);
        self.bind(cx, offset, start, &format!("{name}.elem_offset"))?;
        let store = &mut *cx.store;
        let factor = store.prim_int(i64::from(buffer.offset_factor), store.prim_dtype(offset));
        let rest = binary(store, PrimOp::Mod, offset, factor);
        let zero = store.prim_int(0, store.prim_dtype(offset));
        let fits = binary(store, PrimOp::Eq, rest, zero);
        if !self.analyzer.can_prove(store, fits) {
            let start = show(store, start);
            return Err(format!("The source elem_offset {start} does not satisfy the offset_factor {}.", buffer.offset_factor));
        }
        let Some(first) = source.ranges.len().checked_sub(buffer.shape.len()) else {
            return Err(format!("MatchBuffer {name} has more dimensions than what it matches"));
        };
        for axis in 0..first {
            let extent = source.ranges[axis].1.unwrap_or_else(|| cx.store.prim_int(1, DType::I32));
            let one = cx.store.prim_int(1, cx.store.prim_dtype(extent));
            let single = binary(cx.store, PrimOp::Eq, extent, one);
            if !Analyzer::new().can_prove(cx.store, single) {
                return Err("analyzer->CanProve(source_range->extent == 1)".to_owned());
            }
        }
        if !buffer.strides.is_empty() {
            let mut packed = cx.store.prim_int(1, cx.store.prim_dtype(buffer.strides[buffer.strides.len() - 1]));
            for axis in (0..buffer.shape.len().min(buffer.strides.len())).rev() {
                let stride = whole.strides.get(axis + first).copied().unwrap_or(packed);
                self.bind(cx, buffer.strides[axis], stride, &format!("{name}.strides_{axis}"))?;
                packed = binary(cx.store, PrimOp::Mul, packed, whole.shape[axis + first]);
            }
        }
        for (axis, extent) in buffer.shape.iter().enumerate() {
            let given = source.ranges[axis + first].1.unwrap_or_else(|| cx.store.prim_int(1, DType::I32));
            self.bind(cx, *extent, given, &format!("{name}.shape_{axis}"))?;
        }
        Ok(())
    }

    /// Sets the value of a part's variable; anything else must equal the value already.
    fn bind(&mut self, cx: &mut Rewriting<'_>, arg: PrimId, value: PrimId, what: &str) -> Result<(), String> {
        let dtype = cx.store.prim_dtype(arg);
        let value = if cx.store.prim_dtype(value) == dtype { value } else { cast(cx.store, dtype, value) };
        let value = substitute(cx.store, value, &mut |_, symbol| self.values.get(&symbol).copied());
        let mut known = arg;
        if let PrimExpr::Var(symbol) = *cx.store.prim_of_id(arg) {
            match self.values.get(&symbol) {
                Some(value) => known = *value,
                None => {
                    self.values.insert(symbol, value);
                    self.analyzer.bind(cx.store, symbol, value);
                    cx.set_symbol(symbol, value);
                    return Ok(());
                }
            }
        }
        let equal = binary(cx.store, PrimOp::Eq, known, value);
        match self.analyzer.can_prove(cx.store, equal) {
            true => Ok(()),
            false => {
                let (known, value) = (show(cx.store, known), show(cx.store, value));
                Err(format!("The buffer match constraint for {what} unmet: {known}=={value}."))
            }
        }
    }
}

fn show(store: &Store, prim: PrimId) -> String {
    show_dim(store, store.dim_of_prim(prim))
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const NESTED: &str = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((8, 16), \"float32\")):
    for i in range(8):
        with T.sblock(\"outer\"):
            T.reads()
            T.writes(A[i, 0:16])
            S = T.match_buffer(A[i, 0:16], (16,), strides=(\"s\",), offset_factor=1)
            for j in range(4):
                with T.sblock(\"inner\"):
                    T.reads()
                    T.writes(S[j * 4:j * 4 + 4])
                    Q = T.match_buffer(S[j * 4:j * 4 + 4], (4,), offset_factor=4)
                    T.call_extern(\"int32\", \"fill\", Q.data, Q.elem_offset, S.strides[0])
                    Q[1] = T.float32(0.0)
";

    #[test]
    fn parts_of_parts_are_parts_of_the_whole() {
        let text = after(NESTED, "s_tir.LowerMatchBuffer()");
        assert!(text.contains("T.writes(A[i, j * 4:j * 4 + 4])\n"), "{text}");
        assert!(text.contains("A[i, j * 4 + 1] = T.float32(0.0)"), "{text}");
        assert!(text.contains("T.call_extern(\"int32\", \"fill\", A.data, i * 16 + j * 4, 1)"), "{text}");
    }

    #[test]
    fn blocks_without_parts_stay() {
        unchanged(&after(NESTED, "s_tir.LowerMatchBuffer()"), "s_tir.LowerMatchBuffer()");
    }

    #[test]
    fn a_part_that_is_not_what_the_block_says_is_refused() {
        for (from, to, message) in [
            ("strides=(\"s\",)", "strides=(2,)", "The buffer match constraint for S.strides_0 unmet: 2==1."),
            ("offset_factor=4", "offset_factor=3", "The source elem_offset"),
            ("(4,), offset_factor=4)", "(4,))", "The buffer match constraint for Q.elem_offset unmet: 0=="),
            ("offset_factor=4", "offset_factor=4, scope=\"local\"", "MatchBuffer Q scope mismatch:localvs.global"),
        ] {
            let error = error(&NESTED.replace(from, to), "s_tir.LowerMatchBuffer()");
            assert!(error.starts_with(message), "{to}: {error}");
        }
    }
}
