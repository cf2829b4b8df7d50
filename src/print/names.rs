//! Numbers of temporaries and names of variables.

use super::Numbering;
use crate::ir::sort::sort_by;
use crate::ir::walk::{for_each_binder, for_each_child};
use crate::ir::{Expr, ExprId, ExprKind, IdMap, Module, Origin, Store, Var, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The names given so far.
pub(super) struct Names<'n> {
    /// Names of variables, with their `%`, one after the other.
    pool: String,
    vars: IdMap<Var, (u32, u32)>,
    unique: UniqueNames,
    next: u32,
    stable: Option<StableNames<'n>>,
}

impl<'n> Names<'n> {
    pub(super) fn new(numbering: Numbering<'n>) -> Self {
        let stable = match numbering {
            Numbering::Exact => None,
            Numbering::Stable(naming) => Some(StableNames::new(naming)),
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
            Some(stable) => stable.var(store, var),
        };
        let start = self.pool.len() as u32;
        self.pool.push('%');
        self.pool.push_str(&name);
        self.vars.insert(var, (start, self.pool.len() as u32));
        true
    }

    /// Returns the name of a variable, with its `%`.
    pub(super) fn var(&self, var: VarId) -> &str {
        self.vars.get(var).map_or("%?", |&(start, end)| &self.pool[start as usize..end as usize])
    }

    /// Returns a number for a node.
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

/// Returns the preferred name of a variable. TVM requires a letter in front.
fn hint(store: &Store, var: VarId) -> String {
    let name = store.var_name(var);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name.to_string() } else { format!("v{name}") }
}

/// A set of distinct names: `x`, `x1`, `x2` (TVM's `GetUniqueName`).
#[derive(Clone, Default)]
struct UniqueNames {
    /// For each name that is taken, the last number that was tried as a suffix.
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

/// Names that stay the same from version to version: a node has the number of the first node it descends from, a
/// variable the name of the first variable of its identity. They depend only on the versions, in their order, and not
/// on other nodes in the store, which an earlier run or a query may have made.
#[derive(Clone, Default)]
pub struct Naming {
    /// The numbers of all nodes of the versions that can have one.
    numbers: IdMap<Expr, u32>,
    taken: FxHashSet<u32>,
    /// Numbers of the text and of the versions are below this.
    next: u32,
    vars: IdMap<Var, String>,
    unique: UniqueNames,
    seen: IdMap<Expr, ()>,
}

impl Naming {
    /// Returns the names of all versions of a run, the oldest first. Linear in the differences between them.
    pub fn of<'m>(store: &Store, versions: impl IntoIterator<Item = &'m Module>) -> Naming {
        let mut naming = Naming { next: store.next_number(), ..Naming::default() };
        versions.into_iter().for_each(|module| naming.add(store, module));
        naming
    }

    /// Names the nodes and variables that are new in a further version. The names given before stay.
    pub fn add(&mut self, store: &Store, module: &Module) {
        /// A node to enter, or a node all of whose children have their numbers.
        enum At {
            Enter(ExprId),
            Leave(ExprId),
        }
        let mut functions = module.functions().to_vec();
        sort_by(&mut functions, |a, b| store.str(a.0).cmp(store.str(b.0)));
        let mut stack: Vec<At> = functions.iter().rev().map(|(_, function)| At::Enter(*function)).collect();
        while let Some(at) = stack.pop() {
            match at {
                At::Enter(id) => {
                    if self.seen.insert(id, ()).is_some() {
                        continue;
                    }
                    for_each_binder(store, id, |var| self.name(store, var));
                    stack.push(At::Leave(id));
                    let first = stack.len();
                    for_each_child(store, id, |child| stack.push(At::Enter(child)));
                    stack[first..].reverse();
                }
                At::Leave(id) => match store.expr(id) {
                    Expr::Var(var) => self.name(store, var),
                    expr if can_have_number(expr) => self.number(store, id),
                    _ => {}
                },
            }
        }
    }

    fn name(&mut self, store: &Store, var: VarId) {
        let vid = store.var_data(var).vid;
        if !self.vars.contains(vid) {
            self.vars.insert(vid, self.unique.take(hint(store, vid)));
        }
    }

    fn number(&mut self, store: &Store, id: ExprId) {
        let number = self.known(store, id).unwrap_or_else(|| {
            let written = store.number(store.first_ancestor(id)).filter(|number| !self.taken.contains(number));
            written.unwrap_or_else(|| {
                self.next = self.next.saturating_add(1);
                self.next - 1
            })
        });
        self.taken.insert(number);
        self.numbers.insert(id, number);
    }

    /// Returns the number of a node, by the nearest node that it descends from.
    fn known(&self, store: &Store, id: ExprId) -> Option<u32> {
        let mut id = id;
        loop {
            if let Some(number) = self.numbers.get(id) {
                return Some(*number);
            }
            let (Origin::Rebuilt(pre) | Origin::Rewrote { pre, .. }) = store.origin(id) else { return None };
            id = pre;
        }
    }
}

/// The names of one text.
struct StableNames<'n> {
    naming: &'n Naming,
    used: FxHashSet<u32>,
    spare: u32,
    unique: UniqueNames,
    names_used: FxHashSet<String>,
}

impl<'n> StableNames<'n> {
    fn new(naming: &'n Naming) -> Self {
        StableNames {
            naming,
            used: FxHashSet::default(),
            spare: naming.next,
            unique: UniqueNames::default(),
            names_used: FxHashSet::default(),
        }
    }

    fn temp(&mut self, store: &Store, id: ExprId) -> u32 {
        let number = self.naming.known(store, id);
        if let Some(number) = number.filter(|number| self.used.insert(*number)) {
            return number;
        }
        // No version has it, or two nodes of this one descend from one: it gets a number above all others.
        self.spare = self.spare.saturating_add(1);
        self.used.insert(self.spare - 1);
        self.spare - 1
    }

    fn var(&mut self, store: &Store, var: VarId) -> String {
        let vid = store.var_data(var).vid;
        let known = self.naming.vars.get(vid).filter(|name| !self.names_used.contains(*name));
        // Two variables of one version with one identity, or one that no version has.
        let name = known.cloned().unwrap_or_else(|| {
            let hint = self.naming.vars.get(vid).map_or_else(|| hint(store, var), |name| format!("{name}_"));
            loop {
                let candidate = self.unique.take(hint.clone());
                if !self.names_used.contains(&candidate) && !self.naming.unique.taken.contains_key(&candidate) {
                    break candidate;
                }
            }
        });
        self.names_used.insert(name.clone());
        name
    }
}

fn can_have_number(expr: Expr) -> bool {
    !matches!(expr.kind(), ExprKind::Var | ExprKind::Global | ExprKind::Op | ExprKind::Ctor | ExprKind::Constant | ExprKind::Let)
}
