//! Counts the operations of a program, independently of the machine.

use super::cache::CacheShape;
use super::machine::Machine;
use super::step::Code;
use crate::ir::sort::sort_by;
use crate::ir::{Buffer, Id, Store};

/// The accesses of a run to one buffer.
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
    /// Distinct bytes read or written in memory that was allocated for the buffer; none for a view of another buffer.
    pub touched: u64,
    /// Distinct lines of the cache that it lies in.
    pub lines: u64,
    /// The number of misses of those lines.
    pub misses: u64,
}

/// The cost of a run. An expression that occurs twice in a statement counts once; the other branch of a choice counts
/// only if it could not fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations on values; a vector counts as its lanes.
    pub arithmetic: u64,
    /// Operations within indices, including bindings and conditions of blocks.
    pub index_arithmetic: u64,
    /// Each buffer that was read or written, in the order of the program.
    pub buffers: Vec<BufferCost>,
    /// The cache that lines and misses refer to.
    pub cache: CacheShape,
}

impl Cost {
    /// Returns the loads of all buffers.
    pub fn loads(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.loads).sum()
    }

    /// Returns the stores to all buffers.
    pub fn stores(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.stores).sum()
    }

    /// Returns the bytes that all accesses read and wrote.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }

    /// Returns the misses of all buffers.
    pub fn misses(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.misses).sum()
    }

    /// Returns the operations per byte that is fetched into the cache (the arithmetic intensity of Williams, Waterman
    /// and Patterson, "Roofline", 2009); `None` if no byte is.
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.misses() * u64::from(self.cache.line);
        (bytes > 0).then(|| self.arithmetic as f64 / bytes as f64)
    }

    /// Prints a table, one line per buffer, as on the command line.
    pub fn table(&self) -> String {
        let mut out = format!(
            "arithmetic {}, in indices {}\ncache of {} bytes in lines of {}: {} fetched, {} operations a byte\n\
             {:<24}{:<12}{:>12}{:>12}{:>14}{:>14}{:>10}{:>12}\n",
            self.arithmetic,
            self.index_arithmetic,
            self.cache.size,
            self.cache.line,
            self.misses(),
            self.intensity().map_or("no".to_owned(), |intensity| format!("{intensity:.2}")),
            "buffer",
            "scope",
            "loads",
            "stores",
            "bytes",
            "touched",
            "lines",
            "misses"
        );
        for BufferCost { name, scope, loads, stores, bytes, touched, lines, misses } in &self.buffers {
            out += &format!("{name:<24}{scope:<12}{loads:>12}{stores:>12}{bytes:>14}{touched:>14}{lines:>10}{misses:>12}\n");
        }
        out
    }
}

/// Sums the costs of the regions, times the number of their entries.
pub(super) fn of(store: &Store, code: &Code, machine: &Machine, cache: CacheShape) -> Cost {
    let mut cost = Cost { cache, ..Cost::default() };
    let mut buffers: Vec<(Id<Buffer>, BufferCost)> = Vec::new();
    for (region, times) in code.regions.iter().zip(&machine.counts) {
        cost.arithmetic += region.arithmetic * times;
        cost.index_arithmetic += region.index_arithmetic * times;
        for (id, loads, stores, bytes) in region.accesses.iter().filter(|_| *times > 0) {
            let at = buffers.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
                let buffer = store.buffer(*id);
                let (name, scope) = (store.str(buffer.name).to_owned(), store.str(buffer.scope).to_owned());
                let touched = machine.touched_of(*id);
                let counts = machine.cache.as_ref().map_or(&[][..], |cache| &cache.counts);
                let found = counts.iter().find(|(buffer, ..)| *buffer as usize == id.index());
                let (lines, misses) = found.map_or((0, 0), |(_, lines, misses)| (*lines, *misses));
                buffers.push((*id, BufferCost { name, scope, loads: 0, stores: 0, bytes: 0, touched, lines, misses }));
                buffers.len() - 1
            });
            let total = &mut buffers[at].1;
            total.loads += loads * times;
            total.stores += stores * times;
            total.bytes += (loads + stores) * bytes * times;
        }
    }
    // Buffers are numbered in the order of the program.
    sort_by(&mut buffers, |a, b| a.0.index().cmp(&b.0.index()));
    cost.buffers = buffers.into_iter().map(|(_, buffer)| buffer).collect();
    cost
}
