//! Reductions that TVM knows to be commutative, and finding them in a block (the registry in
//! `src/s_tir/schedule/primitive/reduction.cc`, and `analysis/reducer.cc` beside it).

use super::{math, substitute};
use crate::ir::{Block, Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Reducer, Stmt, StmtId, Store, Symbol};

/// The combination of a reduction's old and added values, for each of its buffers.
#[derive(Clone, Debug)]
pub struct Known {
    lhs: Vec<Id<Symbol>>,
    rhs: Vec<Id<Symbol>>,
    results: Vec<PrimId>,
    /// The identity elements of the combination.
    pub identities: Vec<PrimId>,
}

/// A reduction found in a block.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The combination.
    pub reducer: Known,
    /// Each buffer.
    pub buffers: Vec<Id<Buffer>>,
    /// The indices of the result in the buffers; the same for all.
    pub indices: Vec<PrimId>,
    /// The old values: the load of each buffer.
    pub lhs: Vec<PrimId>,
    /// The value added to each.
    pub rhs: Vec<PrimId>,
}

impl Known {
    /// The reducer as attributes hold it.
    pub fn reducer(&self) -> Reducer {
        let [lhs, rhs] = [&self.lhs, &self.rhs].map(|vars| vars.as_slice().into());
        Reducer { lhs, rhs, results: self.results.as_slice().into(), identities: self.identities.as_slice().into() }
    }

    /// Combines pairs of values.
    pub fn combine(&self, store: &mut Store, lhs: &[PrimId], rhs: &[PrimId]) -> Vec<PrimId> {
        let value = |symbol: Id<Symbol>| {
            let at = |vars: &[Id<Symbol>], values: &[PrimId]| {
                vars.iter().position(|var| *var == symbol).and_then(|at| values.get(at).copied())
            };
            at(&self.lhs, lhs).or_else(|| at(&self.rhs, rhs))
        };
        self.results.iter().map(|result| substitute(store, *result, &mut |_, symbol| value(symbol))).collect()
    }
}

/// Returns the known reducers of so many values of these types.
fn registry(store: &mut Store, dtypes: &[DType]) -> Vec<Known> {
    let vars = |store: &mut Store, prefix: &str| -> (Vec<Id<Symbol>>, Vec<PrimId>) {
        dtypes
            .iter()
            .enumerate()
            .map(|(place, dtype)| {
                let name = store.name(&format!("{prefix}{place}"));
                let var = store.add_symbol(Symbol { name, dtype: *dtype, size: false });
                (var, store.prim(PrimExpr::Var(var)))
            })
            .unzip()
    };
    let (lhs, x) = vars(store, "x");
    let (rhs, y) = vars(store, "y");
    let made = |results, identities| Known { lhs: lhs.clone(), rhs: rhs.clone(), results, identities };
    let mut all = Vec::new();
    match (&x[..], &y[..]) {
        (&[x], &[y]) => {
            let dtype = dtypes[0];
            let (zero, one) = (math::constant(store, 0, dtype), math::constant(store, 1, dtype));
            let (least, most) = (math::limit(store, dtype, false), math::limit(store, dtype, true));
            for (op, identity) in [(PrimOp::Add, zero), (PrimOp::Mul, one), (PrimOp::Min, most), (PrimOp::Max, least)] {
                all.push(made(vec![store.prim_binary(op, x, y)], vec![identity]));
            }
        }
        (&[x0, x1], &[y0, y1]) => {
            let sums = vec![store.prim_binary(PrimOp::Add, x0, y0), store.prim_binary(PrimOp::Add, x1, y1)];
            let zeros = vec![math::constant(store, 0, dtypes[0]), math::constant(store, 0, dtypes[1])];
            all.push(made(sums, zeros));
            let none = math::constant(store, -1, dtypes[0]);
            for (loose, strict, greatest) in [(PrimOp::Ge, PrimOp::Gt, false), (PrimOp::Le, PrimOp::Lt, true)] {
                let identity = vec![none, math::limit(store, dtypes[1], greatest)];
                let choose = |store: &mut Store, cond, then, other| store.prim(PrimExpr::Select { cond, then, other });
                let cond = store.prim_binary(loose, x1, y1);
                let results = vec![choose(store, cond, x0, y0), choose(store, cond, x1, y1)];
                all.push(made(results, identity.clone()));
                let better = store.prim_binary(strict, x1, y1);
                let same = store.prim_binary(PrimOp::Eq, x1, y1);
                let first = store.prim_binary(PrimOp::Lt, x0, y0);
                let tie = store.prim_binary(PrimOp::And, same, first);
                let cond = store.prim_binary(PrimOp::Or, better, tie);
                let results = vec![choose(store, cond, x0, y0), choose(store, better, x1, y1)];
                all.push(made(results, identity));
            }
        }
        _ => {}
    }
    all
}

/// Matches an expression with a pattern, and binds its variables.
fn matches(store: &Store, pattern: PrimId, expr: PrimId, vars: &[Id<Symbol>], found: &mut [Option<PrimId>]) -> bool {
    if let PrimExpr::Var(var) = store.prim_of_id(pattern)
        && let Some(at) = vars.iter().position(|known| known == var)
    {
        return *found[at].get_or_insert(expr) == expr;
    }
    match (store.prim_of_id(pattern), store.prim_of_id(expr)) {
        (PrimExpr::Binary { op, a, b }, PrimExpr::Binary { op: other, a: x, b: y }) => {
            op == other && matches(store, *a, *x, vars, found) && matches(store, *b, *y, vars, found)
        }
        (PrimExpr::Select { cond, then, other }, PrimExpr::Select { cond: c, then: t, other: o }) => {
            [(cond, c), (then, t), (other, o)].into_iter().all(|(a, b)| matches(store, *a, *b, vars, found))
        }
        _ => pattern == expr,
    }
}

/// A store: its buffer, its indices, its value.
type Stored = (Id<Buffer>, Box<[PrimId]>, PrimId);

fn stored(store: &Store, id: StmtId) -> Option<Stored> {
    match store.stmt(id) {
        Stmt::Store { buffer, indices, value } => Some((*buffer, indices.clone(), *value)),
        _ => None,
    }
}

/// Returns the reduction of a block. The error is the number of the unmet condition of TVM, 0 for an unknown reducer.
pub fn reduction_of(store: &mut Store, block: &Block) -> Result<Reduction, u8> {
    let mut inits: Vec<Stored> = Vec::new();
    for stmt in store.stmts_of(block.init.ok_or(1u8)?) {
        let init = stored(store, stmt).ok_or(1u8)?;
        if inits.iter().any(|(buffer, ..)| *buffer == init.0) {
            return Err(2);
        }
        inits.push(init);
    }
    let updates = updates_of(store, block.body, inits.len())?;
    let mut identities = Vec::new();
    let shape = |store: &Store, buffer| store.buffer(buffer).shape.clone();
    for (buffer, indices, _) in &updates {
        let init = inits.iter().find(|(other, ..)| other == buffer).ok_or(10u8)?;
        if shape(store, *buffer) != shape(store, updates[0].0) {
            return Err(11);
        }
        if *indices != updates[0].1 || init.1 != updates[0].1 {
            return Err(12);
        }
        identities.push(init.2);
    }
    let values: Vec<PrimId> = updates.iter().map(|(.., value)| *value).collect();
    let dtypes: Vec<DType> = identities.iter().map(|identity| store.prim_dtype(*identity)).collect();
    for reducer in registry(store, &dtypes) {
        let vars: Vec<Id<Symbol>> = reducer.lhs.iter().chain(&reducer.rhs).copied().collect();
        let mut found = vec![None; vars.len()];
        let same = reducer.identities == identities
            && reducer.results.iter().zip(&values).all(|(pattern, value)| matches(store, *pattern, *value, &vars, &mut found));
        let Some(found) = found.into_iter().collect::<Option<Vec<PrimId>>>().filter(|_| same) else { continue };
        let (lhs, rhs) = found.split_at(updates.len());
        let loads = lhs.iter().zip(&updates).all(|(load, (buffer, indices, _))| {
            matches!(store.prim_of_id(*load), PrimExpr::Load { buffer: of, indices: at } if of == buffer && at == indices)
        });
        if !loads {
            continue;
        }
        return Ok(Reduction {
            reducer,
            buffers: updates.iter().map(|(buffer, ..)| *buffer).collect(),
            indices: updates[0].1.to_vec(),
            lhs: lhs.to_vec(),
            rhs: rhs.to_vec(),
        });
    }
    Err(0)
}

/// Returns the update of each buffer of a reduction: one store, or bindings followed by stores of their variables.
fn updates_of(store: &Store, body: StmtId, count: usize) -> Result<Vec<Stored>, u8> {
    if let Some(update) = stored(store, body) {
        return if count == 1 { Ok(vec![update]) } else { Err(6) };
    }
    let Stmt::Seq(_) = store.stmt(body) else { return Err(3) };
    let stmts = store.stmts_of(body);
    let mut bound: Vec<(Id<Symbol>, PrimId)> = Vec::new();
    for place in 0..count {
        match stmts.get(place).map(|stmt| store.stmt(*stmt)) {
            Some(Stmt::Bind { var, value }) if !bound.iter().any(|(known, _)| known == var) => bound.push((*var, *value)),
            Some(Stmt::Bind { .. }) => return Err(4),
            _ => return Err(3),
        }
    }
    let rest = &stmts[count..];
    if rest.first().is_some_and(|stmt| matches!(store.stmt(*stmt), Stmt::Bind { .. })) {
        return Err(3);
    }
    if rest.len() != count {
        return Err(6);
    }
    let mut updates: Vec<Option<Stored>> = vec![None; count];
    for stmt in rest {
        let (buffer, indices, value) = stored(store, *stmt).ok_or(5u8)?;
        let PrimExpr::Var(var) = *store.prim_of_id(value) else { return Err(7) };
        let at = bound.iter().position(|(known, _)| *known == var).ok_or(7u8)?;
        if updates[at].is_some() {
            return Err(8);
        }
        if updates.iter().flatten().any(|(known, ..)| *known == buffer) {
            return Err(9);
        }
        updates[at] = Some((buffer, indices, bound[at].1));
    }
    updates.into_iter().collect::<Option<Vec<Stored>>>().ok_or(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combining_fills_in_both_sides() {
        let store = &mut Store::new();
        let reducer = registry(store, &[DType::F32]).remove(0);
        let (a, b) = (store.prim_float(1.0, DType::F32), store.prim_float(2.0, DType::F32));
        let sum = reducer.combine(store, &[a], &[b]);
        assert_eq!(sum, [store.prim_binary(PrimOp::Add, a, b)]);
    }
}
