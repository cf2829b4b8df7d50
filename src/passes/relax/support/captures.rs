//! The surroundings that an inner function uses.

use super::symbols_made_of;
use crate::infer::relax::types::symbols;
use crate::ir::walk::{for_each_binder, post_order};
use crate::ir::{Expr, ExprId, Id, PrimExpr, Store, Symbol, Type, TypeId, VarId};
use rustc_hash::FxHashSet;

/// A part of the surroundings that an inner function uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::passes::relax) enum Captured {
    Var(VarId),
    /// A symbol of which the function computes something. One in types alone comes with what has the type.
    Symbol(Id<Symbol>),
}

impl Captured {
    /// Returns the type of the parameter for it.
    pub(in crate::passes::relax) fn ty(self, store: &mut Store) -> TypeId {
        match self {
            Captured::Var(var) => store.var_type(var).unwrap_or_else(|| store.ty(Type::Any)),
            Captured::Symbol(symbol) => store.ty(Type::Prim(store.symbol(symbol).dtype)),
        }
    }

    /// Returns the expression that hands it over.
    pub(in crate::passes::relax) fn argument(self, store: &mut Store) -> ExprId {
        match self {
            Captured::Var(var) => store.use_var(var),
            Captured::Symbol(symbol) => {
                let ty = self.ty(store);
                let prim = store.prim(PrimExpr::Var(symbol));
                store.add_typed(Expr::Prim(prim), Some(ty))
            }
        }
    }
}

/// Returns `free` and the symbols that a function computes with and does not bind, in the order of first use (TVM's
/// `FreeVars`, for which a symbol is a variable).
pub(in crate::passes::relax) fn captures(store: &Store, function: ExprId, free: &[VarId]) -> Vec<Captured> {
    let order = post_order(store, function);
    let mut own: FxHashSet<Id<Symbol>> = FxHashSet::default();
    let mut own_type = |ty: Option<TypeId>| own.extend(ty.into_iter().flat_map(|ty| symbols(store, ty, true)));
    for &node in &order {
        match store.expr(node) {
            Expr::Function(id) => store.items(store.function(id).params).for_each(|param| own_type(store.var_type(param))),
            Expr::Seq { blocks, .. } => store.bindings(blocks).for_each(|binding| own_type(binding.cast)),
            _ => {}
        }
    }
    order.iter().for_each(|node| for_each_binder(store, *node, |var| own.extend(store.var_data(var).symbol)));
    let mut found: Vec<Captured> = Vec::new();
    let mut add = |captured: Captured| {
        if !found.contains(&captured) {
            found.push(captured);
        }
    };
    for &node in &order {
        if let Expr::Var(var) = store.expr(node)
            && free.contains(&var)
        {
            add(Captured::Var(var));
        }
        let symbols = symbols_made_of(store, node).into_iter().filter(|symbol| !own.contains(symbol));
        symbols.for_each(|symbol| add(Captured::Symbol(symbol)));
    }
    free.iter().for_each(|var| add(Captured::Var(*var)));
    found
}
