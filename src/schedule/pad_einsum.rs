//! Sums of products over padded iterators (TVM's `primitive/pad_einsum.cc`).

use super::analysis::scope_root;
use super::loops::{also, serial};
use super::state::{BlockRef, Flags, State};
use super::tree::blocks_in;
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, constant, math};

/// Makes iterators and loops longer; buffers in the place of others are known to the driver.
struct Longer {
    extents: Vec<(Id<Symbol>, PrimId)>,
}

impl Longer {
    fn of(&self, var: Id<Symbol>) -> Option<PrimId> {
        self.extents.iter().find(|(known, _)| *known == var).map(|(_, extent)| *extent)
    }
}

impl StmtMutator for Longer {
    fn rule(&self) -> &'static str {
        "iterators padded"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let new = match cx.store.stmt(id) {
            Stmt::For(..) | Stmt::Block(_) => cx.descend(self, id),
            _ => return None,
        };
        let stmt = match cx.store.stmt(new).clone() {
            Stmt::For(mut head, body) => {
                head.extent = self.of(head.var).unwrap_or(head.extent);
                Stmt::For(head, body)
            }
            Stmt::Block(block) => {
                let mut block = cx.store.prim_block(block).clone();
                for iter in &mut block.iters {
                    iter.extent = self.of(iter.var).unwrap_or(iter.extent);
                }
                (block.allocs, block.matches) = ([].into(), [].into());
                Stmt::Block(cx.store.add_prim_block(block))
            }
            _ => return Some(new),
        };
        Some(cx.store.rebuild_stmt(id, stmt))
    }
}

impl State<'_> {
    /// The iterators of a sum of products are rounded up to multiples of `padding`; inputs are copied into buffers padded
    /// with zeros, and results are copied out of such.
    pub(super) fn pad_einsum(&mut self, of: BlockRef, padding: &[i64]) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let root = scope_root(self, &tree, at, true)?;
        if padding.len() != data.iters.len() || padding.iter().any(|pad| *pad <= 0) {
            return refuse("ScheduleError: The padding size for the block is invalid.");
        }
        let mut seen: Vec<Id<Buffer>> = Vec::new();
        for region in data.reads.iter().chain(&data.writes) {
            let plain = region.ranges.iter().all(|(min, extent)| {
                extent.is_none() && matches!(self.store.prim_of_id(*min), PrimExpr::Int { .. } | PrimExpr::Var(_))
            });
            if !plain || seen.contains(&region.buffer) {
                return refuse("ScheduleError: The block is not a computation of Einsum pattern.");
            }
            seen.push(region.buffer);
        }
        let analyzer = &mut Analyzer::new();
        let mut longer = Longer { extents: Vec::new() };
        for (iter, pad) in data.iters.iter().zip(padding) {
            let pad = self.store.prim_int(*pad, self.store.prim_dtype(iter.extent));
            let parts = math::ceil_div(self.store, iter.extent, pad);
            let whole = binary(self.store, PrimOp::Mul, parts, pad);
            let whole = analyzer.simplify(self.store, whole);
            if analyzer.can_prove_equal(self.store, whole, iter.extent) {
                continue;
            }
            longer.extents.push((iter.var, whole));
            if let Some(PrimExpr::Var(var)) = iter.value.map(|value| self.store.prim_of_id(value)) {
                longer.extents.push((*var, whole));
            }
        }
        let Some(scope) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        let mut scope = self.store.prim_block(scope).clone();
        let stmts = self.store.stmts_of(scope.body);
        let own = self.block_id(of);
        let position = stmts.iter().position(|stmt| blocks_in(self.store, *stmt).contains(&own));
        let Some(position) = position else { return refuse("InternalError: the block is not in its scope") };
        let (mut before, mut after, mut made, mut padded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (writes, regions) in [(false, &data.reads), (true, &data.writes)] {
            for region in regions {
                let shape: Vec<Option<PrimId>> = region
                    .ranges
                    .iter()
                    .map(|(min, _)| match *self.store.prim_of_id(*min) {
                        PrimExpr::Var(var) => longer.of(var),
                        _ => None,
                    })
                    .collect();
                if shape.iter().all(Option::is_none) {
                    continue;
                }
                let old = self.store.buffer(region.buffer).clone();
                let mut all = Vec::new();
                for (place, (extent, (min, _))) in shape.into_iter().zip(&region.ranges).enumerate() {
                    let number = self.store.as_prim_int(*min).is_some();
                    let dtype = self.store.prim_dtype(*min);
                    all.push(match extent {
                        Some(extent) => extent,
                        None if number => self.store.prim_int(1, dtype),
                        None => old.shape[place],
                    });
                }
                let name = format!("{}_pad", self.store.str(old.name));
                let name = self.store.name(&name);
                let new = Buffer::new(name, old.dtype, all.into(), old.scope);
                let new = self.store.add_buffer(new);
                padded.push((region.buffer, new));
                let (stmt, block) = self.copy_of(analyzer, region.buffer, new, writes);
                made.push(block);
                if writes { after.push(stmt) } else { before.push(stmt) }
            }
        }
        let mut cx = Rewriting::new(self.store);
        for (old, new) in &padded {
            cx.set_buffer(*old, *new);
        }
        let main = cx.visit(&mut longer, stmts[position]);
        let all: Vec<StmtId> = stmts[..position]
            .iter()
            .copied()
            .chain(before)
            .chain([main])
            .chain(after)
            .chain(stmts[position + 1..].iter().copied())
            .collect();
        scope.body = self.store.add_stmts(&all);
        scope.allocs = scope.allocs.iter().copied().chain(padded.iter().map(|(_, new)| *new)).collect();
        let stmt = tree.nodes[root].stmt;
        let new = self.rebuilt_block(stmt, scope);
        self.replace(stmt, new, &[], &made)?;
        for block in made {
            self.set_flags(block, Flags { affine: true, covered: true, stages: true });
        }
        Ok(())
    }

    /// The loops that copy a buffer into a padded one, or out of it.
    fn copy_of(&mut self, analyzer: &mut Analyzer, buffer: Id<Buffer>, padded: Id<Buffer>, out: bool) -> (StmtId, Id<Block>) {
        let (old, new) = (self.store.buffer(buffer).clone(), self.store.buffer(padded).clone());
        let (mut iters, mut places, mut loops) = (Vec::new(), Vec::new(), Vec::new());
        for (place, extent) in (if out { &old.shape } else { &new.shape }).iter().enumerate() {
            let dtype = self.store.prim_dtype(*extent);
            let (var, prim) = self.var(&format!("v{place}"), dtype);
            let (loop_var, value) = self.var(&format!("i{place}"), dtype);
            let min = self.store.prim_int(0, dtype);
            iters.push(IterVar { var, kind: IterKind::Spatial, min, extent: *extent, value: Some(value) });
            places.push(prim);
            loops.push((loop_var, *extent));
        }
        let indices: Box<[PrimId]> = places.clone().into();
        let (source, target) = if out { (padded, buffer) } else { (buffer, padded) };
        let mut value = self.store.prim(PrimExpr::Load { buffer: source, indices: indices.clone() });
        if !out {
            let mut within = None;
            for (place, (extent, more)) in old.shape.iter().zip(&new.shape).enumerate() {
                if !analyzer.can_prove_equal(self.store, *extent, *more) {
                    let less = binary(self.store, PrimOp::Lt, places[place], *extent);
                    within = also(self.store, within, less);
                }
            }
            let zero = constant(self.store, 0, self.store.prim_dtype(value));
            let always = self.store.prim_int(1, DType::BOOL);
            value = math::if_then_else(self.store, within.unwrap_or(always), value, zero);
        }
        let body = self.store.add_stmt(Stmt::Store { buffer: target, indices, value });
        let part = |buffer| Region { buffer, ranges: places.iter().map(|place| (*place, None)).collect() };
        let made = self.store.add_prim_block(Block {
            name: new.name,
            iters: iters.into(),
            predicate: None,
            reads: [part(source)].into(),
            writes: [part(target)].into(),
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        });
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for (var, extent) in loops.into_iter().rev() {
            stmt = serial(self.store, var, extent, stmt);
        }
        (stmt, made)
    }
}
