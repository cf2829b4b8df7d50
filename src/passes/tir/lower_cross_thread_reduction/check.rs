//! The reductions that threads do together, and what is asked of them.

use super::{Loop, Lower, tag_of};
use crate::ir::{Block, Id, IterKind, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Level, detect_iter_map};
use crate::tir::reducer::{Reduction, reduction_of};

impl Lower {
    /// The loops that a reduction is over, when one of them is bound to threads.
    pub(super) fn reduction_loops(&self, store: &mut Store, block: &Block) -> Vec<Loop> {
        let Some((scope, _)) = self.blocks.last() else { return Vec::new() };
        let body = store.prim_block(*scope).body;
        let known = |kind| matches!(kind, IterKind::Spatial | IterKind::Reduce);
        if block.init.is_none()
            || !block.iters.iter().all(|iter| known(iter.kind))
            || !self.is_affine(store, block)
            || !is_only_writer(store, body, block)
            || indexes_results(store, block)
        {
            return Vec::new();
        }
        let values = block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce).filter_map(|iter| iter.value);
        let vars = vars_of(store, &values.collect::<Vec<_>>());
        let loops: Vec<Loop> = self.loops.iter().filter(|(_, head)| vars.contains(&head.var)).cloned().collect();
        if loops.iter().any(|(_, head)| tag_of(head).is_some()) { loops } else { Vec::new() }
    }

    fn is_affine(&self, store: &mut Store, block: &Block) -> bool {
        if self.ranges.is_empty() {
            return true;
        }
        let values: Vec<PrimId> = block.iters.iter().filter_map(|iter| iter.value).collect();
        let analyzer = &mut Analyzer::new();
        detect_iter_map(store, analyzer, &values, &self.ranges, block.predicate, Level::Surjective, false).is_ok()
    }

    /// Returns the reduction of a block, if threads can do it together.
    pub(super) fn checked(&self, store: &mut Store, id: StmtId, block: &Block, loops: &[Loop]) -> Result<Reduction, String> {
        let name = store.str(block.name).to_owned();
        let deepest = (self.around.iter().rev().skip(1))
            .filter(|stmt| !matches!(store.stmt(**stmt), Stmt::Seq(_)))
            .take_while(|stmt| loops.iter().any(|(id, _)| id == *stmt))
            .count();
        if deepest != loops.len() {
            return Err(format!(
                "Cross-thread reduction requires all the reduction-related loops to be the deepest among all statements outside the \
                 desired block. However, block {name} needs cross-thread reduction, while the reduction-related loops outside of it \
                 are not the deepest statements, which violates the condition."
            ));
        }
        for (_, head) in loops {
            let Some(tag) = tag_of(head).map(|tag| store.str(tag)) else { continue };
            if !tag.starts_with("threadIdx.") {
                return Err(format!(
                    "Cross-thread reduction requires all the reduction-related loops that are bound to GPU thread axes to only be bound \
                     `threadIdx.x/y/z`. However, loop {} violates the condition.",
                    store.str(store.symbol(head.var).name)
                ));
            }
        }
        let reduction = reduction_of(store, block).map_err(|condition| match condition {
            0 => format!("no reducer that TVM knows fits the first values and the updates of block {name}"),
            _ => format!("block {name} is no reduction as TVM asks for it: first values, then one update of each buffer"),
        })?;
        let local = |buffer| store.str(store.buffer(buffer).scope) == "local";
        let all = reduction.buffers.iter().filter(|buffer| local(**buffer)).count();
        if all != 0 && all != reduction.buffers.len() {
            return Err(
                "Cross-thread reduction requires all reduction buffers to be all local or all non-local. However, here some \
                        buffer is local while some buffer is shared or global."
                    .to_owned(),
            );
        }
        let mut blocks = Vec::new();
        blocks_in(store, loops[0].0, &mut blocks);
        if blocks.last() != Some(&id) {
            return Err(
                "Cross-thread reduction cannot be applied when the reduction block isn't the last block under its first \
                        reduction-related loop"
                    .to_owned(),
            );
        }
        Ok(reduction)
    }
}

/// The variables of expressions.
pub(super) fn vars_of(store: &Store, roots: &[PrimId]) -> Vec<Id<Symbol>> {
    let mut vars = Vec::new();
    for root in roots {
        store.for_each_prim(*root, &mut |_, part| {
            if let PrimExpr::Var(var) = part {
                vars.push(*var);
            }
        });
    }
    vars
}

/// The outermost blocks in a statement.
pub(super) fn blocks_in(store: &Store, id: StmtId, found: &mut Vec<StmtId>) {
    if matches!(store.stmt(id), Stmt::Block(_)) {
        found.push(id);
        return;
    }
    let mut inner = Vec::new();
    store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
    for stmt in inner {
        blocks_in(store, stmt, found);
    }
}

/// True if nothing else in `body` writes what a block writes.
fn is_only_writer(store: &Store, body: StmtId, block: &Block) -> bool {
    let mut blocks = Vec::new();
    blocks_in(store, body, &mut blocks);
    let writes = |buffer| {
        let of = |stmt: &StmtId| match store.stmt(*stmt) {
            Stmt::Block(block) => store.prim_block(*block).writes.iter().filter(|region| region.buffer == buffer).count(),
            _ => 0,
        };
        blocks.iter().map(of).sum::<usize>()
    };
    block.writes.iter().all(|region| writes(region.buffer) == 1)
}

/// True if what a reduction is over says where its results go.
fn indexes_results(store: &Store, block: &Block) -> bool {
    let over: Vec<Id<Symbol>> = block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce).map(|iter| iter.var).collect();
    let mut affected = over.clone();
    let mut found = false;
    store.for_each_stmt(block.body, |stmt| match stmt {
        Stmt::Bind { var, value } if vars_of(store, &[*value]).iter().any(|var| over.contains(var)) => affected.push(*var),
        Stmt::Store { buffer, indices, .. } if block.writes.iter().any(|region| region.buffer == *buffer) => {
            found |= vars_of(store, indices).iter().any(|var| affected.contains(var));
        }
        _ => {}
    });
    found
}
