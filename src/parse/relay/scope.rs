//! Names in scope, resolved as TVM's `ScopeStack` does, but in constant time at any depth.

use rustc_hash::FxHashMap;

/// The names in scope and their values.
///
/// A name that is bound twice in the same scope keeps its first meaning there, as in TVM. Scopes are left by going back
/// to a [`Mark`].
pub(super) struct Scopes<'s, T> {
    entries: Vec<Entry<'s, T>>,
    /// The entry that a name means now.
    current: FxHashMap<&'s str, u32>,
    depth: u32,
    /// `free_var` declarations: searched last, and never out of scope.
    free: FxHashMap<&'s str, T>,
}

struct Entry<'s, T> {
    name: &'s str,
    value: T,
    depth: u32,
    /// The entry that it hides.
    hidden: Option<u32>,
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    entries: usize,
    depth: u32,
}

impl<'s, T: Copy> Scopes<'s, T> {
    pub fn new() -> Self {
        Scopes { entries: Vec::new(), current: FxHashMap::default(), depth: 0, free: FxHashMap::default() }
    }

    /// Opens a scope; the mark leads back to before it.
    pub fn open(&mut self) -> Mark {
        let mark = self.mark();
        self.depth += 1;
        mark
    }

    pub fn mark(&self) -> Mark {
        Mark { entries: self.entries.len(), depth: self.depth }
    }

    /// Forgets bindings made since `mark` and closes the scopes opened since.
    pub fn back_to(&mut self, mark: Mark) {
        self.depth = mark.depth;
        // Leaving the outermost scope of a long function is one step.
        if mark.entries == 0 && self.entries.len() * 8 > self.current.capacity() {
            self.entries.clear();
            self.current.clear();
        }
        while self.entries.len() > mark.entries {
            if let Some(entry) = self.entries.pop() {
                match entry.hidden {
                    Some(hidden) => self.current.insert(entry.name, hidden),
                    None => self.current.remove(entry.name),
                };
            }
        }
    }

    /// Binds a name. Returns the meaning that it keeps when it is bound in this scope already.
    pub fn bind(&mut self, name: &'s str, value: T) -> Option<T> {
        let hidden = self.current.get(name).copied();
        if let Some(entry) = hidden.and_then(|i| self.entries.get(i as usize))
            && entry.depth == self.depth
        {
            return Some(entry.value);
        }
        self.current.insert(name, self.entries.len() as u32);
        self.entries.push(Entry { name, value, depth: self.depth, hidden });
        None
    }

    /// Declares a free variable; the first declaration of a name counts.
    pub fn declare_free(&mut self, name: &'s str, value: T) {
        self.free.entry(name).or_insert(value);
    }

    pub fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    pub fn lookup(&self, name: &str) -> Option<T> {
        match self.current.get(name) {
            Some(&entry) => self.entries.get(entry as usize).map(|e| e.value),
            None => self.free.get(name).copied(),
        }
    }

    /// Returns all names in scope, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &'s str> + '_ {
        self.current.keys().chain(self.free.keys()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_scopes_hide_outer_ones_and_the_first_binding_of_a_scope_counts() {
        let mut scopes = Scopes::new();
        let outer = scopes.open();
        assert_eq!(scopes.bind("x", 1), None);
        assert_eq!(scopes.bind("x", 2), Some(1));
        let inner = scopes.open();
        assert_eq!(scopes.bind("x", 3), None);
        assert_eq!(scopes.lookup("x"), Some(3));
        scopes.back_to(inner);
        assert_eq!(scopes.lookup("x"), Some(1));
        scopes.declare_free("x", 9);
        scopes.back_to(outer);
        assert_eq!(scopes.lookup("x"), Some(9));
    }
}
