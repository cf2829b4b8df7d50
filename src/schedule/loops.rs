//! Loops split, fused, reordered, merged and added (TVM's `primitive/loop_transformation.cc`).

use super::analysis::{check_partial_affine, check_starts_at_zero, uses_any};
use super::state::{BlockRef, LoopRef, State};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{Block, DType, DTypeCode, For, ForKind, Id, IterKind, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::iter::{Level, simplify_iter_map};
use crate::tir::arith::{Analyzer, Strength};
use crate::tir::{binary, cast, substitute_stmt};

pub(super) const ANNOTATED: &str =
    "ScheduleError: The primitive can't be applied because the loop has annotation or thread binding";

/// Makes a loop that an instruction has made.
pub(super) fn serial(store: &mut Store, var: Id<Symbol>, extent: PrimId, body: StmtId) -> StmtId {
    let dtype = store.symbol(var).dtype;
    let min = store.prim_int(0, dtype);
    let extent = match store.as_prim_int(extent) {
        Some(value) => store.prim_int(value, dtype),
        None => extent,
    };
    let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None };
    store.add_stmt(Stmt::For(head, body))
}

pub(super) fn is_plain(store: &Store, head: &For) -> bool {
    let empty = head.annotations.is_none_or(|attrs| store.attrs_of_id(attrs).fields.is_empty());
    empty && !matches!(head.kind, ForKind::Thread(_))
}

/// Makes `predicate and cond`, where no predicate means always.
pub(super) fn also(store: &mut Store, predicate: Option<PrimId>, cond: PrimId) -> Option<PrimId> {
    let both = match predicate {
        None => cond,
        Some(predicate) => binary(store, PrimOp::And, predicate, cond),
    };
    Some(both).filter(|both| store.as_prim_int(*both) != Some(1))
}

/// Changes each block of a statement that stands in no other block of it.
fn on_outer_blocks(store: &mut Store, root: StmtId, f: &mut dyn FnMut(&mut Store, &mut Block)) -> StmtId {
    let stmt = match store.stmt(root).clone() {
        Stmt::Block(block) => {
            let old = store.prim_block(block).clone();
            let mut new = old.clone();
            f(store, &mut new);
            if new == old {
                return root;
            }
            Stmt::Block(store.add_prim_block(new))
        }
        Stmt::Seq(list) => {
            let stmts: Vec<StmtId> = store.items(list).collect();
            let stmts: Vec<StmtId> = stmts.into_iter().map(|stmt| on_outer_blocks(store, stmt, f)).collect();
            return store.flat_seq(Some(root), &stmts);
        }
        Stmt::For(head, body) => Stmt::For(head, on_outer_blocks(store, body, f)),
        Stmt::If { cond, then, other } => {
            let then = on_outer_blocks(store, then, f);
            Stmt::If { cond, then, other: other.map(|other| on_outer_blocks(store, other, f)) }
        }
        Stmt::While { cond, body } => Stmt::While { cond, body: on_outer_blocks(store, body, f) },
        Stmt::Attr { node, key, value, body } => Stmt::Attr { node, key, value, body: on_outer_blocks(store, body, f) },
        _ => return root,
    };
    store.rebuild_stmt(root, stmt)
}

/// Bindings of blocks written most simply, given the loops around.
pub(super) struct Bindings {
    /// Loops around with their ranges.
    pub iters: Vec<(Id<Symbol>, (PrimId, PrimId))>,
    /// True if loops of one iteration stay in bindings.
    pub keep_unit: bool,
}

impl Bindings {
    /// Simplifies the bindings in a statement.
    pub fn simplify(&mut self, store: &mut Store, root: StmtId) -> StmtId {
        let stmt = match store.stmt(root).clone() {
            Stmt::For(head, body) => {
                self.iters.push((head.var, (head.min, head.extent)));
                let body = self.simplify(store, body);
                self.iters.pop();
                Stmt::For(head, body)
            }
            Stmt::Block(block) => {
                let mut data = store.prim_block(block).clone();
                if data.iters.is_empty() {
                    data.body = self.simplify(store, data.body);
                } else {
                    let values: Vec<PrimId> = data.iters.iter().filter_map(|iter| iter.value).collect();
                    if values.len() != data.iters.len() {
                        return root;
                    }
                    let analyzer = &mut Analyzer::new();
                    let level = Level::Surjective;
                    let simple = simplify_iter_map(store, analyzer, &values, &self.iters, data.predicate, level, !self.keep_unit);
                    for (iter, value) in data.iters.iter_mut().zip(simple) {
                        iter.value = Some(value);
                    }
                }
                if data == *store.prim_block(block) {
                    return root;
                }
                Stmt::Block(store.add_prim_block(data))
            }
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(list).collect();
                let stmts: Vec<StmtId> = stmts.into_iter().map(|stmt| self.simplify(store, stmt)).collect();
                return store.flat_seq(Some(root), &stmts);
            }
            Stmt::If { cond, then, other } => {
                let then = self.simplify(store, then);
                Stmt::If { cond, then, other: other.map(|other| self.simplify(store, other)) }
            }
            Stmt::While { cond, body } => Stmt::While { cond, body: self.simplify(store, body) },
            Stmt::Attr { node, key, value, body } => Stmt::Attr { node, key, value, body: self.simplify(store, body) },
            _ => return root,
        };
        store.rebuild_stmt(root, stmt)
    }
}

impl State<'_> {
    /// Returns the loops around a node with their ranges.
    pub(super) fn ranges_above(&self, tree: &Tree, at: usize) -> Outcome<Vec<(Id<Symbol>, (PrimId, PrimId))>> {
        let mut ranges = Vec::new();
        for at in tree.loops_above(at) {
            let (head, _) = self.head(tree, at)?;
            ranges.push((head.var, (head.min, head.extent)));
        }
        Ok(ranges)
    }

    /// Splits a loop into several, the outermost first; one factor may be omitted.
    pub(super) fn split(
        &mut self,
        of: LoopRef,
        factors: &[Option<PrimId>],
        keep_unit: bool,
        no_predicate: bool,
    ) -> Outcome<Vec<LoopRef>> {
        let (tree, at) = self.find_loop(of)?;
        let (head, body) = self.head(&tree, at)?;
        let factors = self.split_factors(&head, factors)?;
        if !is_plain(self.store, &head) {
            return refuse(ANNOTATED);
        }
        let analyzer = &mut Analyzer::new();
        check_starts_at_zero(self.store, &head, analyzer)?;
        let own = self.store.symbol(head.var).dtype;
        let bits = factors.iter().map(|factor| self.store.prim_dtype(*factor).bits).fold(own.bits, u8::max);
        let dtype = DType::new(DTypeCode::Int, bits);
        let mut value = self.store.prim_int(0, dtype);
        let name = self.name_of(head.var);
        let mut vars = Vec::new();
        for (place, factor) in factors.iter().enumerate() {
            let (var, prim) = self.var(&format!("{name}_{place}"), dtype);
            let scaled = binary(self.store, PrimOp::Mul, value, *factor);
            value = binary(self.store, PrimOp::Add, scaled, prim);
            let (zero, extent) = (self.store.prim_int(0, dtype), cast(self.store, dtype, *factor));
            analyzer.bind_range(self.store, var, zero, extent);
            vars.push(var);
        }
        let converted = cast(self.store, own, value);
        let mut new = substitute_stmt(self.store, body, &[(head.var, converted)]);
        let within = binary(self.store, PrimOp::Lt, value, head.extent);
        if !no_predicate && !analyzer.can_prove_with(self.store, within, Strength::SymbolicBound) {
            new = on_outer_blocks(self.store, new, &mut |store, block| {
                block.predicate = also(store, block.predicate, within);
            });
        }
        for (var, factor) in vars.iter().zip(&factors).rev() {
            new = serial(self.store, *var, *factor, new);
        }
        let iters = self.ranges_above(&tree, at)?;
        let new = Bindings { iters, keep_unit }.simplify(self.store, new);
        self.replace(tree.nodes[at].stmt, new, &[], &[])?;
        Ok(vars.into_iter().map(|var| self.loop_ref(var)).collect())
    }

    fn split_factors(&mut self, head: &For, factors: &[Option<PrimId>]) -> Outcome<Vec<PrimId>> {
        let one = self.store.prim_int(1, DType::I32);
        let mut total = one;
        let mut found = Vec::new();
        let mut open = None;
        for (place, factor) in factors.iter().enumerate() {
            let known = factor.filter(|factor| self.store.as_prim_int(*factor) != Some(-1));
            match known {
                None if open.is_some() => return refuse("ScheduleError: only one factor can be specified as -1 or none"),
                None => {
                    open = Some(place);
                    found.push(one);
                }
                Some(factor) => {
                    if self.store.as_prim_int(factor).is_some_and(|value| value <= 0) {
                        return refuse("ScheduleError: All the constant factors are required to be positive.");
                    }
                    let extent = self.store.prim_dtype(head.extent);
                    let mut factor = factor;
                    if self.store.prim_dtype(factor).bits > self.store.symbol(head.var).dtype.bits {
                        factor = cast(self.store, extent, factor);
                    }
                    found.push(factor);
                    total = binary(self.store, PrimOp::Mul, total, factor);
                }
            }
        }
        let analyzer = &mut Analyzer::new();
        match open {
            Some(place) => {
                let sum = binary(self.store, PrimOp::Add, head.extent, total);
                let less = binary(self.store, PrimOp::Sub, sum, one);
                let rest = binary(self.store, PrimOp::FloorDiv, less, total);
                found[place] = analyzer.simplify(self.store, rest);
            }
            None => {
                let enough = binary(self.store, PrimOp::Ge, total, head.extent);
                if !analyzer.can_prove(self.store, enough) {
                    return refuse("ScheduleError: The product of factors is not larger than or equal to the extent of loop");
                }
            }
        }
        Ok(found)
    }

    /// Fuses loops that stand directly in each other.
    pub(super) fn fuse(&mut self, loops: &[LoopRef], keep_unit: bool) -> Outcome<LoopRef> {
        let Some(first) = loops.first() else { return refuse("ValueError: 'fuse' requires at least 1 loop(s)") };
        let (tree, top) = self.find_loop(*first)?;
        let analyzer = &mut Analyzer::new();
        let mut heads: Vec<(For, StmtId)> = Vec::new();
        let mut last: Option<usize> = None;
        for of in loops {
            let Some(at) = tree.loop_of(of.var) else { return refuse("ValueError: the loop does not exist any more") };
            let (head, body) = self.head(&tree, at)?;
            if !is_plain(self.store, &head) {
                return refuse(ANNOTATED);
            }
            if let Some(outer) = last {
                if tree.nodes[at].parent != Some(outer) {
                    return refuse("ScheduleError: The outer loop is not the parent of the inner loop");
                }
                if heads.last().is_some_and(|(_, body)| *body != tree.nodes[at].stmt) {
                    return refuse("ScheduleError: The inner loop is not the only child of outer loop");
                }
            }
            last = Some(at);
            check_starts_at_zero(self.store, &head, analyzer)?;
            let outer: Vec<Id<Symbol>> = heads.iter().map(|(head, _)| head.var).collect();
            if uses_any(self.store, head.extent, &outer) {
                return refuse("ScheduleError: A loop's `extent` is dependent on another loop");
            }
            heads.push((head, body));
        }
        let mut name = self.name_of(heads[0].0.var);
        for (head, _) in &heads[1..] {
            name += "_";
            name += &self.name_of(head.var);
        }
        name += "_fused";
        let bits = heads.iter().map(|(head, _)| self.store.symbol(head.var).dtype.bits).fold(0, u8::max);
        let (fused, prim) = self.var(&name, DType::new(DTypeCode::Int, bits));
        let one = self.store.prim_int(1, DType::I32);
        let zero = self.store.prim_int(0, DType::I32);
        let mut lower = one;
        let mut values = Vec::new();
        for (place, (head, _)) in heads.iter().enumerate().rev() {
            let unit = self.store.as_prim_int(head.extent) == Some(1);
            let product = binary(self.store, PrimOp::Mul, head.extent, lower);
            let next = analyzer.canonical_simplify(self.store, product);
            let mut value = match place {
                0 => prim,
                _ => binary(self.store, PrimOp::FloorMod, prim, next),
            };
            value = if unit { zero } else { binary(self.store, PrimOp::FloorDiv, value, lower) };
            values.push((head.var, cast(self.store, self.store.symbol(head.var).dtype, value)));
            lower = next;
        }
        let mut extent = one;
        for (head, _) in &heads {
            extent = binary(self.store, PrimOp::Mul, extent, head.extent);
        }
        let extent = analyzer.simplify(self.store, extent);
        let body = heads[heads.len() - 1].1;
        let new = substitute_stmt(self.store, body, &values);
        let new = serial(self.store, fused, extent, new);
        let iters = self.ranges_above(&tree, top)?;
        let new = Bindings { iters, keep_unit }.simplify(self.store, new);
        self.replace(tree.nodes[top].stmt, new, &[], &[])?;
        Ok(self.loop_ref(fused))
    }

    /// Reorders loops of a chain: the named ones come in the order in which they are named.
    pub(super) fn reorder(&mut self, loops: &[LoopRef]) -> Outcome<()> {
        let [first, _, ..] = loops else { return Ok(()) };
        let (tree, _) = self.find_loop(*first)?;
        let mut places = Vec::new();
        for of in loops {
            let Some(at) = tree.loop_of(of.var) else { return refuse("ValueError: the loop does not exist any more") };
            if places.contains(&at) {
                return refuse("ScheduleError: Some loop appears in the input array for multiple times.");
            }
            places.push(at);
        }
        const NO_CHAIN: &str = "ScheduleError: the loops are not in a chain";
        // All stand on the path from the innermost of them to the block around.
        let (Some(&bottom), Some(&top)) = (places.iter().max(), places.iter().min()) else { return Ok(()) };
        let mut chain = vec![bottom];
        chain.extend(tree.loops_above(bottom).into_iter().rev().take_while(|at| *at >= top));
        if !places.iter().all(|at| chain.contains(at)) {
            return refuse(NO_CHAIN);
        }
        for pair in chain.windows(2) {
            if self.head(&tree, pair[1])?.1 != tree.nodes[pair[0]].stmt {
                return refuse(NO_CHAIN);
            }
        }
        for at in bottom..tree.nodes[bottom].end {
            let Some(block) = tree.as_block(at) else { continue };
            let data = self.store.prim_block(block).clone();
            if !data.iters.iter().all(|iter| matches!(iter.kind, IterKind::Spatial | IterKind::Reduce)) {
                return refuse(
                    "ScheduleError: The block under the loops to be reordered have block iter type other than data-parallel or \
                     reduction",
                );
            }
            if !data.iters.is_empty() {
                check_partial_affine(self, &tree, at, tree.nodes[top].parent)?;
            }
        }
        let mut inner: Vec<Id<Symbol>> = Vec::new();
        let mut order: Vec<usize> = places.clone();
        let mut new: Option<StmtId> = None;
        for at in chain {
            let from = if places.contains(&at) { order.pop().unwrap_or(at) } else { at };
            let (head, _) = self.head(&tree, from)?;
            if uses_any(self.store, head.min, &inner) || uses_any(self.store, head.extent, &inner) {
                return refuse("ScheduleError: An outer loop's `min` or `extent` is dependent on an inner loop in the new order");
            }
            inner.push(head.var);
            let body = match new {
                Some(body) => body,
                None => self.head(&tree, at)?.1,
            };
            new = Some(self.store.rebuild_stmt(tree.nodes[from].stmt, Stmt::For(head, body)));
        }
        match new {
            Some(new) => self.replace(tree.nodes[top].stmt, new, &[], &[]),
            None => Ok(()),
        }
    }

    /// Makes a loop of one iteration around a block or a loop.
    pub(super) fn add_unit_loop(&mut self, of: Result<BlockRef, LoopRef>) -> Outcome<LoopRef> {
        let (tree, at) = match of {
            Ok(block) => self.find_block(block)?,
            Err(of) => self.find_loop(of)?,
        };
        if tree.nodes[at].parent.is_none() {
            return refuse("ValueError: Cannot add loops on top of the root block");
        }
        let (var, _) = self.var("u", DType::I32);
        let one = self.store.prim_int(1, DType::I32);
        let stmt = tree.nodes[at].stmt;
        let new = serial(self.store, var, one, stmt);
        self.replace(stmt, new, &[], &[])?;
        Ok(self.loop_ref(var))
    }
}
