//! Interning: equal values get equal ids.

use super::Name;
use super::id::Id;
use rustc_hash::FxHasher;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::rc::Rc;

/// Holds each distinct value once. Used for values without identity: types, attributes, names.
#[derive(Clone)]
pub struct Interner<T> {
    values: Vec<Rc<T>>,
    ids: HashMap<Key<T>, Id<T>, BuildHasherDefault<FxHasher>>,
}

/// A value as the key of its id. Look-ups take the borrowed form.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<T>(Rc<T>);

impl<T> Borrow<T> for Key<T> {
    fn borrow(&self) -> &T {
        &self.0
    }
}

impl Borrow<str> for Key<Name> {
    fn borrow(&self) -> &str {
        &self.0.0
    }
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: Vec::new(), ids: HashMap::default() }
    }
}

impl<T: Hash + Eq> Interner<T> {
    /// Returns the id of `value`, which is stored if it is new.
    pub fn intern(&mut self, value: T) -> Id<T> {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = Id::from_index(self.values.len());
        let shared = Rc::new(value);
        self.values.push(shared.clone());
        self.ids.insert(Key(shared), id);
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
        match self.ids.get(text) {
            Some(&id) => id,
            None => self.intern(Name(text.into())),
        }
    }
}
