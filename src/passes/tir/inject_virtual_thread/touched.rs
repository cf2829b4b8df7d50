//! Finds the parts that depend on a variable.

use crate::ir::{Buffer, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

/// A variable or a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    Var(Id<Symbol>),
    Buffer(Id<Buffer>),
}

/// Returns all things that depend on a variable through the computations and stores of a body.
pub(super) fn by(store: &Store, body: StmtId, var: Id<Symbol>) -> FxHashSet<Thing> {
    let mut analysis = Analysis { store, touched: FxHashSet::default(), affects: FxHashMap::default() };
    analysis.touched.insert(Thing::Var(var));
    analysis.stmt(body);
    let Analysis { mut touched, affects, .. } = analysis;
    let mut todo: Vec<Thing> = touched.iter().copied().collect();
    while let Some(thing) = todo.pop() {
        for further in affects.get(&thing).into_iter().flatten() {
            if touched.insert(*further) {
                todo.push(*further);
            }
        }
    }
    touched
}

struct Analysis<'a> {
    store: &'a Store,
    touched: FxHashSet<Thing>,
    /// The things computed from each thing.
    affects: FxHashMap<Thing, Vec<Thing>>,
}

/// The uses in an expression.
#[derive(Default)]
struct Uses {
    touched: bool,
    used: Vec<Thing>,
    written: Vec<Thing>,
}

impl Analysis<'_> {
    fn stmt(&mut self, id: StmtId) {
        let store = self.store;
        match store.stmt(id) {
            Stmt::Bind { var, value } => {
                let uses = self.uses(&[*value], false);
                self.record(Thing::Var(*var), &uses);
            }
            Stmt::Store { buffer, indices, value } => {
                let mut all = vec![*value];
                all.extend(indices);
                let uses = self.uses(&all, false);
                self.record(Thing::Buffer(*buffer), &uses);
            }
            Stmt::For(head, body) => {
                let uses = self.uses(&[head.min, head.extent], false);
                self.record(Thing::Var(head.var), &uses);
                self.stmt(*body);
            }
            Stmt::Evaluate(value) => {
                let uses = self.uses(&[*value], true);
                for written in &uses.written {
                    self.record(*written, &uses);
                }
            }
            Stmt::Alloc(buffer, _) => {
                let uses = self.uses(&store.buffer(*buffer).shape, false);
                self.record(Thing::Buffer(*buffer), &uses);
            }
            _ => {
                let mut inner = Vec::new();
                store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
                inner.into_iter().for_each(|stmt| self.stmt(stmt));
            }
        }
    }

    fn uses(&self, roots: &[PrimId], writes: bool) -> Uses {
        let mut uses = Uses::default();
        let mut todo: Vec<PrimId> = roots.iter().rev().copied().collect();
        let mut seen = FxHashSet::default();
        while let Some(id) = todo.pop() {
            if (uses.touched && !writes) || !seen.insert(id) {
                continue;
            }
            let mut used = |thing: Thing| {
                uses.touched |= self.touched.contains(&thing);
                if !uses.touched {
                    uses.used.push(thing);
                }
            };
            match self.store.prim_of_id(id) {
                PrimExpr::Var(var) => used(Thing::Var(*var)),
                PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => used(Thing::Buffer(*buffer)),
                PrimExpr::Load { buffer, indices } => {
                    used(Thing::Buffer(*buffer));
                    todo.extend(indices.iter().rev());
                }
                PrimExpr::Call { op, args, .. } if self.store.str(*op) == "tvm_access_ptr" && args.len() == 5 => {
                    let thing = match self.store.prim_of_id(args[1]) {
                        PrimExpr::Data(buffer) => Some(Thing::Buffer(*buffer)),
                        PrimExpr::Var(var) => Some(Thing::Var(*var)),
                        _ => None,
                    };
                    match thing {
                        Some(thing) => {
                            let mask = self.store.as_prim_int(args[4]).unwrap_or(3);
                            if mask & 1 != 0 {
                                used(thing);
                            }
                            if mask & 2 != 0 {
                                uses.written.push(thing);
                            }
                        }
                        None => todo.push(args[1]),
                    }
                    todo.push(args[2]);
                }
                node => node.for_each_child(&mut |child| todo.push(child)),
            }
        }
        uses
    }

    fn record(&mut self, thing: Thing, uses: &Uses) {
        if self.touched.contains(&thing) {
            return;
        }
        if uses.touched {
            self.touched.insert(thing);
            return;
        }
        for used in uses.used.iter().filter(|used| **used != thing) {
            self.affects.entry(*used).or_default().push(thing);
        }
    }
}
