//! Writes the types into the program: the last stage of inference. After `Resolver` in TVM's `type_infer.cc`. A
//! node that is typed already stays the same.

use super::collect::Collector;
use crate::ir::{Clause, Expr, ExprId, Function, Id, IdMap, List, Pattern, PatternId, Store, Type, TypeId, Var, VarId};
use rustc_hash::FxHashMap;

/// Rebuilds the expression `root` with all inferred types.
pub(super) fn rebuild(found: &mut Collector<'_>, root: ExprId) -> ExprId {
    let order = std::mem::take(&mut found.order);
    let mut rebuilder = Rebuilder { found, exprs: IdMap::new(), vars: IdMap::new(), leftover: FxHashMap::default() };
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
    /// Holes that stayed unknown, by their replacements in the result. The solver's own must not outlive it.
    leftover: FxHashMap<TypeId, TypeId>,
}

impl Rebuilder<'_, '_> {
    fn get(&self, id: ExprId) -> ExprId {
        self.exprs.get(id).copied().unwrap_or(id)
    }

    fn list(&mut self, list: List<Expr>) -> List<Expr> {
        let store = &mut *self.found.store;
        if store.items(list).all(|id| !self.exprs.contains(id)) {
            return list;
        }
        let new: Vec<ExprId> = store.items(list).map(|id| self.exprs.get(id).copied().unwrap_or(id)).collect();
        store.list(&new)
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
        let (new, same) = match old {
            Expr::Var(var) => {
                let new = self.var(var);
                return if new == var { id } else { self.found.store.use_var(new) };
            }
            Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) => return id,
            Expr::Constant(_)
            | Expr::Seq { .. }
            | Expr::Shape(_)
            | Expr::Prim(_)
            | Expr::Str(_)
            | Expr::DataType(_)
            | Expr::Extern(_)
            | Expr::PrimFunc(_)
            | Expr::Stmt(_) => (old, true),
            Expr::Tuple(fields) => {
                let new = self.list(fields);
                (Expr::Tuple(new), is_same(new, fields))
            }
            Expr::TupleGetItem { tuple, index } => {
                let new = self.get(tuple);
                (Expr::TupleGetItem { tuple: new, index }, new == tuple)
            }
            Expr::Call { callee, args, info } => {
                let (new_callee, new_args) = (self.get(callee), self.list(args));
                let new_info = match self.found.type_args.remove(&id) {
                    None => info,
                    Some(type_args) => {
                        let type_args: Vec<TypeId> = type_args.into_iter().map(|ty| self.finish(ty)).collect();
                        let attrs = info.and_then(|info| self.found.store.call_info(info).attrs);
                        self.found.store.add_call_info(attrs, &type_args)
                    }
                };
                let same = new_callee == callee && is_same(new_args, args) && new_info == info;
                (Expr::Call { callee: new_callee, args: new_args, info: new_info }, same)
            }
            Expr::Let { var, value, body } => {
                let new = (self.var(var), self.get(value), self.get(body));
                (Expr::Let { var: new.0, value: new.1, body: new.2 }, new == (var, value, body))
            }
            Expr::If { cond, then, other } => {
                let new = [cond, then, other].map(|part| self.get(part));
                (Expr::If { cond: new[0], then: new[1], other: new[2] }, new == [cond, then, other])
            }
            Expr::Function(function) => return self.function(id, *self.found.store.function(function)),
            Expr::Match { data, clauses, complete } => {
                let (new_data, new_clauses) = (self.get(data), self.clauses(clauses));
                let same = new_data == data && new_clauses.is_none();
                let clauses = match new_clauses {
                    Some(new) => self.found.store.list(&new),
                    None => clauses,
                };
                (Expr::Match { data: new_data, clauses, complete }, same)
            }
            Expr::RefCreate(value) => {
                let new = self.get(value);
                (Expr::RefCreate(new), new == value)
            }
            Expr::RefRead(reference) => {
                let new = self.get(reference);
                (Expr::RefRead(new), new == reference)
            }
            Expr::RefWrite { reference, value } => {
                let new = [reference, value].map(|part| self.get(part));
                (Expr::RefWrite { reference: new[0], value: new[1] }, new == [reference, value])
            }
        };
        let ty = self.type_of(id);
        if same && self.found.store.checked_type(id) == Some(ty) {
            return id;
        }
        self.found.store.rebuild(id, new, Some(ty))
    }

    fn function(&mut self, id: ExprId, function: Function) -> ExprId {
        let ty = self.type_of(id);
        let old: Vec<VarId> = self.found.store.items(function.params).collect();
        let params: Vec<VarId> = old.iter().map(|param| self.var(*param)).collect();
        let body = self.get(function.body);
        let ret = match self.found.written_rets.get(&id) {
            Some(&slot) => {
                let ret = self.found.solver.resolve(self.found.store, slot);
                self.finish(ret)
            }
            None => match *self.found.store.type_of_id(ty) {
                Type::Func { ret, .. } => ret,
                _ => return id,
            },
        };
        let same = params == old && body == function.body && Some(ret) == function.ret;
        if same && self.found.store.checked_type(id) == Some(ty) {
            return id;
        }
        let store = &mut *self.found.store;
        let params = if params == old { function.params } else { store.list(&params) };
        let new = store.add_function(Function { params, body, ret: Some(ret), ..function });
        store.rebuild(id, Expr::Function(new), Some(ty))
    }

    fn clauses(&mut self, clauses: List<Clause>) -> Option<Vec<Id<Clause>>> {
        let old: Vec<Id<Clause>> = self.found.store.items(clauses).collect();
        let mut new = Vec::with_capacity(old.len());
        for &id in &old {
            let clause = *self.found.store.clause(id);
            let (pattern, body) = (self.pattern(clause.pattern), self.get(clause.body));
            if pattern == clause.pattern && body == clause.body {
                new.push(id);
            } else {
                new.push(self.found.store.add_clause(Clause { pattern, body }));
            }
        }
        (new != old).then_some(new)
    }

    /// Patterns nest as deep as the parser lets them, which is shallow enough to recurse.
    fn pattern(&mut self, pattern: PatternId) -> PatternId {
        let data = *self.found.store.pattern(pattern);
        let fields = match data {
            Pattern::Wildcard => return pattern,
            Pattern::Var(var) => {
                let new = self.var(var);
                return if new == var { pattern } else { self.found.store.add_pattern(Pattern::Var(new)) };
            }
            Pattern::Ctor { ctor: _, fields } | Pattern::Tuple(fields) => fields,
        };
        let old: Vec<PatternId> = self.found.store.items(fields).collect();
        let new: Vec<PatternId> = old.iter().map(|field| self.pattern(*field)).collect();
        if new == old {
            return pattern;
        }
        let fields = self.found.store.list(&new);
        self.found.store.add_pattern(match data {
            Pattern::Ctor { ctor, .. } => Pattern::Ctor { ctor, fields },
            _ => Pattern::Tuple(fields),
        })
    }
}

/// `list` makes a new list only when an element changed, so lists at the same place are equal.
fn is_same(a: List<Expr>, b: List<Expr>) -> bool {
    a.same_place(b)
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
