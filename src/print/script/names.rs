//! Names that are unique in the open scopes (TVM's `GenerateUniqueName`).

use crate::ir::{Buffer, Id, Symbol, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// An object that loses its name when a scope is closed.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Entry {
    Var(VarId),
    Symbol(Id<Symbol>),
    Buffer(Id<Buffer>),
}

#[derive(Default)]
struct Scope {
    names: Vec<String>,
    entries: Vec<Entry>,
}

/// The names in use.
pub(in super::super) struct Names {
    defined: FxHashSet<String>,
    /// For a hint, the number up to which `hint_1, hint_2 ...` are known to be in use.
    tried: FxHashMap<String, u32>,
    scopes: Vec<Scope>,
}

impl Default for Names {
    /// Prefixes and the alias of the module are reserved from the start.
    fn default() -> Self {
        let defined = ["I", "T", "R", "cls"].into_iter().map(str::to_owned).collect();
        Names { defined, tried: FxHashMap::default(), scopes: vec![Scope::default()] }
    }
}

impl Names {
    pub(super) fn open(&mut self) -> usize {
        self.scopes.push(Scope::default());
        self.scopes.len() - 1
    }

    /// The innermost scope.
    pub(super) fn innermost(&self) -> usize {
        self.scopes.len() - 1
    }

    pub(super) fn close(&mut self) -> Vec<Entry> {
        let Some(scope) = self.scopes.pop() else { return Vec::new() };
        if !scope.names.is_empty() {
            self.tried.clear();
        }
        for name in scope.names {
            self.defined.remove(&name);
        }
        scope.entries
    }

    /// Returns a free name like `hint`, in use until the innermost scope is closed.
    pub(super) fn define(&mut self, hint: &str) -> String {
        self.define_in(hint, self.innermost())
    }

    pub(super) fn define_in(&mut self, hint: &str, scope: usize) -> String {
        let plain: String = hint.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let mut name = plain.clone();
        if self.defined.contains(&name) {
            let mut number = self.tried.get(&plain).copied().unwrap_or(0);
            while self.defined.contains(&name) {
                number += 1;
                name = format!("{plain}_{number}");
            }
            self.tried.insert(plain, number);
        }
        self.defined.insert(name.clone());
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.names.push(name.clone());
        }
        name
    }

    pub(super) fn on_close(&mut self, entry: Entry) {
        self.on_close_of(entry, self.innermost());
    }

    pub(super) fn on_close_of(&mut self, entry: Entry, scope: usize) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.entries.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_free_again_when_its_scope_is_closed() {
        let mut names = Names::default();
        assert_eq!(names.define("a.b"), "a_b");
        names.open();
        assert_eq!([names.define("a_b"), names.define("a_b"), names.define("cls")], ["a_b_1", "a_b_2", "cls_1"]);
        names.close();
        assert_eq!(names.define("a_b"), "a_b_1");
    }
}
