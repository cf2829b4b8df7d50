//! Numbers of temporaries and names of variables.

use super::Numbering;
use crate::ir::{Expr, ExprId, ExprKind, Id, IdMap, Origin, Store, Var, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names given so far.
pub(super) struct Names {
    /// Names of variables, with their `%`, one after the other.
    pool: String,
    vars: IdMap<Var, (u32, u32)>,
    unique: UniqueNames,
    next: u32,
    stable: Option<StableNames>,
}

impl Names {
    pub(super) fn new(store: &Store, numbering: Numbering) -> Self {
        let stable = match numbering {
            Numbering::Exact => None,
            Numbering::Stable => Some(StableNames::new(store)),
        };
        Names { pool: String::new(), vars: IdMap::new(), unique: UniqueNames::default(), next: 0, stable }
    }

    /// Gives a variable its name; false if it has one already.
    pub(super) fn bind(&mut self, store: &Store, var: VarId) -> bool {
        if self.vars.contains(var) {
            return false;
        }
        let name = match &mut self.stable {
            None => self.unique.take(hint(store, var)),
            Some(stable) => stable.var(store, var, &mut self.unique),
        };
        let start = self.pool.len() as u32;
        self.pool.push('%');
        self.pool.push_str(&name);
        self.vars.insert(var, (start, self.pool.len() as u32));
        true
    }

    /// The name of a variable, with its `%`.
    pub(super) fn var(&self, var: VarId) -> &str {
        self.vars.get(var).map_or("%?", |&(start, end)| &self.pool[start as usize..end as usize])
    }

    /// A number for a node.
    pub(super) fn temp(&mut self, store: &Store, id: ExprId) -> u32 {
        match &mut self.stable {
            None => {
                self.next += 1;
                self.next - 1
            }
            Some(stable) => stable.temp(store, id),
        }
    }
}

/// The name that a variable asks for. TVM wants a letter in front.
fn hint(store: &Store, var: VarId) -> String {
    let name = store.var_name(var);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name.to_string() } else { format!("v{name}") }
}

/// Names of which no two are equal: `x`, `x1`, `x2` (TVM's `GetUniqueName`).
#[derive(Default)]
struct UniqueNames {
    /// For each name that is taken, the last number that was tried behind it.
    taken: FxHashMap<String, u32>,
}

impl UniqueNames {
    fn take(&mut self, name: String) -> String {
        let Some(&last) = self.taken.get(&name) else {
            self.taken.insert(name.clone(), 0);
            return name;
        };
        let mut number = last;
        let unique = loop {
            number += 1;
            let candidate = format!("{name}{number}");
            if !self.taken.contains_key(&candidate) {
                break candidate;
            }
        };
        self.taken.insert(name, number);
        self.taken.insert(unique.clone(), 0);
        unique
    }
}

/// Names that depend only on the session's past: a node's on the first node it descends from, a
/// variable's on the first variable of its identity. Whatever is made later changes none of them.
struct StableNames {
    /// Numbers of the text are below this.
    base: u32,
    /// How many first ancestors without a number of their own there are before each node.
    ranks: Vec<u32>,
    used: FxHashSet<u32>,
    spare: u32,
    vars: IdMap<Var, String>,
    names_used: FxHashSet<String>,
}

impl StableNames {
    fn new(store: &Store) -> Self {
        let base = store.next_number();
        let mut ranks = Vec::with_capacity(store.n_exprs());
        let mut rank = 0;
        for index in 0..store.n_exprs() {
            ranks.push(rank);
            let id: ExprId = Id::from_index(index);
            rank += u32::from(is_first(store, id) && store.number(id).is_none());
        }
        let mut unique = UniqueNames::default();
        let mut vars = IdMap::new();
        for index in 0..store.n_vars() {
            let var: VarId = Id::from_index(index);
            if store.var_data(var).vid == var {
                vars.insert(var, unique.take(hint(store, var)));
            }
        }
        StableNames {
            base,
            ranks,
            used: FxHashSet::default(),
            spare: base.saturating_add(rank),
            vars,
            names_used: FxHashSet::default(),
        }
    }

    fn temp(&mut self, store: &Store, id: ExprId) -> u32 {
        let first = store.first_ancestor(id);
        let number = store.number(first).unwrap_or_else(|| self.base.saturating_add(self.ranks[first.index()]));
        if self.used.insert(number) {
            return number;
        }
        // Two nodes of one version that descend from one node: the second gets a number beyond all.
        loop {
            self.spare += 1;
            if self.used.insert(self.spare - 1) {
                return self.spare - 1;
            }
        }
    }

    fn var(&mut self, store: &Store, var: VarId, unique: &mut UniqueNames) -> String {
        let name = self.vars.get(store.var_data(var).vid).cloned().unwrap_or_else(|| hint(store, var));
        if self.names_used.insert(name.clone()) {
            return name;
        }
        // Two variables of one version with one identity: the second gets another name.
        loop {
            let candidate = unique.take(format!("{name}_"));
            if self.names_used.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Whether a node can have a number and descends from no other.
fn is_first(store: &Store, id: ExprId) -> bool {
    !matches!(store.origin(id), Origin::Rebuilt(_) | Origin::Rewrote { .. }) && can_have_number(store.expr(id))
}

fn can_have_number(expr: Expr) -> bool {
    !matches!(expr.kind(), ExprKind::Var | ExprKind::Global | ExprKind::Op | ExprKind::Ctor | ExprKind::Constant | ExprKind::Let)
}
