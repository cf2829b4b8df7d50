//! A padding as two blocks: one fills the buffer with a constant, the other one copies what is inside (`decompose_padding`
//! of TVM's `primitive/decompose_padding.cc`).

use super::analysis::{check_complete, scope_root};
use super::scope::consumers;
use super::state::{BlockRef, Flags, LoopRef, State};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{
    Block, DType, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store, Symbol,
};
use crate::tir::access::{extent_of, range_of};
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Level, detect_iter_map};
use crate::tir::effect::{Effect, effect};
use crate::tir::{binary, substitute};

/// A padding: where the value is, and what stands elsewhere.
struct Padding {
    /// Begin and extent of each variable of the block in which the value is inside.
    inside: Vec<(PrimId, PrimId)>,
    value: PrimId,
    /// The condition in terms of the loops.
    holds: PrimId,
    constant: PrimId,
}

type Values = Vec<(Id<Symbol>, PrimId)>;

fn replaced(store: &mut Store, analyzer: &mut Analyzer, expr: PrimId, values: &Values) -> PrimId {
    let new = substitute(store, expr, &mut |_, symbol| {
        values.iter().rev().find(|(known, _)| *known == symbol).map(|(_, value)| *value)
    });
    analyzer.simplify(store, new)
}

fn region(store: &mut Store, analyzer: &mut Analyzer, of: &Region, values: &Values) -> Region {
    let mut ranges = Vec::new();
    for range in &of.ranges {
        let extent = extent_of(store, *range);
        let (min, extent) = (replaced(store, analyzer, range.0, values), replaced(store, analyzer, extent, values));
        ranges.push(range_of(store, min, extent));
    }
    Region { buffer: of.buffer, ranges: ranges.into() }
}

impl State<'_> {
    /// The padding that a block does.
    fn padding(&mut self, data: &Block, loops: &[For], analyzer: &mut Analyzer) -> Outcome<Padding> {
        let wrong =
            |why: &str| refuse(format!("ScheduleError: decompose_padding expect the block to match padding pattern\n  {why}"));
        let Stmt::Store { value, .. } = *self.store.stmt(data.body) else {
            return wrong("Block body expect a BufferStore to the write buffer");
        };
        let choice = match self.store.prim_of_id(value) {
            PrimExpr::Call { op, args, .. } if self.store.str(*op) == "if_then_else" => args.clone(),
            _ => return wrong("Value of BufferStore expect to be constrained by a padding predicate"),
        };
        let &[cond, value, constant] = &choice[..] else { return wrong("Value of BufferStore is no choice") };
        if !matches!(self.store.prim_of_id(constant), PrimExpr::Int { .. } | PrimExpr::Float { .. }) {
            return wrong("Pad value should be constant");
        }
        if effect(self.store, value) > Effect::Reads {
            return wrong("Inbound computation should not have side-effect");
        }
        let bound: Values = data.iters.iter().filter_map(|iter| Some((iter.var, iter.value?))).collect();
        let cond =
            substitute(self.store, cond, &mut |_, symbol| bound.iter().find(|(var, _)| *var == symbol).map(|(_, value)| *value));
        let mut holds = self.store.prim_int(1, DType::BOOL);
        let mut todo: Vec<PrimId> = data.predicate.into_iter().chain([cond]).collect();
        while let Some(part) = todo.pop() {
            let part = match self.store.prim_of_id(part) {
                PrimExpr::Binary { op: PrimOp::And, a, b } => {
                    todo.extend([*b, *a]);
                    continue;
                }
                PrimExpr::Call { op, args, .. } if self.store.str(*op) == "likely" => args[0],
                _ => part,
            };
            holds = binary(self.store, PrimOp::And, holds, part);
        }
        let holds = analyzer.simplify(self.store, holds);
        if self.store.as_prim_int(holds) == Some(1) {
            return wrong("The in-bound predicate is trivial");
        }
        let values: Vec<PrimId> = data.iters.iter().filter_map(|iter| iter.value).collect();
        let ranges: Vec<_> = loops.iter().map(|head| (head.var, (head.min, head.extent))).collect();
        let map = match detect_iter_map(self.store, analyzer, &values, &ranges, Some(holds), Level::Surjective, true) {
            Ok(map) if !map.indices.is_empty() => map,
            _ => return wrong("Block iters are not independent wrt padding condition"),
        };
        let mut inside = Vec::new();
        for sum in &map.indices {
            let one = self.store.prim_int(1, self.store.prim_dtype(sum.base));
            inside.push(match &sum.args[..] {
                [] => (sum.base, one),
                [split] if self.store.as_prim_int(split.scale) == Some(1) => (sum.base, split.extent),
                _ => return wrong("Strided iteration is not supported"),
            });
        }
        Ok(Padding { inside, value, holds, constant })
    }

    /// Fills a buffer with a constant above a loop, so that the block only copies what is inside; the block that fills.
    pub(super) fn decompose_padding(&mut self, of: BlockRef, above: LoopRef) -> Outcome<BlockRef> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let root = scope_root(self, &tree, at, false)?;
        check_complete(self, &tree, at, root)?;
        let (_, place) = self.find_loop(above)?;
        let analyzer = &mut Analyzer::new();
        let places: Vec<usize> = tree.loops_above(at).into_iter().rev().collect();
        let mut loops: Vec<For> = Vec::new();
        let mut single = true;
        // Counts the loops from the innermost one out that have nothing but the block in them.
        let mut inner_count = 0;
        for &here in &places {
            let (head, body) = self.head(&tree, here)?;
            analyzer.bind_range(self.store, head.var, head.min, head.extent);
            loops.push(head);
            let chain = matches!(self.store.stmt(body), Stmt::For(..) | Stmt::Block(_));
            single &= here == place || chain;
            inner_count += usize::from(single);
            single &= here != place;
        }
        if !places.contains(&place) {
            return refuse("ScheduleError: decompose_padding expect the loop to be an ancestor of block");
        }
        if inner_count == 0 {
            return refuse("InternalError: Check failed: the innermost loop has more than the block in it");
        }
        let outer_count = places.iter().position(|here| *here == place).map_or(0, |at| at + 1);
        let info = self.padding(&data, &loops, analyzer)?;
        let (fill, filler) = self.filling(&data, &info, &loops[..outer_count], analyzer)?;
        let (copy, copier) = self.copying(&data, &info, &loops[..inner_count], analyzer, &tree, &places)?;
        // The copy takes the place of the inner loops, and what fills stands in front of the outer ones.
        let old = tree.nodes[place].stmt;
        let inner = tree.nodes[places[inner_count - 1]].stmt;
        let Some(rest) = super::state::put(self.store, old, inner, copy) else {
            return refuse("InternalError: a loop is not where it was");
        };
        let new = self.store.add_stmts(&[fill, rest]);
        let Some(own) = tree.as_block(at) else { return refuse("InternalError: a block is no block") };
        // TVM drops whatever else stands under the loop, if that is where the copy goes.
        let gone = blocks_in(self.store, inner);
        self.replace(old, new, &gone, &[filler, copier])?;
        self.rename(&[own], &[copier]);
        self.set_flags(filler, Flags { affine: true, covered: true, stages: true });
        self.uncover(copier, filler)?;
        Ok(self.block_ref(filler))
    }

    /// The loops that fill with the constant.
    fn filling(&mut self, data: &Block, info: &Padding, loops: &[For], analyzer: &mut Analyzer) -> Outcome<(StmtId, Id<Block>)> {
        let mut values = Values::new();
        let mut iters = Vec::new();
        for iter in &data.iters {
            let (name, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&name, dtype);
            values.push((iter.var, prim));
            iters.push(IterVar { var, kind: IterKind::Spatial, ..iter.clone() });
        }
        let [write] = &data.writes[..] else {
            return refuse("InternalError: Check failed: the block writes more than one buffer");
        };
        let write = region(self.store, analyzer, write, &values);
        let Stmt::Store { buffer, ref indices, .. } = *self.store.stmt(data.body) else {
            return refuse("InternalError: the block does not write");
        };
        let indices = indices.clone();
        let indices = indices.iter().map(|index| replaced(self.store, analyzer, *index, &values)).collect();
        let body = self.store.add_stmt(Stmt::Store { buffer, indices, value: info.constant });
        let mut heads = Vec::new();
        for head in loops {
            let (name, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
            let (var, prim) = self.var(&name, dtype);
            values.push((head.var, prim));
            heads.push(For { var, kind: ForKind::Serial, annotations: None, step: None, ..*head });
        }
        for iter in &mut iters {
            iter.value = iter.value.map(|value| replaced(self.store, analyzer, value, &values));
        }
        let predicate = data.predicate.map(|cond| replaced(self.store, analyzer, cond, &values));
        let predicate = predicate.filter(|cond| self.store.as_prim_int(*cond) != Some(1));
        let name = format!("{}_pad_const", self.store.str(data.name));
        let name = self.store.name(&name);
        let block = Block { iters: iters.into(), predicate, writes: [write].into(), ..Block::around(name, body) };
        let made = self.store.add_prim_block(block);
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for head in heads {
            stmt = self.store.add_stmt(Stmt::For(head, stmt));
        }
        Ok((stmt, made))
    }

    /// The loops over what is inside. A loop that a variable of the block is bound to runs only there.
    fn copying(
        &mut self,
        data: &Block,
        info: &Padding,
        loops: &[For],
        analyzer: &mut Analyzer,
        tree: &Tree,
        places: &[usize],
    ) -> Outcome<(StmtId, Id<Block>)> {
        let mut values = Values::new();
        let mut heads = loops.to_vec();
        let mut iters = Vec::new();
        for (iter, (min, extent)) in data.iters.iter().zip(&info.inside) {
            let (name, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&name, dtype);
            let zero = self.store.prim_int(0, dtype);
            let moved = binary(self.store, PrimOp::Add, prim, *min);
            values.push((iter.var, moved));
            let Some(value) = iter.value else { return refuse("InternalError: a block without bindings") };
            let bound = match *self.store.prim_of_id(value) {
                PrimExpr::Var(var) => heads.iter().position(|head| head.var == var),
                _ => None,
            };
            let value = match bound {
                Some(place) => {
                    let loop_var = heads[place].var;
                    (heads[place].min, heads[place].extent) = (zero, *extent);
                    let moved = binary(self.store, PrimOp::Add, value, *min);
                    values.push((loop_var, moved));
                    analyzer.bind_range(self.store, loop_var, zero, *extent);
                    value
                }
                None => {
                    let less = binary(self.store, PrimOp::Sub, value, *min);
                    analyzer.simplify(self.store, less)
                }
            };
            iters.push(IterVar { var, kind: IterKind::Spatial, min: zero, extent: *extent, value: Some(value) });
        }
        let reads = data.reads.iter().map(|of| region(self.store, analyzer, of, &values)).collect();
        let writes = data.writes.iter().map(|of| region(self.store, analyzer, of, &values)).collect();
        let Stmt::Store { buffer, ref indices, .. } = *self.store.stmt(data.body) else {
            return refuse("InternalError: the block does not write");
        };
        let indices = indices.clone();
        let value = replaced(self.store, analyzer, info.value, &values);
        let indices = indices.iter().map(|index| replaced(self.store, analyzer, *index, &values)).collect();
        let body = self.store.add_stmt(Stmt::Store { buffer, indices, value });
        let predicate = Some(replaced(self.store, analyzer, info.holds, &values));
        let predicate = predicate.filter(|cond| self.store.as_prim_int(*cond) != Some(1));
        let block = Block { iters: iters.into(), predicate, reads, writes, ..Block::around(data.name, body) };
        let made = self.store.add_prim_block(block);
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for (head, place) in heads.into_iter().zip(places) {
            stmt = self.store.rebuild_stmt(tree.nodes[*place].stmt, Stmt::For(head, stmt));
        }
        Ok((stmt, made))
    }

    /// Marks the readers of the copy as not covered if the block that fills stands further out than both.
    fn uncover(&mut self, copier: Id<Block>, filler: Id<Block>) -> Outcome<()> {
        let tree = self.tree()?;
        let (Some(at), Some(filler)) = (tree.block(copier), tree.block(filler)) else { return Ok(()) };
        let root = scope_root(self, &tree, at, false)?;
        let mut broken = false;
        for consumer in consumers(self, &tree, root, at)? {
            let common = std::iter::once(consumer).chain(tree.ancestors(consumer)).find(|above| tree.is_under(at, *above));
            if common.is_some_and(|common| tree.ancestors(filler).any(|above| above == common)) {
                continue;
            }
            broken = true;
            let flags = Flags { covered: false, ..self.flags_of(&tree, consumer)? };
            if let Some(block) = tree.as_block(consumer) {
                self.set_flags(block, flags);
            }
        }
        if broken && let Some(block) = tree.as_block(root) {
            let flags = Flags { stages: false, ..self.flags_of(&tree, root)? };
            self.set_flags(block, flags);
        }
        Ok(())
    }
}
