//! Turning nested expressions into let bindings, scope by scope (TVM's `Fill` and `LetList`).
//!
//! Used by ToANormalForm, which binds everything, and by ToBasicBlockNormalForm, which binds only the expressions that
//! are lifted out of their scopes.
//!
//! If a function or a call of `on_device` sets a device, every value that was or could have been bound gets an
//! annotation of it too ([`devices`](super::devices)).

use super::devices::{Device, Place, on_device, place_of};
use super::is_primitive;
use super::scope::{ScopeId, Scopes};
use crate::ir::drive::{Agenda, Form, Step, Visit, drive};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, Function, IdMap, Store, VarId, map_children};
use std::convert::Infallible;

/// The expressions to bind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Every expression.
    All,
    /// Expressions that are lifted out of their scopes.
    Lifted,
}

/// Rewrites the function `root`. `names` counts the names `x_0`, `x_1`, ... that were taken. As in TVM, the whole
/// function is made anew, and most of it has no type.
pub fn fill(store: &mut Store, root: ExprId, scopes: &Scopes, bound: Bound, names: &mut u32) -> ExprId {
    let lists = vec![LetList::default(); scopes.len()];
    let mut fill =
        Fill { store, scopes, bound, names, lists, cells: Vec::new(), memo: IdMap::new(), nesting: 0, devices: Vec::new() };
    drive(&mut fill, &mut vec![Step::Visit((root, None))]);
    let body = fill.done(root);
    fill.wrap(scopes.get(root), body)
}

/// Bindings in order: a linked list, so that one list can be moved behind another at once.
#[derive(Clone, Copy, Default)]
struct LetList {
    ends: Option<(usize, usize)>,
}

struct Cell {
    var: VarId,
    value: ExprId,
    next: Option<usize>,
}

/// An expression, and the variable of the `let` whose value it is.
type Value = (ExprId, Option<VarId>);

struct Fill<'a> {
    store: &'a mut Store,
    scopes: &'a Scopes,
    bound: Bound,
    names: &'a mut u32,
    lists: Vec<LetList>,
    cells: Vec<Cell>,
    memo: IdMap<Expr, ExprId>,
    /// The number of functions around the expression at hand.
    nesting: u32,
    /// The devices of the functions and calls of `on_device` around the expression at hand.
    devices: Vec<Option<Device>>,
}

impl Form for Fill<'_> {
    type Node = Value;
    type Step = Infallible;

    /// A value that is used again is bound to the second variable, too.
    fn is_known(&mut self, (id, var): Value) -> bool {
        let known = self.memo.get(id).copied();
        if let (Some(value), Some(var)) = (known, var) {
            self.push(self.scopes.get(id), var, value);
        }
        known.is_some()
    }

    fn enter(&mut self, _: Value) -> Visit<Value> {
        Visit::Descend
    }

    fn descend(&mut self, (id, var): Value, agenda: &mut Agenda<Self>) {
        agenda.push(Step::Leave((id, var)));
        let visit = |id| Step::Visit((id, None));
        match self.store.expr(id) {
            // They are visited from the right, as TVM's compiler evaluates arguments, because that order decides how
            // names are numbered.
            Expr::If { cond, then, other } => agenda.extend([cond, then, other].map(visit)),
            Expr::RefWrite { reference, value } => agenda.extend([reference, value].map(visit)),
            Expr::Let { var, value, body } => agenda.extend([visit(body), Step::Visit((value, Some(var)))]),
            Expr::Call { args, .. } if let Some(Place { device, fixed: true, .. }) = place_of(self.store, id) => {
                self.devices.push(Some(device));
                // The value itself is bound, and stays on its device.
                agenda.push(Step::Visit((self.store.item(args, 0), var)));
            }
            Expr::Call { callee, args, .. } => {
                agenda.push(visit(callee));
                agenda.extend(self.store.items(args).rev().map(visit));
            }
            Expr::Function(function) => {
                if !is_primitive(self.store, id) {
                    self.nesting += 1;
                    let Function { body, device, .. } = *self.store.function(function);
                    self.devices.push(device);
                    agenda.push(visit(body));
                }
            }
            _ => {
                let first = agenda.len();
                for_each_child(self.store, id, |child| agenda.push(visit(child)));
                agenda[first..].reverse();
            }
        }
    }

    fn leave(&mut self, (id, var): Value) {
        let result = self.result(id, var);
        self.memo.insert(id, result);
    }

    fn give(&mut self, (id, _): Value, (result, _): Value) {
        self.memo.insert(id, result);
    }

    fn give_again(&mut self, (id, _): Value, (other, _): Value) {
        self.memo.insert(id, self.done(other));
    }

    fn step(&mut self, step: Infallible, _: &mut Agenda<Self>) {
        match step {}
    }
}

impl Fill<'_> {
    fn done(&self, id: ExprId) -> ExprId {
        self.memo.get(id).copied().expect("children are done before their parents")
    }

    fn result(&mut self, id: ExprId, var: Option<VarId>) -> ExprId {
        match self.store.expr(id) {
            Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) => match var {
                Some(var) => self.push(self.scopes.get(id), var, id),
                None => id,
            },
            Expr::Constant(_) => self.bind(id, id, var),
            Expr::Let { body, .. } => {
                let body = self.done(body);
                self.bind_let(id, body, var)
            }
            Expr::Function(_) if is_primitive(self.store, id) => match self.nesting {
                0 => id,
                _ => self.bind(id, id, var),
            },
            Expr::Function(function) => {
                let function = *self.store.function(function);
                let body = self.wrap(self.scopes.opened(id, 1), self.done(function.body));
                self.nesting -= 1;
                self.devices.pop();
                let new = if body == function.body {
                    id
                } else {
                    let new = self.store.add_function(Function { body, ..function });
                    // TVM copies the function and with it the type it had.
                    let ty = self.store.checked_type(id);
                    self.store.rebuild(id, Expr::Function(new), ty)
                };
                if self.nesting == 0 { new } else { self.bind(id, new, var) }
            }
            node @ Expr::Call { callee, args, .. } if place_of(self.store, id).is_some_and(|place| place.fixed) => {
                self.devices.pop();
                let children: Vec<ExprId> =
                    std::iter::once(callee).chain(self.store.items(args).map(|arg| self.done(arg))).collect();
                let new = map_children(self.store, id, &children, &|var| var).unwrap_or(node);
                self.store.rebuild(id, new, None)
            }
            node => {
                let new = self.over_children(id).unwrap_or(node);
                let ty = self.store.checked_type(id).filter(|_| matches!(node, Expr::Tuple(_)));
                let new = self.store.rebuild(id, new, ty);
                self.bind(id, new, var)
            }
        }
    }

    /// Returns a node over its new children; arms have the bindings of their scopes around them. `None` if all stayed the same.
    fn over_children(&mut self, id: ExprId) -> Option<Expr> {
        let mut children = Vec::new();
        for_each_child(self.store, id, |child| children.push(self.done(child)));
        if matches!(self.store.expr(id), Expr::If { .. } | Expr::Match { .. }) {
            for (arm, slot) in children.iter_mut().skip(1).zip(1..) {
                *arm = self.wrap(self.scopes.opened(id, slot), *arm);
            }
        }
        map_children(self.store, id, &children, &|var| var)
    }

    /// Binds `new`, which replaces `old`, unless it may stay where it is used.
    fn bind(&mut self, old: ExprId, new: ExprId, var: Option<VarId>) -> ExprId {
        let new = self.placed(new);
        match self.name(old, var) {
            None => new,
            Some(var) => self.push(self.scopes.get(old), var, new),
        }
    }

    /// Annotates a value with the device around it.
    fn placed(&mut self, value: ExprId) -> ExprId {
        match self.devices.last() {
            Some(&Some(device)) => on_device(self.store, value, device),
            _ => value,
        }
    }

    /// Returns the variable to bind `old` to. It takes a name even if none is needed, as in TVM.
    fn name(&mut self, old: ExprId, var: Option<VarId>) -> Option<VarId> {
        if var.is_some() {
            return var;
        }
        let number = *self.names;
        *self.names += 1;
        let needed = self.bound == Bound::All || self.scopes.is_lifted(old);
        needed.then(|| self.store.var(&format!("x_{number}"), None))
    }

    /// Handles a let with the new body `body`: its bindings move into the enclosing scope, where they and the body are
    /// bound; or it stays a let.
    fn bind_let(&mut self, id: ExprId, body: ExprId, var: Option<VarId>) -> ExprId {
        let inner = self.scopes.opened(id, 1);
        let Some(var) = self.name(id, var) else {
            let whole = self.wrap(inner, body);
            return self.placed(whole);
        };
        let outer = self.scopes.get(id);
        let moved = std::mem::take(&mut self.lists[inner]);
        self.append(outer, moved);
        let mut body = body;
        while let Expr::Let { var, value, body: rest } = self.store.expr(body) {
            self.push(outer, var, value);
            body = rest;
        }
        let body = self.placed(body);
        self.push(outer, var, body)
    }

    fn push(&mut self, scope: ScopeId, var: VarId, value: ExprId) -> ExprId {
        let cell = self.cells.len();
        self.cells.push(Cell { var, value, next: None });
        self.append(scope, LetList { ends: Some((cell, cell)) });
        self.store.use_var(var)
    }

    fn append(&mut self, scope: ScopeId, list: LetList) {
        let Some((head, tail)) = list.ends else { return };
        let target = &mut self.lists[scope];
        match &mut target.ends {
            None => target.ends = Some((head, tail)),
            Some((_, last)) => {
                self.cells[*last].next = Some(head);
                *last = tail;
            }
        }
    }

    /// Puts `body` inside the bindings of a scope.
    fn wrap(&mut self, scope: ScopeId, body: ExprId) -> ExprId {
        let list = std::mem::take(&mut self.lists[scope]);
        let mut bindings = Vec::new();
        let mut next = list.ends.map(|(head, _)| head);
        while let Some(cell) = next {
            bindings.push((self.cells[cell].var, self.cells[cell].value));
            next = self.cells[cell].next;
        }
        bindings.into_iter().rev().fold(body, |body, (var, value)| self.store.add(Expr::Let { var, value, body }))
    }
}
