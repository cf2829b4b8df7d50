//! Typed ids, lists of ids and tables keyed by ids.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// The place of a `T` in its arena. Meaningful only with the store that made it.
pub struct Id<T> {
    raw: NonZeroU32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// Returns the id of the element at `index` of an arena.
    pub fn from_index(index: usize) -> Self {
        let raw = u32::try_from(index + 1).expect("an arena holds at most 2^32 - 2 elements");
        Id { raw: NonZeroU32::new(raw).expect("index + 1 is not zero"), kind: PhantomData }
    }

    /// Returns the index of the element in its arena.
    pub fn index(self) -> usize {
        self.raw.get() as usize - 1
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw.cmp(&other.raw)
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index())
    }
}

/// A run of ids in the store's list pool. Two words, freely copied.
pub struct List<T> {
    pub(super) start: u32,
    pub(super) len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> List<T> {
    /// The list without elements.
    pub const EMPTY: List<T> = List { start: 0, len: 0, kind: PhantomData };

    /// Returns the run of `len` ids from `start` on, in the caller's pool.
    pub(crate) fn at(start: u32, len: u32) -> Self {
        List { start, len, kind: PhantomData }
    }

    /// Returns the places of its elements in the pool.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }

    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// True if it is the very same run, which implies equal elements.
    pub fn same_place(self, other: Self) -> bool {
        self.len == other.len && (self.len == 0 || self.start == other.start)
    }

    /// True if it has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List::EMPTY
    }
}
impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for List<T> {}
impl<T> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}+{}]", self.start, self.len)
    }
}

/// Ids of one page of an [`IdMap`].
const PAGE: usize = 64;

/// Pages of a table up to which their numbers stand in a list: a cache line.
const FEW: usize = 16;

/// A side table: a fact for some of the ids of an arena. Reads and writes are about as quick as in a
/// vector; memory is taken a page at a time where there are facts, so that a table about a small
/// function costs little however much the session has made before.
#[derive(Clone)]
pub struct IdMap<K, V> {
    /// The numbers of the pages in the order of their facts in `slots`, while there are few.
    few: Vec<u32>,
    /// When there are more: for each page of ids where its facts begin in `slots`, divided by the size of a page, plus
    /// one; zero for a page without facts. It is as long as the session has pages.
    pages: Vec<u32>,
    slots: Vec<Option<V>>,
    kind: PhantomData<fn() -> K>,
}

impl<K, V> Default for IdMap<K, V> {
    fn default() -> Self {
        IdMap { few: Vec::new(), pages: Vec::new(), slots: Vec::new(), kind: PhantomData }
    }
}

impl<K, V> IdMap<K, V> {
    /// Makes an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty table with room for facts about `count` ids that lie close together.
    pub fn with_capacity(count: usize) -> Self {
        IdMap { slots: Vec::with_capacity(count.next_multiple_of(PAGE)), ..Self::default() }
    }

    /// Returns the slot for the fact about `id`.
    fn slot(&self, id: Id<K>) -> Option<usize> {
        let number = id.index() / PAGE;
        let place = match self.pages.get(number) {
            Some(page) => (*page as usize).checked_sub(1)?,
            None if self.pages.is_empty() => self.few.iter().position(|page| *page as usize == number)?,
            None => return None,
        };
        Some(place * PAGE + id.index() % PAGE)
    }

    /// Returns the fact about `id`, if there is one.
    pub fn get(&self, id: Id<K>) -> Option<&V> {
        self.slots[self.slot(id)?].as_ref()
    }

    /// Returns the fact about `id`, to be changed in place.
    pub fn get_mut(&mut self, id: Id<K>) -> Option<&mut V> {
        let slot = self.slot(id)?;
        self.slots[slot].as_mut()
    }

    /// True if there is a fact about `id`.
    pub fn contains(&self, id: Id<K>) -> bool {
        self.get(id).is_some()
    }

    /// Records a fact and returns the one it replaces.
    pub fn insert(&mut self, id: Id<K>, value: V) -> Option<V> {
        let slot = self.slot(id).unwrap_or_else(|| self.add_page(id.index() / PAGE) * PAGE + id.index() % PAGE);
        self.slots[slot].replace(value)
    }

    /// Makes room for a page, and returns its place.
    fn add_page(&mut self, number: usize) -> usize {
        let place = self.slots.len() / PAGE;
        self.slots.resize_with(self.slots.len() + PAGE, || None);
        if self.pages.is_empty() && self.few.len() < FEW {
            self.few.push(number as u32);
            return place;
        }
        let few = std::mem::take(&mut self.few);
        let last = few.iter().map(|page| *page as usize).chain([number]).max().unwrap_or(number);
        if self.pages.len() <= last {
            self.pages.resize(last + 1, 0);
        }
        for (place, page) in few.into_iter().enumerate() {
            self.pages[page as usize] = place as u32 + 1;
        }
        self.pages[number] = place as u32 + 1;
        place
    }

    /// Forgets the fact about `id`.
    pub fn remove(&mut self, id: Id<K>) -> Option<V> {
        let slot = self.slot(id)?;
        self.slots[slot].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_remembers_facts_on_any_page() {
        let mut map: IdMap<u8, usize> = IdMap::new();
        let ids = [0, 1, PAGE - 1, PAGE, 1_000_000].map(Id::from_index);
        for id in ids {
            assert_eq!(map.insert(id, id.index()), None);
        }
        assert!(ids.iter().all(|id| map.get(*id) == Some(&id.index())));
        let more: Vec<Id<u8>> = (2..40).map(|page| Id::from_index(page * PAGE + 3)).collect();
        for id in &more {
            assert_eq!(map.insert(*id, id.index()), None);
        }
        assert!(ids.iter().chain(&more).all(|id| map.get(*id) == Some(&id.index())));
        assert_eq!(map.get(Id::from_index(2)), None);
        assert_eq!(map.get(Id::from_index(5_000_000)), None);
        assert_eq!(map.remove(ids[3]), Some(PAGE));
        assert!(!map.contains(ids[3]));
    }
}
