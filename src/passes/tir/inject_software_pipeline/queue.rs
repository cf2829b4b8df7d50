//! Asynchronous stages: what is under way, and how much of it a later stage waits for.

use super::pipeline::{Emit, Emitted};
use crate::ir::{Buffer, DType, Id, PrimId, PrimOp, Store};
use crate::tir::arith::Analyzer;
use crate::tir::binary;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// An asynchronous stage over all three loops.
pub(super) struct Queue {
    /// The buffers that it writes.
    pub buffers: FxHashSet<Id<Buffer>>,
    /// The round that it was in last, if that is known.
    pub head: Option<PrimId>,
}

/// An asynchronous stage in one of the loops.
#[derive(Default)]
pub(super) struct Local {
    /// The block before which the queue is waited for, and how many copies may still be under way.
    pub wait: Option<(usize, PrimId)>,
    /// Buffers that were written in this round already.
    pub seen: FxHashSet<Id<Buffer>>,
    /// The round that it works on.
    pub head: Option<PrimId>,
    /// The condition of its blocks.
    pub predicate: Option<PrimId>,
    /// Places of the blocks that are committed together.
    pub groups: Vec<Vec<usize>>,
    /// True once a stage has read what it wrote.
    pub consumed: bool,
}

impl Emit {
    /// The queue of a stage.
    pub fn queue(&mut self, store: &mut Store, stage: i64) -> &mut Queue {
        let before = store.prim_int(-1, DType::I32);
        self.queues.entry(stage).or_insert_with(|| Queue { buffers: FxHashSet::default(), head: Some(before) })
    }

    /// Finds which blocks wait for which queue, and for how much of it.
    pub fn count_waits(
        &mut self,
        store: &mut Store,
        blocks: &[Emitted],
        inside: &mut Analyzer,
        groups: &FxHashMap<Id<Buffer>, usize>,
        local: &mut BTreeMap<i64, Local>,
    ) {
        for (at, emitted) in blocks.iter().enumerate() {
            let block = super::block(store, emitted.block);
            if emitted.is_async {
                let seen = &mut local.entry(emitted.stage).or_default().seen;
                seen.extend(block.writes.iter().map(|region| region.buffer));
            }
            let reads: Vec<Id<Buffer>> = block.reads.iter().map(|region| region.buffer).collect();
            let writes = |queue: &Queue| reads.iter().any(|buffer| queue.buffers.contains(buffer));
            let producer = self
                .queues
                .iter()
                .filter(|(stage, queue)| **stage <= emitted.stage && writes(queue))
                .map(|(stage, _)| *stage)
                .next();
            let Some(producer) = producer else { continue };
            let Some(queue) = self.queues.get(&producer) else { continue };
            let state = local.entry(producer).or_default();
            let mut heads = Vec::new();
            if state.groups.is_empty() {
                heads.push(queue.head);
            } else {
                let mut counted = vec![false; state.groups.len()];
                for buffer in reads.iter().filter(|buffer| queue.buffers.contains(*buffer)) {
                    let Some(group) = groups.get(buffer).and_then(|group| counted.get_mut(*group)) else { continue };
                    if std::mem::replace(group, true) {
                        continue;
                    }
                    let one = store.prim_int(1, DType::I32);
                    heads.push(match state.head {
                        // The last copy was made in the round before.
                        Some(head) if !state.seen.contains(buffer) => Some(binary(store, PrimOp::Sub, head, one)),
                        head => head,
                    });
                }
            }
            let zero = store.prim_int(0, DType::I32);
            let mut count = zero;
            for head in heads {
                let known = head.filter(|head| {
                    let begun = binary(store, PrimOp::Ge, *head, zero);
                    inside.can_prove(store, begun)
                });
                let Some(head) = known else {
                    count = zero;
                    break;
                };
                let ahead = binary(store, PrimOp::Sub, head, emitted.access);
                let ahead = self.analyzer.simplify(store, ahead);
                count = binary(store, PrimOp::Add, count, ahead);
            }
            state.wait = match state.wait {
                None => Some((at, count)),
                Some((before, least)) => {
                    let fewer = binary(store, PrimOp::Lt, count, least);
                    let count = if self.analyzer.can_prove(store, fewer) { count } else { least };
                    Some((before, count))
                }
            };
        }
    }

    /// Moves the queues on by the rounds of a loop.
    pub fn advance(&mut self, store: &mut Store, local: &BTreeMap<i64, Local>, inside: &mut Analyzer, extent: PrimId) {
        for (stage, state) in local {
            let always = state.predicate.is_some_and(|predicate| inside.can_prove(store, predicate));
            let queue = self.queue(store, *stage);
            let head = queue.head.filter(|_| always);
            let head = head.map(|head| binary(store, PrimOp::Add, head, extent));
            self.queue(store, *stage).head = head;
        }
    }
}
