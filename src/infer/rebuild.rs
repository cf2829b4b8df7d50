//! Writes the types into the program: the last stage of inference. After `Resolver` in TVM's `type_infer.cc`. A
//! node that is typed already stays the same.

use super::collect::Collector;
use crate::ir::walk::{for_each_binder, for_each_child};
use crate::ir::{Expr, ExprId, Function, Id, IdMap, Store, Type, TypeId, Var, VarId, map_children};
use rustc_hash::FxHashMap;

/// Rebuilds the expression `root` with all inferred types.
pub(super) fn rebuild(found: &mut Collector<'_>, root: ExprId) -> ExprId {
    let order = std::mem::take(&mut found.order);
    let mut rebuilder =
        Rebuilder { found, exprs: IdMap::new(), vars: IdMap::new(), children: Vec::new(), leftover: FxHashMap::default() };
    for id in order {
        let new = rebuilder.expr(id);
        if new != id {
            rebuilder.exprs.insert(id, new);
        }
    }
    rebuilder.get(root)
}

struct Rebuilder<'a, 'b> {
    found: &'a mut Collector<'b>,
    /// The replacements of changed expressions.
    exprs: IdMap<Expr, ExprId>,
    vars: IdMap<Var, VarId>,
    /// The replacements of the children of the expression at hand; kept for its room.
    children: Vec<ExprId>,
    /// Holes that stayed unknown, by their replacements in the result. The solver's own must not outlive it.
    leftover: FxHashMap<TypeId, TypeId>,
}

impl Rebuilder<'_, '_> {
    fn get(&self, id: ExprId) -> ExprId {
        self.exprs.get(id).copied().unwrap_or(id)
    }

    fn finish(&mut self, ty: TypeId) -> TypeId {
        let resolved = self.found.solver.resolve_type(self.found.store, ty);
        if self.found.solver.facts.is_closed(self.found.store, resolved) {
            return resolved;
        }
        close(self.found.store, resolved, &mut self.leftover)
    }

    fn type_of(&mut self, id: ExprId) -> TypeId {
        let slot = *self.found.types.get(id).expect("every expression in the order has a slot");
        let ty = self.found.solver.resolve(self.found.store, slot);
        self.finish(ty)
    }

    fn var(&mut self, var: VarId) -> VarId {
        if let Some(&new) = self.vars.get(var) {
            return new;
        }
        let Some(&slot) = self.found.vars.get(var) else {
            return var;
        };
        let ty = self.found.solver.resolve(self.found.store, slot);
        let ty = Some(self.finish(ty));
        let data = self.found.store.var_data(var);
        let new = if data.annotation == ty && data.ty == ty { var } else { self.found.store.var_from(var, ty, ty) };
        self.vars.insert(var, new);
        new
    }

    fn expr(&mut self, id: ExprId) -> ExprId {
        let old = self.found.store.expr(id);
        match old {
            Expr::Var(var) => {
                let new = self.var(var);
                return if new == var { id } else { self.found.store.use_var(new) };
            }
            Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) => return id,
            _ => {}
        }
        let mut binders = Vec::new();
        for_each_binder(self.found.store, id, |var| binders.push(var));
        binders.into_iter().for_each(|var| {
            self.var(var);
        });
        self.children.clear();
        let (exprs, children) = (&self.exprs, &mut self.children);
        for_each_child(self.found.store, id, |child| children.push(exprs.get(child).copied().unwrap_or(child)));
        let vars = &self.vars;
        let new = map_children(self.found.store, id, &self.children, &|var| vars.get(var).copied().unwrap_or(var));
        let ty = self.type_of(id);
        let written = match new.unwrap_or(old) {
            Expr::Call { callee, args, info } if let Some(type_args) = self.found.type_args.remove(&id) => {
                let type_args: Vec<TypeId> = type_args.into_iter().map(|ty| self.finish(ty)).collect();
                let attrs = info.and_then(|info| self.found.store.call_info(info).attrs);
                let found = self.found.store.add_call_info(attrs, &type_args);
                (found != info).then_some(Expr::Call { callee, args, info: found })
            }
            Expr::Function(function) => self.result_type(id, ty, function),
            _ => None,
        };
        let new = written.or(new);
        if new.is_none() && self.found.store.checked_type(id) == Some(ty) {
            return id;
        }
        self.found.store.rebuild(id, new.unwrap_or(old), Some(ty))
    }

    /// Returns the function with its result type written; `None` if it has that.
    fn result_type(&mut self, id: ExprId, ty: TypeId, function: Id<Function>) -> Option<Expr> {
        let ret = match self.found.written_rets.get(&id) {
            Some(&slot) => {
                let ret = self.found.solver.resolve(self.found.store, slot);
                self.finish(ret)
            }
            None => match *self.found.store.type_of_id(ty) {
                Type::Func { ret, .. } => ret,
                _ => return None,
            },
        };
        let data = *self.found.store.function(function);
        let new = (data.ret != Some(ret)).then_some(Function { ret: Some(ret), ..data })?;
        Some(Expr::Function(self.found.store.add_function(new)))
    }
}

/// Replaces the solver's holes in a type by new ones; the program's own stay. Depth is limited by the solver.
fn close(store: &mut Store, ty: TypeId, leftover: &mut FxHashMap<TypeId, TypeId>) -> TypeId {
    if let Some(&known) = leftover.get(&ty) {
        return known;
    }
    let new = match store.type_of_id(ty) {
        Type::Hole(number) if *number < Store::FIRST_SCRATCH_HOLE => ty,
        Type::Hole(_) => store.hole(),
        _ => super::subst::map_children(store, ty, &mut |store, child| close(store, child, leftover)),
    };
    leftover.insert(ty, new);
    new
}
