//! The scopes of names and their meanings.

use super::value::Value;
use crate::ir::{Id, Symbol, VarId};
use rustc_hash::FxHashMap;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A variable of the program.
    Var(VarId),
    /// A symbolic extent.
    Symbol(Id<Symbol>),
    /// A value of Python, such as `x = (1, 2)` at the top of the file.
    Value(Value),
}

/// Scopes, the innermost last.
#[derive(Default)]
pub(super) struct Scopes<'s> {
    scopes: Vec<FxHashMap<&'s str, Meaning>>,
    /// Variables of the program that symbolic variables are.
    holders: FxHashMap<Id<Symbol>, VarId>,
}

impl<'s> Scopes<'s> {
    pub(super) fn open(&mut self) {
        self.scopes.push(FxHashMap::default());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    /// Gives a name its meaning in the innermost scope.
    pub(super) fn define(&mut self, name: &'s str, meaning: Meaning) {
        if self.scopes.is_empty() {
            self.open();
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, meaning);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Meaning> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Says that a variable of the program is a symbolic variable.
    pub(super) fn holds(&mut self, symbol: Id<Symbol>, var: VarId) {
        self.holders.insert(symbol, var);
    }

    /// Returns the variable of the program that a symbolic variable is.
    pub(super) fn var_of(&self, symbol: Id<Symbol>) -> Option<VarId> {
        self.holders.get(&symbol).copied()
    }

    /// Returns all names, for suggestions.
    pub(super) fn names(&self) -> impl Iterator<Item = &'s str> + '_ {
        self.scopes.iter().flat_map(|scope| scope.keys().copied())
    }
}
