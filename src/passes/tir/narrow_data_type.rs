//! NarrowDataType: indices that fit get fewer bits.
//!
//! Source: `src/tirx/transform/narrow_datatype.cc`.

use super::prim_func;
use crate::ir::{AttrNode, Block, DType, ExprId, Id, Module, PrimExpr, PrimId, Region, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::index_types::{Place, Policy, Types, is_int, with_bits};
use crate::tir::rewrite_func;
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `tirx.transform.NarrowDataType`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.NarrowDataType",
    info_name: "tirx.NarrowDataType",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "target_bits", default: "", doc: "How many bits indices may have: 32 or 16." }],
    config: &[],
    summary: "Makes the integers in indices narrower where they fit.",
    doc: explained(
        "The variable of a loop, a block or a thread becomes an integer of `target_bits` when each expression that it stands in \
fits into that, by the ranges of all variables. So do numbers and conversions in indices, extents and shapes. Where operands \
have two types then, the narrower one is converted, unless it can be narrower as an index. Parameters keep their types.\n\n\
Blocks are narrowed as TVM's sources say; the pass of TVM 0.27 ends its process there.",
    ),
    example_before: explained(
        "\
# tirx.NarrowDataType(target_bits=32)
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((256,), \"float32\"), B: T.Buffer((256,), \"float32\")):
        for i, j in T.grid(T.int64(16), T.int64(16)):
            B[i * T.int64(16) + j] = A[i * T.int64(16) + j]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((256,), \"float32\"), B: T.Buffer((256,), \"float32\")):
        for i, j in T.grid(16, 16):
            B[i * 16 + j] = A[i * 16 + j]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let target = u8::try_from(args.int("target_bits")).ok().filter(|bits| (1..=64).contains(bits));
    let Some(target) = target else {
        return Err(vec![crate::diag::Diagnostic::error("pass-argument", "target_bits is a number of bits up to 64", None)]);
    };
    let narrow = Narrow { target, analyzer: Analyzer::new(), extents: FxHashMap::default(), vars: FxHashMap::default() };
    let at = Place { is_index: false, is_condition: false, bits: target };
    let mut types = Types { policy: narrow, at, vars: FxHashMap::default(), rule: "index narrowed", error: None };
    types.policy.look(cx.store, prim.body);
    rewrite_func(cx.store, func, &mut types).map(Some)
}

struct Narrow {
    target: u8,
    analyzer: Analyzer,
    /// The types of the extents of loops, blocks and threads, by variable.
    extents: FxHashMap<Id<Symbol>, DType>,
    /// The number of bits that variables need.
    vars: FxHashMap<Id<Symbol>, u8>,
}

impl Narrow {
    /// Returns the number of bits that an expression needs, given those that its context needs.
    fn bits(&mut self, store: &mut Store, id: PrimId, around: u8) -> u8 {
        let dtype = store.prim_dtype(id);
        if !is_int(dtype) {
            return around;
        }
        let most = i64::MAX >> (64 - u32::from(self.target.max(1)));
        let fits = dtype.bits <= self.target || {
            let bound = self.analyzer.const_int_bound(store, id);
            bound.max <= most && bound.min >= -most - 1
        };
        around.max(if fits { self.target } else { 64 })
    }

    /// Finds out how many bits variables need. Statements nest as deep as the parser's limit.
    fn look(&mut self, store: &mut Store, id: StmtId) {
        let stmt = store.stmt(id).clone();
        let mut values = Vec::new();
        match &stmt {
            Stmt::For(head, _) => {
                self.analyzer.bind_range(store, head.var, head.min, head.extent);
                self.extents.insert(head.var, store.prim_dtype(head.extent));
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, value, .. } => {
                let zero = store.prim_int(0, store.prim_dtype(*value));
                self.analyzer.bind_range(store, *var, zero, *value);
                self.extents.insert(*var, store.prim_dtype(*value));
            }
            Stmt::Block(block) => {
                let Block { iters, reads, writes, allocs, matches, .. } = store.prim_block(*block).clone();
                for iter in &iters {
                    self.analyzer.bind_range(store, iter.var, iter.min, iter.extent);
                    self.extents.insert(iter.var, store.prim_dtype(iter.extent));
                    values.extend([iter.min, iter.extent]);
                }
                let regions: Vec<&Region> = reads.iter().chain(&writes).chain(matches.iter().map(|(_, source)| source)).collect();
                values.extend(
                    regions.iter().flat_map(|region| &region.ranges).flat_map(|(min, extent)| [Some(*min), *extent]).flatten(),
                );
                for buffer in allocs.iter().chain(matches.iter().map(|(buffer, _)| buffer)) {
                    let buffer = store.buffer(*buffer);
                    values.extend(buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset));
                }
            }
            Stmt::Alloc(buffer, _) | Stmt::Declare(buffer) => {
                let buffer = store.buffer(*buffer);
                values.extend(buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset));
            }
            _ => {}
        }
        store.for_each_prim_of(&stmt, |value| values.push(value));
        self.values(store, values);
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().for_each(|stmt| self.look(store, stmt));
    }

    fn values(&mut self, store: &mut Store, roots: Vec<PrimId>) {
        let mut seen = FxHashSet::default();
        let mut todo: Vec<(PrimId, u8)> = roots.into_iter().map(|root| (root, self.target)).collect();
        while let Some((id, around)) = todo.pop() {
            if !seen.insert((id, around)) {
                continue;
            }
            let mut bits = self.bits(store, id, around);
            let expr = store.prim_of_id(id);
            match expr {
                PrimExpr::Var(symbol) => {
                    if let Some(extent) = self.extents.get(symbol) {
                        let needs = self.vars.entry(*symbol).or_insert(0);
                        *needs = (*needs).max(extent.bits.min(bits));
                    }
                }
                PrimExpr::Load { .. } => bits = self.target,
                _ => {}
            }
            expr.for_each_child(&mut |child| todo.push((child, bits)));
        }
    }
}

impl Policy for Narrow {
    fn inside(&mut self, store: &mut Store, id: PrimId, at: Place) -> Place {
        Place { bits: self.bits(store, id, at.bits), ..at }
    }

    fn index(&self, at: Place) -> Place {
        Place { is_index: true, bits: self.target, ..at }
    }

    fn number(&mut self, _: i64, dtype: DType, at: Place) -> Result<DType, String> {
        Ok(if at.is_index && is_int(dtype) { with_bits(dtype, dtype.bits.min(at.bits)) } else { dtype })
    }

    fn variable(&mut self, store: &Store, symbol: Id<Symbol>, _: Place) -> DType {
        let dtype = store.symbol(symbol).dtype;
        self.vars.get(&symbol).map_or(dtype, |bits| with_bits(dtype, *bits))
    }

    fn conversion(&self, dtype: DType, at: Place) -> Option<DType> {
        let bits = dtype.bits.min(at.bits);
        (at.is_index && is_int(dtype) && bits != dtype.bits).then(|| with_bits(dtype, bits))
    }

    fn looks_again(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!("@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float32\"), n: T.int64):\n{body}")
    }

    fn narrowed(body: &str) -> String {
        after(&source(body), "tir.NarrowDataType(32)")
    }

    #[test]
    fn variables_that_fit_everywhere_are_narrower() {
        let text = narrowed("for i in range(T.int64(64)):\n    A[i + T.int64(1)] = T.float32(0.0)");
        assert!(text.contains("for i in range(64):") && text.contains("A[i + 1]"), "{text}");
    }

    #[test]
    fn a_variable_in_an_expression_that_does_not_fit_stays() {
        let text = narrowed("for i in range(T.int64(64)):\n    A[i * T.int64(4294967296)] = T.float32(0.0)");
        assert!(text.contains("for i in range(T.int64(64)):"), "{text}");
    }

    #[test]
    fn a_parameter_stays() {
        unchanged(&source("A[n] = T.float32(0.0)"), "tir.NarrowDataType(32)");
    }

    #[test]
    fn a_conversion_in_an_index_goes() {
        let text = narrowed("for i in range(64):\n    A[T.Cast(\"int64\", i)] = T.float32(0.0)");
        assert!(text.contains("A[i]"), "{text}");
    }

    #[test]
    fn the_number_of_bits_must_make_sense() {
        assert!(error(&source("A[n] = T.float32(0.0)"), "tir.NarrowDataType(100)").contains("target_bits"));
    }
}
