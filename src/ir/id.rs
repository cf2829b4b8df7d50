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
    /// The id of the element at `index` of an arena.
    pub fn from_index(index: usize) -> Self {
        let raw = u32::try_from(index + 1).expect("an arena holds at most 2^32 - 2 elements");
        Id { raw: NonZeroU32::new(raw).expect("index + 1 is not zero"), kind: PhantomData }
    }

    /// The index of the element in its arena.
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

    pub(super) fn at(start: u32, len: u32) -> Self {
        List { start, len, kind: PhantomData }
    }

    /// How many elements it has.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it is the very same run, which says more than equal elements.
    pub fn same_place(self, other: Self) -> bool {
        self.len == other.len && (self.len == 0 || self.start == other.start)
    }

    /// Whether it has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
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

/// A dense side table: a fact for some of the ids of an arena.
#[derive(Clone)]
pub struct IdMap<K, V> {
    slots: Vec<Option<V>>,
    kind: PhantomData<fn() -> K>,
}

impl<K, V> Default for IdMap<K, V> {
    fn default() -> Self {
        IdMap { slots: Vec::new(), kind: PhantomData }
    }
}

impl<K, V> IdMap<K, V> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The fact about `id`, if there is one.
    pub fn get(&self, id: Id<K>) -> Option<&V> {
        self.slots.get(id.index()).and_then(Option::as_ref)
    }

    /// The fact about `id`, to be changed in place.
    pub fn get_mut(&mut self, id: Id<K>) -> Option<&mut V> {
        self.slots.get_mut(id.index()).and_then(Option::as_mut)
    }

    /// Whether there is a fact about `id`.
    pub fn contains(&self, id: Id<K>) -> bool {
        self.get(id).is_some()
    }

    /// Records a fact and returns the one it replaces.
    pub fn insert(&mut self, id: Id<K>, value: V) -> Option<V> {
        if self.slots.len() <= id.index() {
            self.slots.resize_with(id.index() + 1, || None);
        }
        self.slots[id.index()].replace(value)
    }

    /// Forgets the fact about `id`.
    pub fn remove(&mut self, id: Id<K>) -> Option<V> {
        self.slots.get_mut(id.index()).and_then(Option::take)
    }
}
