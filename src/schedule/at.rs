//! Copies of the part of a buffer that a loop's body accesses, made in that loop (`read_at` and `write_at` of TVM's
//! `primitive/read_write_at.cc`).

use super::analysis::{domains, nth_buffer, scope_root};
use super::buffers::{Replace, named};
use super::loops::serial;
use super::scope::unbound;
use super::state::{BlockRef, Flags, LoopRef, State, put};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{AttrValue, Block, Buffer, DType, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::access::range_of;
use crate::tir::arith::{Analyzer, IntSet, domains_of, eval_region};
use crate::tir::{binary, substitute};

impl State<'_> {
    /// Copies what the body of a loop reads of a buffer, in front of the first reader, or what it writes, behind the last
    /// writer. The copy is marked `auto_copy`: `LowerAutoCopy` spreads it over threads.
    pub(super) fn access_at(&mut self, of: LoopRef, block: BlockRef, index: i64, scope: &str, writes: bool) -> Outcome<BlockRef> {
        let (tree, at) = self.find_block(block)?;
        let source = nth_buffer(&self.block_at(&tree, at)?, index, writes)?;
        let (tree, place) = self.find_loop(of)?;
        let (head, body) = self.head(&tree, place)?;
        let old = self.store.buffer(source).clone();
        let scope_name = self.store.name(scope);
        let name = named(self.store, old.name, scope_name);
        let copy = self.store.add_buffer(Buffer { name, scope: scope_name, ..old });
        let mut parts = self.store.stmts_of(body);
        let (mut regions, mut readers, mut writers) = (Vec::new(), Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            for id in outer_blocks(self, *part) {
                let Some(at) = tree.block(id) else { continue };
                let data = self.block_at(&tree, at)?;
                let has = |regions: &[Region]| regions.iter().any(|region| region.buffer == source);
                readers.extend(Some(number).filter(|_| has(&data.reads)));
                writers.extend(Some(number).filter(|_| has(&data.writes)));
                let iters = domains(self, &tree, tree.nodes[at].parent, Some(place), Some(scope))?;
                let iters = domains_of(self.store, &iters);
                for region in if writes { &data.writes } else { &data.reads } {
                    if region.buffer == source {
                        let ranges = unbound(self, &data, region);
                        regions.push(eval_region(self.store, &ranges, &iters));
                    }
                }
            }
        }
        let (insert, changed) = match writes {
            false => match readers.first() {
                Some(first) if writers.iter().all(|writer| writer < first) => (*first, *first..parts.len()),
                _ => return refuse("InternalError: Check failed: the buffer is written after it is first read in the loop"),
            },
            true => match writers.last() {
                Some(last) if readers.iter().all(|reader| reader <= last) => (last + 1, 0..last + 1),
                _ => return refuse("InternalError: Check failed: the buffer is read after it is last written in the loop"),
            },
        };
        let analyzer = &mut Analyzer::new();
        let mut domain = Vec::new();
        for set in IntSet::union_region(self.store, &regions) {
            let (Some(min), Some(max)) = (set.lower(), set.upper()) else {
                return refuse("InternalError: Check failed: the accessed part of the buffer is not known");
            };
            let min = analyzer.simplify(self.store, min);
            let one = self.store.prim_int(1, self.store.prim_dtype(max));
            let end = binary(self.store, PrimOp::Add, max, one);
            let extent = binary(self.store, PrimOp::Sub, end, min);
            domain.push((min, analyzer.simplify(self.store, extent)));
        }
        let mut replace = Replace { map: vec![(source, copy)], dtype: None, matched: false };
        for part in &mut parts[changed] {
            *part = self.replace_buffers(*part, &mut replace);
        }
        let (from, to) = if writes { (copy, source) } else { (source, copy) };
        let (stage, made) = self.copy_block((from, to), name, &tree, place, &domain)?;
        let affine = !self.store.prim_block(made).iters.is_empty();
        parts.insert(insert, stage);
        let body = self.store.add_stmts(&parts);
        let new = self.store.rebuild_stmt(tree.nodes[place].stmt, Stmt::For(head, body));

        let root = scope_root(self, &tree, place, true)?;
        let stmt = tree.nodes[root].stmt;
        let Some(over) = put(self.store, stmt, tree.nodes[place].stmt, new) else {
            return refuse("InternalError: the loop is not in its scope");
        };
        let Stmt::Block(outer) = *self.store.stmt(over) else { return refuse("InternalError: the scope is no block") };
        let mut outer = self.store.prim_block(outer).clone();
        outer.allocs = outer.allocs.iter().copied().chain([copy]).collect();
        let outer = self.rebuilt_block(stmt, outer);
        self.replace(stmt, outer, &[], &[made])?;
        self.set_flags(made, Flags { affine, covered: true, stages: true });
        Ok(self.block_ref(made))
    }

    /// The block that copies a part of a buffer, with a variable for each loop that the part depends on.
    fn copy_block(
        &mut self,
        (from, to): (Id<Buffer>, Id<Buffer>),
        name: Id<crate::ir::Name>,
        tree: &Tree,
        place: usize,
        domain: &[(PrimId, PrimId)],
    ) -> Outcome<(StmtId, Id<Block>)> {
        let mut known = Vec::new();
        let mut at = Some(place);
        while let Some(here) = at.filter(|at| tree.is_loop(*at)) {
            known.push(self.head(tree, here)?.0);
            at = tree.nodes[here].parent;
        }
        let mut iters: Vec<IterVar> = Vec::new();
        let mut bound: Vec<(Id<Symbol>, PrimId)> = Vec::new();
        let mut strange = false;
        let mut own = Vec::new();
        for (min, extent) in domain {
            let [min, extent] = [*min, *extent].map(|end| {
                substitute(self.store, end, &mut |store, symbol| {
                    if let Some((_, var)) = bound.iter().find(|(known, _)| *known == symbol) {
                        return Some(*var);
                    }
                    let Some(head) = known.iter().find(|head| head.var == symbol) else {
                        strange = true;
                        return None;
                    };
                    let name = store.name(&format!("v{}", iters.len()));
                    let var = store.add_symbol(Symbol { name, ..store.symbol(symbol).clone() });
                    let prim = store.prim(PrimExpr::Var(var));
                    let value = Some(store.prim(PrimExpr::Var(symbol)));
                    bound.push((symbol, prim));
                    iters.push(IterVar { var, kind: IterKind::Spatial, min: head.min, extent: head.extent, value });
                    Some(prim)
                })
            });
            own.push((min, extent));
        }
        if strange {
            return refuse("IndexError: the accessed part depends on a variable that is no loop around");
        }
        let mut loops = Vec::new();
        let mut indices = Vec::new();
        for (axis, (min, extent)) in own.iter().enumerate() {
            let (var, prim) = self.var(&format!("ax{axis}"), DType::I32);
            loops.push((var, *extent));
            indices.push(binary(self.store, PrimOp::Add, *min, prim));
        }
        let indices: Box<[PrimId]> = indices.into();
        let value = self.store.prim(PrimExpr::Load { buffer: from, indices: indices.clone() });
        let mut body = self.store.add_stmt(Stmt::Store { buffer: to, indices, value });
        for (var, extent) in loops.into_iter().rev() {
            body = serial(self.store, var, extent, body);
        }
        let ranges: Box<[_]> = own.iter().map(|(min, extent)| range_of(self.store, *min, *extent)).collect();
        let annotations = Some(self.store.with_attr(None, "auto_copy", AttrValue::Bool(true)));
        let made = self.store.add_prim_block(Block {
            iters: iters.into(),
            reads: [Region { buffer: from, ranges: ranges.clone() }].into(),
            writes: [Region { buffer: to, ranges }].into(),
            annotations,
            ..Block::around(name, body)
        });
        Ok((self.store.add_stmt(Stmt::Block(made)), made))
    }
}

/// The blocks of a statement that stand in no other block of it.
fn outer_blocks(state: &State<'_>, root: StmtId) -> Vec<Id<Block>> {
    let tree = Tree::new(state.store, root);
    let outer = (0..tree.nodes.len()).filter(|at| tree.scope(*at).is_none());
    outer.filter_map(|at| tree.as_block(at)).collect()
}
