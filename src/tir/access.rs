//! Finds the regions of buffers that a block reads and writes, from its statements (TVM's
//! `src/s_tir/analysis/sblock_access_region_detector.cc`).
//!
//! A nested block counts only by its own declared regions. Conditions around an access narrow the ranges of loops if
//! they are about single variables.

use super::arith::{Analyzer, Domains, IntSet, eval_int_set, eval_range, lanes_of, ranges_of_condition};
use super::subst::substitute;
use crate::ir::{Block, Buffer, Id, PrimExpr, PrimId, Region, Stmt, StmtId, Store, Symbol};
use crate::tir::build::binary;
use crate::tir::math::not;
use rustc_hash::FxHashMap;

/// Parts of buffers, each buffer once, in the order in which they come up.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// The regions that are read.
    pub reads: Vec<Region>,
    /// The regions that are written.
    pub writes: Vec<Region>,
    /// Buffers with escaping pointers, which may be accessed in any way.
    pub opaque: Vec<Region>,
}

/// Returns the accesses of a block to the buffers that `known` accepts. In a reduction (a block with `init`) the
/// buffers that it writes do not count as read.
pub fn block_accesses(store: &mut Store, block: &Block, known: &dyn Fn(Id<Buffer>) -> bool) -> Accesses {
    let detector = detect(store, block, known);
    let opaque = detector.collect(store, Kind::Opaque, &|_| false);
    let writes = detector.collect(store, Kind::Write, &|_| false);
    let reduces = block.init.is_some();
    let is_written = |buffer| reduces && writes.iter().any(|region: &Region| region.buffer == buffer);
    let reads = detector.collect(store, Kind::Read, &is_written);
    Accesses { reads, writes, opaque }
}

/// Returns the reads and writes of a block, in this order; opaque accesses count as both.
pub fn block_reads_and_writes(
    store: &mut Store,
    block: &Block,
    known: &dyn Fn(Id<Buffer>) -> bool,
) -> (Vec<Region>, Vec<Region>) {
    let detector = detect(store, block, known);
    let opaque = detector.collect(store, Kind::Opaque, &|_| false);
    let is_opaque = |buffer| opaque.iter().any(|region| region.buffer == buffer);
    let mut writes = detector.collect(store, Kind::Write, &is_opaque);
    let reduces = block.init.is_some();
    let is_written = |buffer| is_opaque(buffer) || reduces && writes.iter().any(|region| region.buffer == buffer);
    let mut reads = detector.collect(store, Kind::Read, &is_written);
    reads.extend(opaque.iter().cloned());
    writes.extend(opaque);
    (reads, writes)
}

/// Makes all of a buffer.
pub fn whole_buffer(store: &mut Store, buffer: Id<Buffer>) -> Region {
    let shape = store.buffer(buffer).shape.clone();
    let ranges = shape
        .iter()
        .map(|extent| {
            let zero = store.prim_int(0, store.prim_dtype(*extent));
            range_of(store, zero, *extent)
        })
        .collect();
    Region { buffer, ranges }
}

/// Makes a range of a region: one element has no extent.
pub fn range_of(store: &Store, min: PrimId, extent: PrimId) -> (PrimId, Option<PrimId>) {
    (min, Some(extent).filter(|extent| store.as_prim_int(*extent) != Some(1)))
}

/// Returns the extent of a range of a region.
pub fn extent_of(store: &mut Store, range: (PrimId, Option<PrimId>)) -> PrimId {
    range.1.unwrap_or_else(|| store.prim_int(1, store.prim_dtype(range.0)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Opaque,
}

struct Detector<'a> {
    known: &'a dyn Fn(Id<Buffer>) -> bool,
    domains: Domains,
    values: FxHashMap<Id<Symbol>, PrimId>,
    matches: Vec<(Id<Buffer>, Region)>,
    found: Vec<(Kind, Id<Buffer>, Vec<IntSet>)>,
}

fn detect<'a>(store: &mut Store, block: &Block, known: &'a dyn Fn(Id<Buffer>) -> bool) -> Detector<'a> {
    let matches = block.matches.iter().filter(|(_, source)| known(source.buffer)).cloned().collect();
    let mut detector = Detector { known, domains: Domains::default(), values: FxHashMap::default(), matches, found: Vec::new() };
    let declared = block.reads.iter().chain(&block.writes).chain(block.matches.iter().map(|(_, source)| source));
    let written: Vec<PrimId> = declared.flat_map(|region| region.ranges.iter().map(|(min, _)| *min)).collect();
    for index in written {
        detector.expr(store, index);
    }
    for stmt in block.init.into_iter().chain([block.body]) {
        detector.stmt(store, stmt);
    }
    detector
}

impl Detector<'_> {
    fn stmt(&mut self, store: &mut Store, id: StmtId) {
        match store.stmt(id).clone() {
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(list).collect();
                stmts.into_iter().for_each(|stmt| self.stmt(store, stmt));
            }
            Stmt::For(head, body) => {
                let range = IntSet::from_range(store, head.min, head.extent);
                self.domains.insert(head.var, range);
                self.expr(store, head.min);
                self.expr(store, head.extent);
                self.stmt(store, body);
                self.domains.remove(&head.var);
            }
            Stmt::If { cond, then, other } => {
                self.expr(store, cond);
                self.under(store, cond, &mut |detector, store| detector.stmt(store, then));
                if let Some(other) = other {
                    let negation = not(store, cond);
                    self.under(store, negation, &mut |detector, store| detector.stmt(store, other));
                }
            }
            Stmt::Block(block) => self.block(store, block),
            Stmt::Store { buffer, indices, value } => {
                let region = indices.iter().map(|index| self.relaxed(store, *index)).collect();
                self.update(store, Kind::Write, buffer, region);
                self.expr(store, value);
                indices.iter().for_each(|index| self.expr(store, *index));
            }
            Stmt::Bind { var, value } => {
                self.values.insert(var, value);
                self.expr(store, value);
            }
            Stmt::While { cond, body } => {
                self.expr(store, cond);
                self.stmt(store, body);
            }
            Stmt::Attr { value, body, .. } => {
                self.expr(store, value);
                self.stmt(store, body);
            }
            Stmt::Assert { cond: value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => self.expr(store, value),
            Stmt::Alloc(..) | Stmt::Declare(_) | Stmt::Break | Stmt::Continue => {}
        }
    }

    /// Counts a nested block by its declared regions.
    fn block(&mut self, store: &mut Store, block: Id<Block>) {
        let block = store.prim_block(block).clone();
        let value_of = |symbol| block.iters.iter().find(|iter| iter.var == symbol).and_then(|iter| iter.value);
        for (kind, regions) in [(Kind::Read, &block.reads), (Kind::Write, &block.writes)] {
            for region in regions {
                let mut sets = Vec::new();
                for range in &region.ranges {
                    let extent = extent_of(store, *range);
                    let [min, extent] = [range.0, extent].map(|end| substitute(store, end, &mut |_, symbol| value_of(symbol)));
                    let set = IntSet::from_range(store, min, extent);
                    sets.push(eval_int_set(store, set, &self.domains));
                }
                self.update(store, kind, region.buffer, sets);
            }
        }
    }

    fn expr(&mut self, store: &mut Store, root: PrimId) {
        match *store.prim_rc(root) {
            PrimExpr::Load { buffer, ref indices } => {
                let region = indices.iter().map(|index| self.relaxed(store, *index)).collect();
                self.update(store, Kind::Read, buffer, region);
                indices.iter().for_each(|index| self.expr(store, *index));
            }
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => self.whole(store, Kind::Opaque, buffer),
            PrimExpr::Let { var, value, body } => {
                self.values.insert(var, value);
                self.expr(store, value);
                self.expr(store, body);
            }
            PrimExpr::Call { op, ref args, .. } if store.str(op) == "tvm_access_ptr" => {
                let buffer = args.get(1).and_then(|arg| match *store.prim_of_id(*arg) {
                    PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => Some(buffer),
                    _ => None,
                });
                let mask = args.get(4).and_then(|mask| store.as_prim_int(*mask));
                match (buffer, mask) {
                    (Some(buffer), Some(mask)) => match (mask & 1 != 0, mask & 2 != 0) {
                        (true, true) => self.whole(store, Kind::Opaque, buffer),
                        (true, false) => self.whole(store, Kind::Read, buffer),
                        (false, true) => self.whole(store, Kind::Write, buffer),
                        _ => {}
                    },
                    _ => args.iter().for_each(|arg| self.expr(store, *arg)),
                }
            }
            PrimExpr::Call { op, ref args, .. } if store.str(op) == "if_then_else" && args.len() == 3 => {
                let (cond, then, other) = (args[0], args[1], args[2]);
                self.expr(store, cond);
                self.under(store, cond, &mut |detector, store| detector.expr(store, then));
                let negation = not(store, cond);
                self.under(store, negation, &mut |detector, store| detector.expr(store, other));
            }
            ref node => {
                if store.prim_depth(root) > super::arith::DEEPEST {
                    return self.flat(store, root);
                }
                let mut children = Vec::new();
                node.for_each_child(&mut |child| children.push(child));
                children.into_iter().for_each(|child| self.expr(store, child));
            }
        }
    }

    /// Visits the loads of an expression that is too deep for recursion.
    fn flat(&mut self, store: &mut Store, root: PrimId) {
        let mut loads = Vec::new();
        store.for_each_prim(root, &mut |_, node| {
            if let PrimExpr::Load { buffer, indices } = node {
                loads.push((*buffer, indices.clone()));
            }
        });
        for (buffer, indices) in loads {
            let region = indices.iter().map(|index| self.relaxed(store, *index)).collect();
            self.update(store, Kind::Read, buffer, region);
        }
    }

    /// Runs `f` knowing that a condition holds.
    fn under(&mut self, store: &mut Store, cond: PrimId, f: &mut dyn FnMut(&mut Self, &mut Store)) {
        let mut old = Vec::new();
        for (var, set) in ranges_of_condition(store, cond, &self.domains).unwrap_or_default() {
            if let Some(known) = self.domains.get_mut(&var) {
                old.push((var, std::mem::replace(known, set)));
            }
        }
        f(self, store);
        self.domains.extend(old);
    }

    fn relaxed(&mut self, store: &mut Store, index: PrimId) -> IntSet {
        let mut index = index;
        // Values are older than their variables, so this ends; the limit is for programs that are not well-formed.
        for _ in 0..64 {
            let new = substitute(store, index, &mut |_, symbol| self.values.get(&symbol).copied());
            if new == index {
                break;
            }
            index = new;
        }
        let lanes = lanes_of(store, index);
        eval_int_set(store, lanes, &self.domains)
    }

    fn whole(&mut self, store: &mut Store, kind: Kind, buffer: Id<Buffer>) {
        if !self.is_known(buffer) {
            return;
        }
        let mut sets = Vec::new();
        for range in whole_buffer(store, buffer).ranges {
            let extent = extent_of(store, range);
            sets.push(eval_range(store, range.0, extent, &self.domains));
        }
        self.update(store, kind, buffer, sets);
    }

    fn is_known(&self, buffer: Id<Buffer>) -> bool {
        (self.known)(buffer) || self.matches.iter().any(|(target, _)| *target == buffer)
    }

    fn update(&mut self, store: &mut Store, kind: Kind, mut buffer: Id<Buffer>, mut region: Vec<IntSet>) {
        if !self.is_known(buffer) {
            return;
        }
        if let Some((_, source)) = self.matches.iter().find(|(target, _)| *target == buffer).cloned() {
            region = self.in_source(store, buffer, &source, &region);
            buffer = source.buffer;
        }
        match self.found.iter_mut().find(|(other, known, _)| *other == kind && *known == buffer) {
            Some((.., all)) => {
                for (all, new) in all.iter_mut().zip(region) {
                    *all = IntSet::union(store, &[*all, new]);
                }
            }
            None => self.found.push((kind, buffer, region)),
        }
    }

    /// Returns the part of the source buffer that corresponds to an access to its part.
    fn in_source(&mut self, store: &mut Store, target: Id<Buffer>, source: &Region, sets: &[IntSet]) -> Vec<IntSet> {
        let shape = store.buffer(target).shape.clone();
        let outer = source.ranges.len().saturating_sub(sets.len());
        let mut found = Vec::new();
        for (axis, range) in source.ranges.iter().enumerate() {
            let (min, extent) = match axis.checked_sub(outer).and_then(|axis| Some((sets.get(axis)?, shape.get(axis)?))) {
                Some((set, size)) => {
                    let zero = store.prim_int(0, store.prim_dtype(*size));
                    let (min, extent) = set.cover(store, (zero, *size));
                    (binary(store, crate::ir::PrimOp::Add, range.0, min), extent)
                }
                None => (range.0, store.prim_int(1, store.prim_dtype(range.0))),
            };
            found.push(eval_range(store, min, extent, &self.domains));
        }
        found
    }

    fn collect(&self, store: &mut Store, kind: Kind, left_out: &dyn Fn(Id<Buffer>) -> bool) -> Vec<Region> {
        let analyzer = &mut Analyzer::new();
        let mut regions = Vec::new();
        for (_, buffer, sets) in self.found.iter().filter(|(other, buffer, _)| *other == kind && !left_out(*buffer)) {
            let shape = store.buffer(*buffer).shape.clone();
            let mut ranges = Vec::new();
            for (axis, set) in sets.iter().enumerate() {
                let point = set.lower().filter(|_| set.is_point(store, analyzer));
                ranges.push(match (point, shape.get(axis)) {
                    (Some(min), _) => (min, None),
                    (None, size) => {
                        let size = size.copied().unwrap_or_else(|| store.prim_int(1, crate::ir::DType::I32));
                        let zero = store.prim_int(0, store.prim_dtype(size));
                        let (min, extent) = set.cover(store, (zero, size));
                        range_of(store, min, extent)
                    }
                });
            }
            regions.push(Region { buffer: *buffer, ranges: ranges.into() });
        }
        regions
    }
}
