//! Queries of Relax's types and maps over them (TVM: src/relax/analysis/type_analysis.cc).
//!
//! Types are interned and children are older than their parents, so all functions go bottom up with a stack of their
//! own.

use crate::ir::sort::sort_by;
use crate::ir::walk::for_each_type_in;
use crate::ir::{Dim, Extents, Id, PrimExpr, PrimId, Store, Symbol, TensorInfo, Type, TypeId, VarId};
use crate::ops::dim_arith;
use crate::tir::arith::{Analyzer, equal_extents};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Returns the types inside of `ty` and itself, children first, each once; those inside of function types only on request.
fn post_order(store: &Store, ty: TypeId, functions: bool) -> Vec<TypeId> {
    if !matches!(store.type_of_id(ty), Type::Tuple(_) | Type::Callable { .. } | Type::Distributed { .. }) {
        return vec![ty];
    }
    let mut seen = FxHashSet::default();
    let mut order = Vec::new();
    let mut stack = vec![(ty, false)];
    while let Some((top, open)) = stack.pop() {
        if open {
            order.push(top);
        } else if seen.insert(top) {
            stack.push((top, true));
            if !functions && matches!(store.type_of_id(top), Type::Callable { .. }) {
                continue;
            }
            for_each_type_in(store, top, &mut |child| stack.push((child, false)));
        }
    }
    order
}

/// True if a type is known to mention neither symbols nor variables, as most types do. False for nested tuples.
pub fn is_plain(store: &Store, ty: TypeId) -> bool {
    let number = |dim: &Dim| matches!(dim, Dim::Int { .. } | Dim::Any);
    let leaf = |ty: &TypeId| match store.type_of_id(*ty) {
        Type::Tensor { shape, .. } => shape.iter().all(number),
        Type::PartialTensor(TensorInfo { extents, .. }) | Type::Shape(extents) => match extents {
            Extents::Known(dims) => dims.iter().all(number),
            Extents::Var(_) => false,
            Extents::Unknown | Extents::Rank(_) => true,
        },
        Type::Prim(_) | Type::Any | Type::Str | Type::PackedFunc => true,
        Type::Tuple(fields) => fields.is_empty(),
        _ => false,
    };
    match store.type_of_id(ty) {
        Type::Tuple(fields) => fields.iter().all(leaf),
        Type::Callable { params, ret, .. } => params.iter().flatten().all(leaf) && leaf(ret),
        _ => leaf(&ty),
    }
}

/// Replaces every node of a type, children first. `f` gets the node over its new children. Function types stay as they
/// are, because they define all symbols that they mention.
fn map(store: &mut Store, ty: TypeId, f: &mut dyn FnMut(&mut Store, Type) -> Type) -> TypeId {
    let mut done: FxHashMap<TypeId, TypeId> = FxHashMap::default();
    for id in post_order(store, ty, false) {
        let at = |child: &TypeId| done.get(child).copied().unwrap_or(*child);
        let node = match store.type_of_id(id).clone() {
            Type::Tuple(fields) => Type::Tuple(fields.iter().map(at).collect()),
            Type::Distributed { tensor, mesh, placement } => Type::Distributed { tensor: at(&tensor), mesh, placement },
            other => other,
        };
        let node = f(store, node);
        let new = intern(store, node);
        done.insert(id, new);
    }
    done.get(&ty).copied().unwrap_or(ty)
}

/// Interns a type; a completely known tensor is the type of both dialects.
fn intern(store: &mut Store, ty: Type) -> TypeId {
    match ty {
        Type::PartialTensor(info) => store.tensor_like(info),
        other => store.ty(other),
    }
}

/// The values of symbols.
pub type Bindings = FxHashMap<Id<Symbol>, Dim>;

/// Replaces symbols in an extent by their values, simplified.
pub fn substitute_dim(store: &mut Store, dim: Dim, to: &Bindings) -> Dim {
    match dim {
        Dim::Int { .. } | Dim::Any => dim,
        Dim::Symbol(symbol) => to.get(&symbol).copied().unwrap_or(dim),
        Dim::Expr(prim) => {
            let mut touched = false;
            // If no symbol changes, nothing is simplified.
            let becomes_another = |symbol: &Id<Symbol>| to.get(symbol).is_some_and(|dim| *dim != Dim::Symbol(*symbol));
            store.for_each_prim(prim, &mut |_, node| touched |= matches!(node, PrimExpr::Var(symbol) if becomes_another(symbol)));
            match touched.then(|| substitute_prim(store, prim, to)) {
                Some(Dim::Expr(new)) => {
                    let simple = Analyzer::new().simplify(store, new);
                    store.dim_of_prim(simple)
                }
                Some(new) => new,
                None => dim,
            }
        }
    }
}

fn substitute_prim(store: &mut Store, root: PrimId, to: &Bindings) -> Dim {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    // Children are interned before their parents.
    sort_by(&mut order, Ord::cmp);
    order.dedup();
    let mut done: FxHashMap<PrimId, Dim> = FxHashMap::default();
    for id in order {
        let node = store.prim_rc(id);
        let at = |child: PrimId| done.get(&child).copied();
        let new = match &*node {
            PrimExpr::Var(symbol) => to.get(symbol).copied(),
            PrimExpr::Binary { op, a, b } => match (at(*a), at(*b)) {
                (None, None) => None,
                (x, y) => {
                    let (x, y) = (x.unwrap_or_else(|| store.dim_of_prim(*a)), y.unwrap_or_else(|| store.dim_of_prim(*b)));
                    Some(dim_arith(store, *op, x, y))
                }
            },
            PrimExpr::Cast { dtype, value } => at(*value).map(|value| match value {
                Dim::Int { value, .. } => Dim::Int { value, bits: dtype.bits },
                other => {
                    let value = store.prim_of_dim(other);
                    let cast = store.prim(PrimExpr::Cast { dtype: *dtype, value });
                    store.dim_of_prim(cast)
                }
            }),
            PrimExpr::Call { op, args, dtype } if args.iter().any(|arg| done.contains_key(arg)) => {
                let args: Box<[PrimId]> = args
                    .iter()
                    .map(|arg| match done.get(arg).copied() {
                        Some(dim) => store.prim_of_dim(dim),
                        None => *arg,
                    })
                    .collect();
                let call = store.prim(PrimExpr::Call { op: *op, args, dtype: *dtype });
                Some(store.dim_of_prim(call))
            }
            _ => None,
        };
        if let Some(new) = new {
            done.insert(id, new);
        }
    }
    match done.get(&root) {
        Some(dim) => *dim,
        None => store.dim_of_prim(root),
    }
}

/// Gives symbols in an extent other names, and leaves its form as it is.
pub fn rename_dim(store: &mut Store, dim: Dim, to: &Bindings) -> Dim {
    let Dim::Expr(prim) = dim else { return substitute_dim(store, dim, to) };
    let new =
        crate::tir::substitute(store, prim, &mut |store, symbol| to.get(&symbol).copied().map(|dim| store.prim_of_dim(dim)));
    store.dim_of_prim(new)
}

/// Replaces the extents in a type.
fn map_dims(store: &mut Store, ty: TypeId, f: &dyn Fn(&mut Store, Dim) -> Dim) -> TypeId {
    let known = |store: &mut Store, dims: &[Dim]| -> Rc<[Dim]> { dims.iter().map(|dim| f(store, *dim)).collect() };
    let extents = |store: &mut Store, extents: Extents| match extents {
        Extents::Known(dims) => Extents::Known(known(store, &dims)),
        other => other,
    };
    map(store, ty, &mut |store, node| match node {
        Type::Tensor { shape, dtype } => Type::Tensor { shape: known(store, &shape), dtype },
        Type::PartialTensor(info) => Type::PartialTensor(TensorInfo { extents: extents(store, info.extents), ..info }),
        Type::Shape(of) => Type::Shape(extents(store, of)),
        other => other,
    })
}

/// Gives symbols in a type other names.
pub fn rename(store: &mut Store, ty: TypeId, to: &Bindings) -> TypeId {
    if to.is_empty() || is_plain(store, ty) { ty } else { map_dims(store, ty, &|store, dim| rename_dim(store, dim, to)) }
}

/// Replaces symbols in a type by their values.
pub fn substitute(store: &mut Store, ty: TypeId, to: &Bindings) -> TypeId {
    if to.is_empty() || is_plain(store, ty) {
        return ty;
    }
    map_dims(store, ty, &|store, dim| substitute_dim(store, dim, to))
}

/// Replaces the variables that hold shapes in a type by the results of `f`.
pub fn substitute_shapes(store: &mut Store, ty: TypeId, f: &dyn Fn(&Store, VarId) -> Option<Extents>) -> TypeId {
    if is_plain(store, ty) {
        return ty;
    }
    map(store, ty, &mut |store, node| match node {
        Type::PartialTensor(info) => match info.extents {
            Extents::Var(var) => {
                let extents = f(store, var).unwrap_or(Extents::Var(var));
                Type::PartialTensor(TensorInfo { extents, ..info })
            }
            _ => Type::PartialTensor(info),
        },
        other => other,
    })
}

/// Returns the symbols that a type mentions. With `whole`, only those that are a whole extent, which the type of a
/// parameter or `match_cast` defines.
pub fn symbols(store: &Store, ty: TypeId, whole: bool) -> Vec<Id<Symbol>> {
    if is_plain(store, ty) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut add = |dims: &[Dim]| {
        for dim in dims {
            match dim {
                Dim::Symbol(symbol) => found.push(*symbol),
                Dim::Expr(prim) if !whole => store.for_each_prim(*prim, &mut |_, node| {
                    if let PrimExpr::Var(symbol) = node {
                        found.push(*symbol);
                    }
                }),
                _ => {}
            }
        }
    };
    for id in post_order(store, ty, true) {
        match store.type_of_id(id) {
            Type::Tensor { shape, .. } => add(shape),
            Type::PartialTensor(TensorInfo { extents: Extents::Known(dims), .. }) | Type::Shape(Extents::Known(dims)) => {
                add(dims)
            }
            _ => {}
        }
    }
    found
}

/// Erases symbols and variables from a type that are not in scope: extents with unknown symbols and shapes in unknown
/// variables are forgotten, their number is kept (TVM's `EraseToWellDefined`).
pub fn erase(store: &mut Store, ty: TypeId, knows: &dyn Fn(Id<Symbol>) -> bool, knows_var: &dyn Fn(VarId) -> bool) -> TypeId {
    if is_plain(store, ty) {
        return ty;
    }
    let forget = |store: &Store, extents: Extents| match extents {
        Extents::Known(dims) => {
            let mut all = true;
            for dim in dims.iter() {
                match dim {
                    Dim::Symbol(symbol) => all &= knows(*symbol),
                    Dim::Expr(prim) => store.for_each_prim(*prim, &mut |_, node| {
                        if let PrimExpr::Var(symbol) = node {
                            all &= knows(*symbol);
                        }
                    }),
                    Dim::Int { .. } | Dim::Any => {}
                }
            }
            if all { Extents::Known(dims) } else { Extents::Rank(dims.len() as u32) }
        }
        Extents::Var(var) if !knows_var(var) => {
            let rank = store.rank(&Extents::Var(var));
            rank.map_or(Extents::Unknown, |rank| Extents::Rank(rank as u32))
        }
        other => other,
    };
    map(store, ty, &mut |store, node| match node {
        Type::Tensor { shape, dtype } => match forget(store, Extents::Known(shape)) {
            Extents::Known(shape) => Type::Tensor { shape, dtype },
            extents => Type::PartialTensor(TensorInfo { extents, dtype: Some(dtype), vdevice: None }),
        },
        Type::PartialTensor(info) => Type::PartialTensor(TensorInfo { extents: forget(store, info.extents.clone()), ..info }),
        Type::Shape(extents) => Type::Shape(forget(store, extents)),
        other => other,
    })
}

/// True for the type of the empty tuple.
pub fn is_void(store: &Store, ty: TypeId) -> bool {
    matches!(store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty())
}

/// The degree to which a value of one type fits another type (TVM's `BaseCheckResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Never.
    Never,
    /// Perhaps: rank or element type have to be checked at run time.
    Unknown,
    /// Perhaps: extents have to be checked at run time.
    Extents,
    /// Always.
    Always,
}

/// Checks if a value of type `derived` fits the type `base` (TVM's `TypeBaseCheck`).
pub fn fit(store: &mut Store, base: TypeId, derived: TypeId) -> Fit {
    if base == derived {
        return Fit::Always;
    }
    let mut worst = Fit::Always;
    let mut pairs = vec![(base, derived, false)];
    while let Some((base, derived, param)) = pairs.pop() {
        let mut found = if base == derived { Fit::Always } else { fit_node(store, base, derived, &mut pairs) };
        // For parameters only impossible types count at once.
        if param && found == Fit::Unknown {
            found = Fit::Extents;
        }
        worst = worst.min(found);
        if worst == Fit::Never {
            break;
        }
    }
    worst
}

fn fit_node(store: &mut Store, base: TypeId, derived: TypeId, pairs: &mut Vec<(TypeId, TypeId, bool)>) -> Fit {
    let (wanted, given) = (store.type_of_id(base).clone(), store.type_of_id(derived).clone());
    match (wanted, given) {
        (Type::Any, _) => Fit::Always,
        (_, Type::Any) => Fit::Unknown,
        (Type::Prim(a), Type::Prim(b)) => {
            if a == b {
                Fit::Always
            } else {
                Fit::Never
            }
        }
        (Type::Shape(a), Type::Shape(b)) => fit_extents(store, &a, &b),
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            pairs.extend(a.iter().zip(&b).map(|(a, b)| (*a, *b, false)));
            Fit::Always
        }
        (Type::Callable { params: a, ret: a_ret, pure: a_pure }, Type::Callable { params: b, ret: b_ret, pure: b_pure }) => {
            if a_pure && !b_pure {
                return Fit::Never;
            }
            pairs.push((a_ret, b_ret, false));
            match (a, b) {
                (None, _) => Fit::Always,
                (Some(_), None) => Fit::Unknown,
                (Some(a), Some(b)) if a.len() == b.len() => {
                    pairs.extend(a.iter().zip(&b).map(|(a, b)| (*b, *a, true)));
                    Fit::Always
                }
                (Some(_), Some(_)) => Fit::Never,
            }
        }
        (Type::PackedFunc, Type::Callable { .. } | Type::PackedFunc) | (Type::Callable { .. }, Type::PackedFunc) => Fit::Unknown,
        (Type::Str, Type::Str) => Fit::Always,
        _ => match (store.tensor_info(base), store.tensor_info(derived)) {
            (Some(a), Some(b)) => fit_tensors(store, &a, &b),
            _ => Fit::Never,
        },
    }
}

fn fit_tensors(store: &mut Store, a: &TensorInfo, b: &TensorInfo) -> Fit {
    let mut fit = match (a.dtype, b.dtype) {
        (None, _) => Fit::Always,
        (Some(_), None) => Fit::Unknown,
        (Some(a), Some(b)) => {
            if a == b {
                Fit::Always
            } else {
                Fit::Never
            }
        }
    };
    if let Some(device) = a.vdevice {
        fit = fit.min(match b.vdevice {
            None => Fit::Unknown,
            Some(other) if store.object(other) == store.object(device) => Fit::Always,
            Some(_) => Fit::Never,
        });
    }
    fit.min(fit_extents(store, &a.extents, &b.extents))
}

fn fit_extents(store: &mut Store, a: &Extents, b: &Extents) -> Fit {
    if a == b {
        return Fit::Always;
    }
    let Some(wanted) = store.rank(a) else {
        return if matches!(a, Extents::Var(_)) { Fit::Extents } else { Fit::Always };
    };
    match store.rank(b) {
        None => return Fit::Unknown,
        Some(rank) if rank != wanted => return Fit::Never,
        Some(_) => {}
    }
    match (a, b) {
        (Extents::Rank(_) | Extents::Unknown, _) => Fit::Always,
        (Extents::Known(a), Extents::Known(b)) => {
            let mut fit = Fit::Always;
            for (a, b) in a.iter().zip(b.iter()) {
                fit = fit.min(match (a.known(), b.known()) {
                    (Some(a), Some(b)) => {
                        if a == b {
                            Fit::Always
                        } else {
                            Fit::Never
                        }
                    }
                    _ if equal_extents(store, *a, *b) => Fit::Always,
                    _ => Fit::Extents,
                });
            }
            fit
        }
        _ => Fit::Extents,
    }
}

/// Returns the smallest type that both fit (TVM's `TypeLCA`).
pub fn common(store: &mut Store, a: TypeId, b: TypeId) -> TypeId {
    let mut tasks = vec![Join::Types(a, b)];
    let mut results: Vec<TypeId> = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Join::Types(a, b) if a == b => results.push(a),
            Join::Types(a, b) => match (store.type_of_id(a).clone(), store.type_of_id(b).clone()) {
                (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
                    tasks.push(Join::Tuple(x.len()));
                    tasks.extend(x.iter().zip(&y).rev().map(|(x, y)| Join::Types(*x, *y)));
                }
                _ => {
                    let ty = common_leaf(store, a, b);
                    results.push(ty);
                }
            },
            Join::Tuple(count) => {
                let fields = results.split_off(results.len() - count);
                let ty = store.tuple_type(&fields);
                results.push(ty);
            }
        }
    }
    results.pop().unwrap_or(a)
}

enum Join {
    Types(TypeId, TypeId),
    /// A tuple over this many results.
    Tuple(usize),
}

fn common_leaf(store: &mut Store, a: TypeId, b: TypeId) -> TypeId {
    if let (Some(x), Some(y)) = (store.tensor_info(a), store.tensor_info(b)) {
        let same_device = match (x.vdevice, y.vdevice) {
            (Some(x), Some(y)) => store.object(x) == store.object(y),
            (x, y) => x == y,
        };
        let extents = common_extents(store, &x.extents, &y.extents);
        let dtype = if x.dtype == y.dtype { x.dtype } else { None };
        return store.tensor_like(TensorInfo { extents, dtype, vdevice: x.vdevice.filter(|_| same_device) });
    }
    match (store.type_of_id(a).clone(), store.type_of_id(b).clone()) {
        (Type::Shape(x), Type::Shape(y)) => {
            let extents = common_extents(store, &x, &y);
            store.ty(Type::Shape(extents))
        }
        (Type::Callable { pure: x, .. }, Type::Callable { pure: y, .. }) => {
            let ret = store.ty(Type::Any);
            store.ty(Type::Callable { params: None, ret, pure: x && y })
        }
        _ => store.ty(Type::Any),
    }
}

fn common_extents(store: &mut Store, a: &Extents, b: &Extents) -> Extents {
    if a == b {
        return a.clone();
    }
    if let (Extents::Known(x), Extents::Known(y)) = (a, b)
        && x.len() == y.len()
        && x.iter().zip(y.iter()).all(|(x, y)| equal_extents(store, *x, *y))
    {
        return a.clone();
    }
    match (store.rank(a), store.rank(b)) {
        (Some(x), Some(y)) if x == y => Extents::Rank(x as u32),
        _ => Extents::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, PrimOp};

    fn symbol(store: &mut Store, name: &str) -> Id<Symbol> {
        let name = store.name(name);
        store.add_symbol(Symbol { name, dtype: DType::I64, size: false })
    }

    fn int(value: i64) -> Dim {
        Dim::Int { value, bits: 64 }
    }

    #[test]
    fn symbols_are_replaced_and_the_arithmetic_over_them_done() {
        let store = &mut Store::new();
        let n = symbol(store, "n");
        let next = store.dim_binary(PrimOp::Add, Dim::Symbol(n), int(1));
        let ty = store.tensor_type(&[Dim::Symbol(n), next], DType::F32);
        let wanted = store.tensor_type(&[int(4), int(5)], DType::F32);
        assert_eq!(substitute(store, ty, &Bindings::from_iter([(n, int(4))])), wanted);
        assert_eq!(symbols(store, ty, true), [n]);
        assert_eq!(symbols(store, ty, false), [n, n]);
    }

    #[test]
    fn what_is_out_of_scope_is_forgotten_but_for_its_rank() {
        let store = &mut Store::new();
        let (n, m) = (symbol(store, "n"), symbol(store, "m"));
        let known = store.tensor_type(&[Dim::Symbol(n)], DType::F32);
        let lost = store.tensor_type(&[Dim::Symbol(m), int(2)], DType::F32);
        let both = store.tuple_type(&[known, lost]);
        let vague = store.tensor_like(TensorInfo { extents: Extents::Rank(2), dtype: Some(DType::F32), vdevice: None });
        let wanted = store.tuple_type(&[known, vague]);
        assert_eq!(erase(store, both, &|symbol| symbol == n, &|_| false), wanted);
    }

    #[test]
    fn how_types_fit_is_what_the_table_of_tvm_says() {
        let store = &mut Store::new();
        let n = symbol(store, "n");
        let any = store.ty(Type::Any);
        let four = store.tensor_type(&[int(4)], DType::F32);
        let five = store.tensor_type(&[int(5)], DType::F32);
        let symbolic = store.tensor_type(&[Dim::Symbol(n)], DType::F32);
        let vector = store.tensor_like(TensorInfo { extents: Extents::Rank(1), dtype: Some(DType::F32), vdevice: None });
        let unknown = store.tensor_like(TensorInfo::UNKNOWN);
        assert_eq!(fit(store, any, four), Fit::Always);
        assert_eq!(fit(store, four, any), Fit::Unknown);
        assert_eq!(fit(store, four, five), Fit::Never);
        assert_eq!(fit(store, four, symbolic), Fit::Extents);
        assert_eq!(fit(store, vector, four), Fit::Always);
        assert_eq!(fit(store, four, vector), Fit::Extents);
        assert_eq!(fit(store, vector, unknown), Fit::Unknown);
        assert_eq!(common(store, four, five), vector);
        assert_eq!(common(store, four, any), any);
    }
}
