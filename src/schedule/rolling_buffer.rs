//! Buffers in which a window moves along an axis (TVM's `primitive/rolling_buffer.cc`).

use super::analysis::{check_not_output, nth_buffer, scope_root};
use super::scope::{Dependency, consumers, dependencies, unbound};
use super::state::{BlockRef, State};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, Id, IterKind, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::access::block_reads_and_writes;
use crate::tir::arith::{Analyzer, IntSet, domains_of, eval_region, eval_set};
use crate::tir::{Rewriting, StmtMutator, binary};

/// Makes accesses of a buffer go round along an axis.
struct Rolling {
    old: Id<Buffer>,
    new: Id<Buffer>,
    axis: usize,
    extent: PrimId,
    scope: Id<Block>,
    /// For each axis the loop that moves the window, and by how much windows overlap.
    windows: Vec<Option<(Id<Symbol>, i64)>>,
    /// True if the block under way stores into the buffer.
    stored: bool,
    lost: bool,
}

impl Rolling {
    fn round(&self, store: &mut Store, indices: &[PrimId]) -> Box<[PrimId]> {
        let mut indices: Box<[PrimId]> = indices.into();
        if let Some(index) = indices.get_mut(self.axis) {
            *index = binary(store, PrimOp::FloorMod, *index, self.extent);
        }
        indices
    }

    fn block(&mut self, store: &mut Store, block: &mut Block) {
        let kept = block.clone();
        if let Some(iter) = block.iters.get_mut(self.axis) {
            iter.kind = IterKind::Opaque;
        }
        let (reads, writes) = block_reads_and_writes(store, &kept, &|buffer| buffer == self.new);
        for (regions, found) in [(&mut block.reads, reads), (&mut block.writes, writes)] {
            for region in regions.iter_mut().filter(|region| region.buffer == self.old) {
                match &found[..] {
                    [only] => *region = only.clone(),
                    _ => self.lost = true,
                }
            }
        }
        if !std::mem::take(&mut self.stored) {
            return;
        }
        // Elements of the window before are not computed again.
        for (window, iter) in self.windows.iter().zip(&kept.iters) {
            let (Some((var, overlap)), Some(value)) = (window, iter.value) else { continue };
            let dtype = store.symbol(*var).dtype;
            let zero = store.prim_int(0, dtype);
            let Some(inner) = eval_set(store, value, &[(*var, IntSet::between(zero, zero))].into_iter().collect()).lower() else {
                continue;
            };
            let (one, many) = (store.prim_int(1, dtype), store.prim_int(*overlap, store.prim_dtype(inner)));
            let prim = store.prim(PrimExpr::Var(*var));
            let first = binary(store, PrimOp::Lt, prim, one);
            let fresh = binary(store, PrimOp::Ge, inner, many);
            let either = binary(store, PrimOp::Or, first, fresh);
            let always = store.prim_int(1, DType::BOOL);
            let all = binary(store, PrimOp::And, block.predicate.unwrap_or(always), either);
            let all = Analyzer::new().simplify(store, all);
            block.predicate = Some(all).filter(|all| store.as_prim_int(*all) != Some(1));
        }
    }
}

impl StmtMutator for Rolling {
    fn rule(&self) -> &'static str {
        "buffer rolls"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Store { buffer, indices, value } if buffer == self.old => {
                let value = cx.root(self, value);
                let indices = cx.roots(self, &indices);
                let indices = self.round(cx.store, &indices);
                self.stored = true;
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: self.new, indices, value }))
            }
            Stmt::Block(own) => {
                let new = cx.descend(self, id);
                let Stmt::Block(inner) = *cx.store.stmt(new) else { return Some(new) };
                let mut block = cx.store.prim_block(inner).clone();
                match own == self.scope {
                    true => {
                        let over = |buffer: &Id<Buffer>| if *buffer == self.old { self.new } else { *buffer };
                        block.allocs = block.allocs.iter().map(over).collect();
                    }
                    false => self.block(cx.store, &mut block),
                }
                let block = cx.store.add_prim_block(block);
                Some(cx.store.rebuild_stmt(id, Stmt::Block(block)))
            }
            _ => None,
        }
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match cx.store.prim_of_id(post).clone() {
            PrimExpr::Load { buffer, indices } if buffer == self.old => {
                let indices = self.round(cx.store, &indices);
                cx.store.prim(PrimExpr::Load { buffer: self.new, indices })
            }
            _ => post,
        }
    }
}

/// The variable that moves a window, and the step: of `i`, `i * 2`, `i * 2 // 3`. The error is another form; a number moves
/// nothing.
fn moves(store: &Store, min: PrimId) -> Result<Option<(Id<Symbol>, i64)>, ()> {
    let two = |id: PrimId, wanted: PrimOp| match *store.prim_of_id(id) {
        PrimExpr::Binary { op, a, b } if op == wanted => Some((a, store.as_prim_int(b)?)),
        _ => None,
    };
    let var = |id: PrimId| match *store.prim_of_id(id) {
        PrimExpr::Var(var) => Some(var),
        _ => None,
    };
    if let Some((product, divisor)) = two(min, PrimOp::FloorDiv)
        && let Some((of, stride)) = two(product, PrimOp::Mul)
        && let Some(var) = var(of)
    {
        return Ok(Some((var, (stride as f32 / divisor as f32).ceil() as i64)));
    }
    if let Some((of, stride)) = two(min, PrimOp::Mul)
        && let Some(var) = var(of)
    {
        return Ok(Some((var, stride)));
    }
    match (var(min), store.as_prim_int(min)) {
        (Some(var), _) => Ok(Some((var, 1))),
        (None, Some(_)) => Ok(None),
        _ => Err(()),
    }
}

impl State<'_> {
    /// A buffer that is written window by window holds one window only, where windows overlap.
    pub(super) fn rolling_buffer(&mut self, of: BlockRef, index: i64) -> Outcome<()> {
        const MATCH: &str = "ScheduleError: rolling_buffer expect the buffer region to have at least one dimentionmatching the \
                             rolling pattern such as: hh.outer * stride + hh.inner";
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, true)?;
        let root = scope_root(self, &tree, at, false)?;
        check_not_output(self, &tree, at, root)?;
        let around = dependencies(self, &tree, root)?;
        if around.iter().any(|(from, to, kind)| (*from == at || *to == at) && *kind != Dependency::ReadAfterWrite) {
            return refuse("ScheduleError: The target block is required to have only RAW dependencies");
        }
        let users = consumers(self, &tree, root, at)?;
        let common = std::iter::once(at).chain(tree.ancestors(at)).find(|at| users.iter().all(|user| tree.is_under(*user, *at)));
        let Some(common) = common.filter(|common| tree.is_loop(*common)) else {
            return refuse(
                "ScheduleError: rolling_buffer injection is invalid, the lca of the access location of the target buffer is not \
                 a for loop. ",
            );
        };
        let (mut inner, mut loops) = (Vec::new(), Vec::new());
        for above in tree.loops_above(at) {
            let (head, _) = self.head(&tree, above)?;
            loops.push(head.var);
            if above > common {
                inner.push((head.var, (head.min, head.extent)));
            }
        }
        let ranges = unbound(self, &data, &data.writes[index as usize]);
        let domains = domains_of(self.store, &inner);
        let sets = eval_region(self.store, &ranges, &domains);
        let old = self.store.buffer(buffer).clone();
        let mut region = Vec::new();
        let mut windows = Vec::new();
        for (set, size) in sets.iter().zip(&old.shape) {
            let zero = self.store.prim_int(0, self.store.prim_dtype(*size));
            let (min, extent) = set.cover(self.store, (zero, *size));
            let Ok(window) = moves(self.store, min) else { return refuse(MATCH) };
            region.push(extent);
            windows.push(match window {
                None => None,
                Some((var, stride)) => match self.store.as_prim_int(extent) {
                    Some(extent) => Some((var, extent - stride)).filter(|(_, overlap)| *overlap > 0),
                    None => return refuse("TypeError: Expected `IntImm` but got another expression"),
                },
            });
        }
        let moved = |var: &Id<Symbol>| windows.iter().position(|window| window.is_some_and(|(known, _)| known == *var));
        let Some(axis) = loops.iter().find_map(moved) else { return refuse(MATCH) };
        let mut shape = old.shape.clone();
        shape[axis] = region[axis];
        let new = self.store.add_buffer(Buffer { shape, ..old });
        let Some(scope) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        let mut rolling = Rolling { old: buffer, new, axis, extent: region[axis], scope, windows, stored: false, lost: false };
        let stmt = tree.nodes[root].stmt;
        let rewritten = Rewriting::new(self.store).visit(&mut rolling, stmt);
        if rolling.lost {
            return refuse("InternalError: Check failed: infered_access_regions.size() == 1");
        }
        self.replace(stmt, rewritten, &[], &[])?;
        let tree = self.tree()?;
        let at = tree.block(self.block_id(of)).and_then(|at| tree.scope(at));
        at.map_or(Ok(()), |at| self.renew(&tree, at))
    }
}
