//! A cache that counts but does not time: lines of one size, of which the least recently used one is evicted (LRU,
//! fully associative). Only global memory goes through it; each buffer begins at a line of its own.

use super::memory::Heap;
use crate::ir::{Id, Store};

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Bytes of a line: a power of two from 4 to 4096.
    pub line: u32,
    /// Bytes of the whole cache: at least one line, at most 64 MiB.
    pub size: u32,
}

impl Default for CacheShape {
    /// A first-level data cache as in many processors.
    fn default() -> CacheShape {
        CacheShape { line: 64, size: 32 << 10 }
    }
}

impl CacheShape {
    /// Returns the shape; `None` if its numbers are out of range.
    pub fn new(line: u32, size: u32) -> Option<CacheShape> {
        let fits = line.is_power_of_two() && (4..=4096).contains(&line) && (line..=64 << 20).contains(&size);
        fits.then_some(CacheShape { line, size })
    }
}

/// No line.
const NONE: u32 = u32::MAX;

/// A line: its neighbours in the order of use, and flags for being present now and ever.
#[derive(Clone, Copy)]
struct Line {
    newer: u32,
    older: u32,
    is_there: bool,
    was_there: bool,
}

/// A piece of memory: its first line, its buffer, and true if it goes through the cache.
struct Piece {
    first: u32,
    buffer: u32,
    cached: bool,
}

pub(super) struct Cache<'s> {
    store: &'s Store,
    shift: u32,
    room: u32,
    there: u32,
    newest: u32,
    oldest: u32,
    lines: Vec<Line>,
    pieces: Vec<Piece>,
    /// For each buffer its distinct lines, and the number of misses.
    pub(super) counts: Vec<(u32, u64, u64)>,
}

impl<'s> Cache<'s> {
    pub(super) fn new(store: &'s Store, shape: CacheShape) -> Cache<'s> {
        let room = (shape.size / shape.line).max(1);
        Cache {
            store,
            shift: shape.line.trailing_zeros(),
            room,
            there: 0,
            newest: NONE,
            oldest: NONE,
            lines: Vec::new(),
            pieces: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Forgets the freed memory from this piece on.
    pub(super) fn forget(&mut self, from: usize) {
        self.pieces.truncate(from);
    }

    /// Notes a read or write of an element of this size, `place` elements behind a pointer; it lies within memory.
    #[inline]
    pub(super) fn touch(&mut self, heap: &Heap, pointer: u64, place: i64, bytes: usize) {
        let index = (pointer >> 40) as usize;
        if index >= self.pieces.len() {
            self.learn(heap, index);
        }
        let piece = &self.pieces[index];
        if !piece.cached {
            return;
        }
        let at = super::memory::place_of(pointer) as i64 + place.wrapping_mul(bytes as i64);
        let line = piece.first.wrapping_add((at >> self.shift) as u32);
        if line != self.newest {
            let buffer = piece.buffer;
            self.use_line(line, buffer);
        }
    }

    #[cold]
    fn learn(&mut self, heap: &Heap, index: usize) {
        for piece in heap.pieces.iter().take(index + 1).skip(self.pieces.len()) {
            let first = self.lines.len() as u32;
            // The first piece is the null piece; memory without a buffer was passed by a pointer.
            let scope = |buffer: u32| self.store.str(self.store.buffer(Id::from_index(buffer as usize)).scope);
            let cached = !self.pieces.is_empty() && (piece.buffer == u32::MAX || scope(piece.buffer) == "global");
            if cached {
                let count = (piece.bytes.len() >> self.shift) + 1;
                let fresh = Line { newer: NONE, older: NONE, is_there: false, was_there: false };
                self.lines.resize(self.lines.len() + count, fresh);
            }
            self.pieces.push(Piece { first, buffer: piece.buffer, cached });
        }
    }

    fn use_line(&mut self, line: u32, buffer: u32) {
        let Some(Line { newer, older, is_there, was_there }) = self.lines.get(line as usize).copied() else { return };
        if is_there {
            // It is not the newest line, so there is a newer one.
            self.lines[newer as usize].older = older;
            match older {
                NONE => self.oldest = newer,
                _ => self.lines[older as usize].newer = newer,
            }
        } else {
            let at = self.counts.iter().position(|(known, ..)| *known == buffer).unwrap_or_else(|| {
                self.counts.push((buffer, 0, 0));
                self.counts.len() - 1
            });
            self.counts[at].1 += u64::from(!was_there);
            self.counts[at].2 += 1;
            if self.there == self.room {
                let gone = self.oldest;
                self.oldest = self.lines[gone as usize].newer;
                self.lines[gone as usize].is_there = false;
                match self.oldest {
                    NONE => self.newest = NONE,
                    next => self.lines[next as usize].older = NONE,
                }
            } else {
                self.there += 1;
            }
        }
        let newest = std::mem::replace(&mut self.newest, line);
        self.lines[line as usize] = Line { newer: NONE, older: newest, is_there: true, was_there: true };
        match newest {
            NONE => self.oldest = line,
            _ => self.lines[newest as usize].newer = line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::tir::memory::Memory;

    #[test]
    fn the_line_that_was_not_used_for_longest_makes_room() {
        let store = Store::new();
        let mut heap = Heap::new();
        let pointer = heap.add(Memory { bytes: vec![0; 64], flags: Vec::new(), stored: false, buffer: u32::MAX });
        // Two lines of 16 bytes.
        let shape = CacheShape::new(16, 32).expect("a shape");
        let misses = |places: &[i64]| {
            let mut cache = Cache::new(&store, shape);
            places.iter().for_each(|place| cache.touch(&heap, pointer, *place, 4));
            cache.counts[0]
        };
        // Elements 0 to 3 are one line.
        assert_eq!(misses(&[0, 1, 2, 3, 0]), (u32::MAX, 1, 1));
        // Lines 0, 1, 0, 2: line 1 is evicted; 0 is still there, 1 is fetched again.
        assert_eq!(misses(&[0, 4, 0, 8, 0, 4]), (u32::MAX, 3, 4));
        // Cyclic accesses to three lines always miss.
        assert_eq!(misses(&[0, 4, 8, 0, 4, 8]), (u32::MAX, 3, 6));
    }

    #[test]
    fn a_cache_of_one_line_holds_the_last_one() {
        let store = Store::new();
        let mut heap = Heap::new();
        let pointer = heap.add(Memory { bytes: vec![0; 64], flags: Vec::new(), stored: false, buffer: u32::MAX });
        let mut cache = Cache::new(&store, CacheShape::new(16, 16).expect("a shape"));
        [0, 4, 4, 0].iter().for_each(|place| cache.touch(&heap, pointer, *place, 4));
        assert_eq!(cache.counts, [(u32::MAX, 2, 3)]);
        assert!(CacheShape::new(48, 4096).is_none() && CacheShape::new(64, 32).is_none());
    }
}
