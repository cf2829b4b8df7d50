//! Finds values of a dataflow block that may share memory, and the last binding that needs each.
//!
//! A *place* is the memory of one allocation. A variable may stand for several; a place that holds a tuple has places
//! for each field.
//!
//! Source: `src/relax/transform/dataflow_inplace.cc`.

use crate::infer::relax::analysis::all_vars;
use crate::ir::sort::sort_by;
use crate::ir::walk::free_vars;
use crate::ir::{Binding, Expr, ExprId, Store, Type, TypeId, VarId};
use crate::ops;
use rustc_hash::{FxHashMap, FxHashSet};

/// Places, each once, in ascending order.
type Places = Vec<u32>;

/// The place of all values from elsewhere.
const OUTSIDE: u32 = u32::MAX;

/// The limit of distinct places; further ones count as coming from elsewhere.
const MOST: usize = 1 << 20;

/// Operators whose result may be a view of their first argument.
const VIEWS: &[&str] = &[
    "expand_dims",
    "squeeze",
    "reshape",
    "permute_dims",
    "flatten",
    "nn.batch_flatten",
    "memory.view",
    "memory.ensure_zero_offset",
];

/// The places that the variables of a block may stand for.
#[derive(Default)]
pub(in crate::passes::relax) struct Aliases {
    vars: FxHashMap<VarId, Places>,
    tuples: FxHashMap<u32, Vec<Places>>,
    next: u32,
    kept: usize,
}

fn insert(places: &mut Places, new: &[u32]) {
    places.extend_from_slice(new);
    sort_by(places, Ord::cmp);
    places.dedup();
}

impl Aliases {
    /// Analyses the bindings of a block. Nothing is known of values from outside.
    pub fn of(store: &Store, bindings: &[Binding]) -> Aliases {
        let mut aliases = Aliases::default();
        for binding in bindings {
            let ty = store.var_type(binding.var);
            let places = if aliases.kept > MOST { vec![OUTSIDE] } else { aliases.value(store, binding.value, ty) };
            aliases.kept += places.len();
            aliases.vars.insert(binding.var, places);
        }
        aliases
    }

    /// Returns the places of a variable; `None` if the block does not bind it.
    pub fn places(&self, var: VarId) -> Option<&[u32]> {
        self.vars.get(&var).map(Vec::as_slice)
    }

    /// Returns the places of a variable and of all fields in them; `None` when one of them may be any.
    pub fn reached(&self, var: VarId) -> Option<FxHashSet<u32>> {
        let mut found: FxHashSet<u32> = FxHashSet::default();
        let mut waiting = self.vars.get(&var)?.clone();
        while let Some(place) = waiting.pop() {
            if place == OUTSIDE {
                return None;
            }
            if found.insert(place) {
                waiting.extend(self.tuples.get(&place).into_iter().flatten().flatten());
            }
        }
        Some(found)
    }

    /// True if two operands of a call never share a known place.
    pub fn apart(&self, a: &[u32], other: Option<VarId>) -> bool {
        let other = other.and_then(|var| self.places(var)).unwrap_or(&[OUTSIDE]);
        !a.iter().any(|place| other.contains(place))
    }

    /// Returns a new place.
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Makes a place for a value of this type, with places for its fields.
    fn fresh_of(&mut self, store: &Store, ty: Option<TypeId>) -> u32 {
        let place = self.fresh();
        if let Some(Type::Tuple(fields)) = ty.map(|ty| store.type_of_id(ty)) {
            let fields = fields.iter().map(|field| vec![self.fresh_of(store, Some(*field))]).collect();
            self.tuples.insert(place, fields);
        }
        place
    }

    fn value(&mut self, store: &Store, value: ExprId, ty: Option<TypeId>) -> Places {
        match store.expr(value) {
            Expr::Constant(_) | Expr::Function(_) | Expr::Prim(_) => vec![self.fresh()],
            Expr::Var(var) => self.vars.get(&var).cloned().unwrap_or_else(|| vec![OUTSIDE]),
            Expr::Tuple(fields) => {
                let place = self.fresh();
                let fields = store.items(fields).map(|field| self.value(store, field, ty)).collect();
                self.tuples.insert(place, fields);
                vec![place]
            }
            Expr::TupleGetItem { tuple, index } => {
                let tuple = self.value(store, tuple, ty);
                if tuple.contains(&OUTSIDE) {
                    return vec![OUTSIDE];
                }
                let mut places = Vec::new();
                for place in tuple {
                    let field = self.tuples.get(&place).and_then(|fields| fields.get(index as usize));
                    insert(&mut places, field.map_or(&[], Vec::as_slice));
                }
                places
            }
            Expr::Call { args, info, .. } => {
                let args: Vec<ExprId> = store.items(args).collect();
                let Some(op) = store.called_op(value) else { return self.unknown_call(store, &args, ty) };
                let name = ops::info(op).relax.as_ref().map_or("", |row| row.name);
                match (name, &args[..]) {
                    ("call_pure_packed", [_, rest @ ..]) => self.unknown_call(store, rest, ty),
                    ("call_tir", _) => {
                        let ty = info.and_then(|info| store.call_info(info).type_args.first().copied());
                        vec![self.fresh_of(store, ty)]
                    }
                    (name, [first, ..]) if VIEWS.contains(&name) => self.value(store, *first, ty),
                    _ => vec![self.fresh_of(store, ty)],
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the result of an unknown function: new memory, or any argument or part of one; so is every field of it.
    fn unknown_call(&mut self, store: &Store, args: &[ExprId], ty: Option<TypeId>) -> Places {
        let result = self.fresh_of(store, ty);
        let mut waiting = vec![result];
        for arg in args {
            waiting.extend(self.value(store, *arg, ty));
        }
        let mut found: FxHashSet<u32> = FxHashSet::default();
        while let Some(place) = waiting.pop() {
            if found.insert(place) {
                waiting.extend(self.tuples.get(&place).into_iter().flatten().flatten());
            }
        }
        let mut places: Places = found.into_iter().collect();
        sort_by(&mut places, Ord::cmp);
        let mut waiting = vec![result];
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(place) = waiting.pop() {
            let Some(fields) = self.tuples.get_mut(&place).filter(|_| seen.insert(place)) else { continue };
            for field in fields {
                waiting.extend(field.iter());
                insert(field, &places);
                self.kept += places.len();
            }
        }
        places
    }
}

/// Returns for each variable the index of the last binding that needs it; the number of bindings if it is needed behind
/// the block. Taking a field of a tuple does not need the tuple.
pub(in crate::passes::relax) fn last_needed(store: &Store, bindings: &[Binding]) -> FxHashMap<VarId, usize> {
    let mut last: FxHashMap<VarId, usize> = FxHashMap::default();
    let end = |var: VarId, here: usize| if store.var_data(var).dataflow { here } else { bindings.len() };
    for (index, binding) in bindings.iter().enumerate().rev() {
        let used = match store.expr(binding.value) {
            Expr::Function(_) => free_vars(store, binding.value),
            Expr::TupleGetItem { .. } => Vec::new(),
            _ => all_vars(store, binding.value),
        };
        for var in used.into_iter().chain([binding.var]) {
            last.entry(var).or_insert_with(|| end(var, index));
        }
    }
    last
}
