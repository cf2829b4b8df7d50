//! Interning: equal values get equal ids.

use super::Name;
use super::id::Id;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;

/// Holds each distinct value once. Used for values without identity: types, attributes, names.
#[derive(Clone)]
pub struct Interner<T> {
    values: Vec<Rc<T>>,
    /// The ids by the hashes of their values, which stand in `values` alone.
    ids: HashTable<Id<T>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), ids: HashTable::new() }
    }
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    FxBuildHasher.hash_one(value)
}

impl<T: Hash + Eq> Interner<T> {
    /// Returns the id of `value`, which is stored if it is new.
    pub fn intern(&mut self, value: T) -> Id<T> {
        let hash = hash_of(&value);
        match self.ids.find(hash, |id| *self.values[id.index()] == value) {
            Some(id) => *id,
            None => self.add(hash, value),
        }
    }

    fn add(&mut self, hash: u64, value: T) -> Id<T> {
        let id = Id::from_index(self.values.len());
        self.values.push(Rc::new(value));
        self.ids.insert_unique(hash, id, |id| hash_of(&*self.values[id.index()]));
        id
    }

    /// Returns the number of values.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the value behind an id.
    pub fn get(&self, id: Id<T>) -> &T {
        &self.values[id.index()]
    }

    /// Returns the value behind an id, shared, for when the store has to be changed while it is read.
    pub fn get_rc(&self, id: Id<T>) -> Rc<T> {
        self.values[id.index()].clone()
    }
}

impl Interner<Name> {
    /// Returns the id of a name. One that is there already, as most are, costs no memory.
    pub fn intern_str(&mut self, text: &str) -> Id<Name> {
        let hash = hash_of(text);
        match self.ids.find(hash, |id| *self.values[id.index()].0 == *text) {
            Some(id) => *id,
            None => self.add(hash, Name(text.into())),
        }
    }
}
