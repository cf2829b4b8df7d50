//! Replacing weights by others that are made of them outside of the program: their names, and the parameters of the function.

use crate::diag::Diagnostic;
use crate::ir::walk::free_vars;
use crate::ir::{DType, Dim, Expr, ExprId, Function, Store, VarId};
use crate::pass::{Args, Literal, PassError};

fn refused(message: impl Into<String>) -> PassError {
    vec![Diagnostic::error("pass-argument", message, None)]
}

/// Reads an argument that is a list of names.
pub fn names(arguments: &Args, name: &str) -> Result<Vec<String>, PassError> {
    let read = |item: &Literal| if let Literal::Str(text) = item { Some(text.clone()) } else { None };
    let Literal::List(items) = arguments.get(name) else {
        return Err(refused(format!("{name}: a list of names of weights was expected, such as [\"w\"]")));
    };
    items.iter().map(read).collect::<Option<_>>().ok_or_else(|| refused(format!("{name}: names must be texts")))
}

/// A weight, and the extents of the tensors that hold it in block sparse row format.
pub struct SparseWeight {
    name: String,
    shape: Vec<i64>,
}

/// Reads the arguments `weight_name` and `weight_shape`, shapes being lists of one of these lengths.
pub fn sparse_weights(arguments: &Args, lengths: &[usize]) -> Result<Vec<SparseWeight>, PassError> {
    let names = names(arguments, "weight_name")?;
    let wrong = || {
        let wanted: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let what = "the extents of its data, its indices and its pointers";
        refused(format!("weight_shape: a list for each name was expected, of {} numbers: {what}", wanted.join(" or ")))
    };
    let Literal::List(shapes) = arguments.get("weight_shape") else { return Err(wrong()) };
    let mut found = Vec::with_capacity(names.len());
    for shape in shapes {
        found.push(shape.ints().filter(|shape| lengths.contains(&shape.len())).ok_or_else(wrong)?);
    }
    if found.len() != names.len() {
        return Err(refused(format!("Check failed: {} names of weights, but {} shapes", names.len(), found.len())));
    }
    Ok(names.into_iter().zip(found).map(|(name, shape)| SparseWeight { name, shape }).collect())
}

/// Makes the three variables that hold the weight of a call, if it is a variable of the list.
pub fn sparse_vars(store: &mut Store, weight: ExprId, weights: &[SparseWeight]) -> Option<[ExprId; 3]> {
    let Expr::Var(var) = store.expr(weight) else { return None };
    let found = weights.iter().find(|weight| weight.name == store.var_name(var))?;
    let split = found.shape.len() - 2;
    let mut make = |suffix: &str, shape: &[i64], dtype: DType| {
        let shape: Vec<Dim> = shape.iter().map(|extent| Dim::int(*extent)).collect();
        let ty = store.tensor_type(&shape, dtype);
        let var = store.var(&format!("{}.{suffix}", found.name), Some(ty));
        store.use_var(var)
    };
    Some([
        make("data", &found.shape[..split], DType::F32),
        make("indices", &found.shape[split..=split], DType::I32),
        make("indptr", &found.shape[split + 1..], DType::I32),
    ])
}

/// Makes the parameters of a function anew: those that it uses, in the order of their uses, and then its free variables.
pub fn with_used_params(store: &mut Store, id: ExprId) -> ExprId {
    let Some(function) = store.as_function(id) else { return id };
    let old: Vec<VarId> = store.items(function.params).collect();
    let (mut params, new): (Vec<VarId>, Vec<VarId>) =
        free_vars(store, function.body).into_iter().partition(|var| old.contains(var));
    params.extend(new);
    if params == old {
        return id;
    }
    let params = store.list(&params);
    let new = store.add_function(Function { params, ..function });
    store.rebuild(id, Expr::Function(new), None)
}
