//! What a program does, by counting: the same on every machine.

use super::machine::Machine;
use super::step::Code;
use crate::ir::sort::sort_by;
use crate::ir::{Buffer, Id, Store};

/// What a run did to one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferCost {
    /// The buffer's name.
    pub name: String,
    /// The kind of memory: `global`, `shared`, `local`.
    pub scope: String,
    /// Elements read; a vector counts as its lanes.
    pub loads: u64,
    /// Elements written.
    pub stores: u64,
    /// Bytes read and written, all accesses counted.
    pub bytes: u64,
    /// Distinct bytes read or written in memory that was made for the buffer; of a view of another buffer none.
    pub touched: u64,
}

/// What a run did. An expression that occurs twice in a statement counts once; what a choice does not take counts only where it
/// could not fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations on values; a vector counts as its lanes.
    pub arithmetic: u64,
    /// Operations within indices.
    pub index_arithmetic: u64,
    /// Each buffer that was read or written, in the order of the program.
    pub buffers: Vec<BufferCost>,
}

impl Cost {
    /// Loads of all buffers.
    pub fn loads(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.loads).sum()
    }

    /// Stores to all buffers.
    pub fn stores(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.stores).sum()
    }

    /// Bytes that all accesses read and wrote.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }

    /// A table, a line for each buffer, as the command line prints it.
    pub fn table(&self) -> String {
        let mut out = format!(
            "arithmetic {}, in indices {}\n{:<24}{:<12}{:>12}{:>12}{:>14}{:>14}\n",
            self.arithmetic, self.index_arithmetic, "buffer", "scope", "loads", "stores", "bytes", "touched"
        );
        for BufferCost { name, scope, loads, stores, bytes, touched } in &self.buffers {
            out += &format!("{name:<24}{scope:<12}{loads:>12}{stores:>12}{bytes:>14}{touched:>14}\n");
        }
        out
    }
}

/// Adds up what the regions did, as often as each was entered.
pub(super) fn of(store: &Store, code: &Code, machine: &Machine) -> Cost {
    let mut cost = Cost::default();
    let mut buffers: Vec<(Id<Buffer>, BufferCost)> = Vec::new();
    for (region, times) in code.regions.iter().zip(&machine.counts) {
        cost.arithmetic += region.arithmetic * times;
        cost.index_arithmetic += region.index_arithmetic * times;
        for (id, loads, stores, bytes) in region.accesses.iter().filter(|_| *times > 0) {
            let at = buffers.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
                let buffer = store.buffer(*id);
                let (name, scope) = (store.str(buffer.name).to_owned(), store.str(buffer.scope).to_owned());
                let touched = machine.touched_of(*id);
                buffers.push((*id, BufferCost { name, scope, loads: 0, stores: 0, bytes: 0, touched }));
                buffers.len() - 1
            });
            let total = &mut buffers[at].1;
            total.loads += loads * times;
            total.stores += stores * times;
            total.bytes += (loads + stores) * bytes * times;
        }
    }
    // Buffers are numbered as they stand in the program.
    sort_by(&mut buffers, |a, b| a.0.index().cmp(&b.0.index()));
    cost.buffers = buffers.into_iter().map(|(_, buffer)| buffer).collect();
    cost
}
