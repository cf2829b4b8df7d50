//! Questions about tensor programs: regions that blocks touch, places of buffers, and what schedules know of blocks.

use crate::ir::{Block, Buffer, Expr, Id, Region, Stmt, Store};
use crate::schedule::State;
use crate::tir::access::{block_accesses, block_reads_and_writes};
use crate::tir::lca::buffer_access_lca;
use crate::wasm::user::{Js, Words, error, with};
use wasm_bindgen::prelude::*;

/// Regions: how many, and each as a block has it (`read.rs`).
fn regions(found: &[Region], words: &mut Vec<u32>) {
    words.push(found.len() as u32);
    for region in found {
        words.extend([region.buffer.index() as u32, region.ranges.len() as u32]);
        for (min, extent) in &region.ranges {
            words.extend([min.index() as u32, extent.map_or(super::NONE, |extent| extent.index() as u32)]);
        }
    }
}

fn block(store: &Store, stmt: u32) -> Js<Block> {
    match store.stmt_at(stmt as usize).map(|id| store.stmt(id)) {
        Some(Stmt::Block(block)) => Ok(store.prim_block(*block).clone()),
        _ => Err(error("a block is needed here")),
    }
}

/// `accesses` (a block statement and buffers that count): regions that are read, written, and opaque; `reads_writes`: the same
/// with opaque ones in both; `lca` (a function): buffers, each with one more than the statement around its accesses or 0;
/// `facts` (a module): for each of its tensor programs the number of blocks, and of each its statement, facts as bits, the number
/// of dependencies in it, and these.
#[wasm_bindgen]
pub fn table_programs(what: &str, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let store = &mut lent.store;
        let mut found = Vec::new();
        match (what, words) {
            ("accesses" | "reads_writes", [stmt, buffers @ ..]) => {
                let block = block(store, *stmt)?;
                let known = |buffer: Id<Buffer>| buffers.contains(&(buffer.index() as u32));
                if what == "accesses" {
                    let accesses = block_accesses(store, &block, &known);
                    [accesses.reads, accesses.writes, accesses.opaque].iter().for_each(|kind| regions(kind, &mut found));
                } else {
                    let (reads, writes) = block_reads_and_writes(store, &block, &known);
                    [reads, writes].iter().for_each(|kind| regions(kind, &mut found));
                }
            }
            ("lca", _) => {
                let func = Words::new(store, words).expr()?;
                let Expr::PrimFunc(func) = store.expr(func) else { return Err(error("a tensor program is needed here")) };
                for (buffer, stmt) in buffer_access_lca(store, store.prim_func(func)) {
                    found.extend([buffer.index() as u32, stmt.map_or(0, |stmt| stmt.index() as u32 + 1)]);
                }
            }
            ("facts", _) => {
                let module = Words::new(store, words).module()?;
                let count = module.functions().iter().filter(|(_, func)| matches!(store.expr(*func), Expr::PrimFunc(_))).count();
                let mut state = State::new(store, &module);
                for function in 0..count {
                    let facts = state.facts(function).map_err(|refused| error(&refused.0))?;
                    found.push(facts.len() as u32);
                    for (stmt, bits, edges) in facts {
                        found.extend([stmt.index() as u32, bits, edges.len() as u32]);
                        found.extend(edges.into_iter().flatten());
                    }
                }
            }
            _ => return Err(error("programs are not asked that")),
        }
        Ok(found)
    })
}
