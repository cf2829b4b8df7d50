//! Evaluates operators of Relax on constants: the part of FoldConstant that knows operators.
//!
//! Source: `src/relax/transform/fold_constant.cc`, where each call is made into a tensor program that is run.

use crate::eval::relax::operators::{self, Operands};
use crate::eval::{Value, eval_prim};
use crate::ir::walk::{leaf_types, post_order};
use crate::ir::{DType, Dim, Expr, ExprId, Extents, PrimExpr, PrimId, PrimOp, StmtId, Store, Tensor, Type, TypeId};
use crate::ops::build::constant;
use crate::ops::relax::deduce::int;
use crate::passes::relax::calls::tuple;
use crate::topi;

/// Returns the value of a constant, if the text had it.
pub(in crate::passes::relax) fn known(store: &Store, id: ExprId) -> Option<Tensor> {
    constant(store, id).filter(|tensor| tensor.data.is_some()).cloned()
}

/// Returns element type and shape of a tensor type that is known completely.
pub(in crate::passes::relax) fn fixed(store: &Store, ty: TypeId) -> Option<(DType, Vec<i64>)> {
    match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => Some((*dtype, shape.iter().map(|dim| dim.known()).collect::<Option<_>>()?)),
        _ => None,
    }
}

/// Makes a typed constant of a tensor.
pub(in crate::passes::relax) fn literal(store: &mut Store, tensor: Tensor) -> ExprId {
    let dims: Vec<Dim> = tensor.shape.iter().map(|extent| int(*extent)).collect();
    let ty = store.tensor_type(&dims, tensor.dtype);
    let tensor = store.add_tensor(tensor);
    store.add_typed(Expr::Constant(tensor), Some(ty))
}

/// Operators that TVM does not make into one tensor program, or replaces before they could be folded.
const KEPT: &[&str] = &[
    "arange",
    "argsort",
    "cumprod",
    "cumsum",
    "dynamic_strided_slice",
    "ewise_fma",
    "index_tensor",
    "nonzero",
    "shape_of",
    "sort",
    "topk",
    "wrap_param",
];

/// Returns TVM's reason if it cannot make a tensor program of an operator for tensors without a shape or an element
/// type: it tries that for every call, whatever its arguments are.
pub(in crate::passes::relax) fn makes_program_of_unknown(store: &Store, name: &str, operands: &[ExprId]) -> Option<&'static str> {
    let dtype = operands.first().and_then(|id| store.tensor_info(store.checked_type(*id)?)).and_then(|info| info.dtype);
    match (name, dtype) {
        ("power" | "log_add_exp", Some(dtype)) if !dtype.is_float() => return Some("it only applies to float"),
        ("nn.layer_norm" | "nn.group_norm" | "nn.instance_norm", Some(DType::F64)) => {
            return Some("only support float32 and float16 for now");
        }
        _ => {}
    }
    if !topi::has_te_form(name) || topi::needs(name) == topi::Known::Nothing || KEPT.contains(&name) {
        return None;
    }
    let types = operands.iter().filter_map(|id| store.checked_type(*id)).flat_map(|ty| leaf_types(store, ty));
    types.filter_map(|ty| store.tensor_info(ty)).find_map(|info| match info.extents {
        Extents::Known(_) if info.dtype.is_some() => None,
        Extents::Known(_) => Some("Back optional access"),
        _ => Some("emit_te now only supports Tensor that has ShapeExpr shape"),
    })
}

/// True if a constant has no value, because its section of the text was missing.
pub(in crate::passes::relax) fn has_unread_constant(store: &Store, function: ExprId) -> bool {
    let unread = |id| matches!(store.expr(id), Expr::Constant(tensor) if store.tensor(tensor).data.is_none());
    post_order(store, function).into_iter().any(unread)
}

/// Operators that take a tensor for its shape alone.
const FILLS: &[&str] = &["eye_like", "full_like", "ones_like", "zeros_like"];

/// Operators whose tensor programs compare or compute with elements.
const ARITHMETIC: &[&str] = &[
    "add",
    "clip",
    "divide",
    "equal",
    "floor_divide",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "square",
    "subtract",
];

/// True if TVM's code generator (LLVM) refuses the tensor program of a call: it neither compares truth values nor computes
/// with them. A product with a scalar is no product any more when it gets there.
fn compares_truth_values(store: &Store, name: &str, operands: &[ExprId]) -> bool {
    let truth = |id: &ExprId| constant(store, *id).is_some_and(|tensor| tensor.dtype == DType::BOOL);
    let scalar = operands.get(1).and_then(|id| constant(store, *id)).is_some_and(|tensor| tensor.shape.is_empty());
    let simplified = scalar && matches!(name, "multiply" | "divide" | "floor_divide");
    ARITHMETIC.contains(&name) && !simplified && operands.first().is_some_and(truth)
}

/// True if a tensor program compares truth values or computes with them.
pub(in crate::passes::relax) fn program_compares_truth_values(store: &Store, body: StmtId) -> bool {
    let truth = |id: PrimId| store.prim_dtype(id).element() == DType::BOOL;
    let mut found = false;
    store.for_each_stmt(body, |stmt| {
        store.for_each_prim_of(stmt, |prim| {
            store.for_each_prim(prim, &mut |_, expr| {
                found |= matches!(*expr, PrimExpr::Binary { op, a, b } if !matches!(op, PrimOp::And | PrimOp::Or) && truth(a) && truth(b));
            });
        });
    });
    found
}

/// Makes a tensor of zeros; `None` if it were too large.
fn blank(dtype: DType, shape: &[i64]) -> Option<Value> {
    let bytes = usize::try_from(shape.iter().try_fold(dtype.bytes() as i64, |size, extent| size.checked_mul(*extent))?).ok()?;
    (bytes <= 1 << 28).then(|| Value::Tensor(Tensor::new(dtype, shape, vec![0; bytes])))
}

/// Evaluates a call of an operator on constants to constants.
pub(in crate::passes::relax) fn compute(store: &mut Store, name: &str, call: ExprId, operands: &[ExprId]) -> Option<ExprId> {
    // TVM replaces a cast of a scalar by another constant, which does not count as a result.
    let casts_scalar = name == "astype" && operands.first().and_then(|id| known(store, *id)).is_some_and(|t| t.shape.is_empty());
    if casts_scalar || KEPT.contains(&name) || compares_truth_values(store, name, operands) {
        return None;
    }
    let out = store.checked_type(call)?;
    let types = match store.type_of_id(out) {
        Type::Tuple(types) => types.to_vec(),
        _ => vec![out],
    };
    let fixed: Option<Vec<(DType, Vec<i64>)>> = types.iter().map(|ty| fixed(store, *ty)).collect();
    let fixed = fixed?;
    let value = |(at, operand): (usize, &ExprId)| match &fixed[..] {
        [(dtype, shape)] if at == 0 && FILLS.contains(&name) => blank(*dtype, shape),
        _ => value_of(store, *operand),
    };
    let values: Option<Vec<Value>> = operands.iter().enumerate().map(value).collect();
    let (op, attrs) = (store.called_op(call)?, store.call(call)?.attrs);
    let made = operators::compute(store, op, Operands { args: &values?, attrs, out }).ok()?;
    let tensors: Vec<Tensor> = match &made {
        Value::Tuple(fields) => fields.items().iter().map(|field| field.as_tensor().cloned()).collect::<Option<_>>()?,
        single => vec![single.as_tensor()?.clone()],
    };
    let fits = |(tensor, (dtype, shape)): (&Tensor, &(DType, Vec<i64>))| tensor.dtype == *dtype && tensor.shape[..] == shape[..];
    if tensors.len() != fixed.len() || !tensors.iter().zip(&fixed).all(fits) {
        return None;
    }
    let tensors: Vec<ExprId> = tensors.into_iter().map(|tensor| literal(store, tensor)).collect();
    if matches!(made, Value::Tuple(_)) { Some(tuple(store, &tensors)) } else { tensors.first().copied() }
}

/// Returns the value of a known argument: a constant, a shape of numbers, a number, or a tuple of these.
fn value_of(store: &mut Store, id: ExprId) -> Option<Value> {
    if let Some(tensor) = known(store, id) {
        return Some(Value::Tensor(tensor));
    }
    match store.expr(id) {
        Expr::Shape(dims) => store.dims_of_id(dims).iter().map(|dim| dim.known()).collect::<Option<_>>().map(Value::Shape),
        Expr::Prim(prim) => eval_prim(store, prim, &[]).ok().filter(|_| has_no_symbol(store, prim)).map(Value::Prim),
        Expr::Tuple(items) => {
            let items: Vec<ExprId> = store.items(items).collect();
            items.into_iter().map(|item| value_of(store, item)).collect::<Option<_>>().map(Value::tuple)
        }
        _ => None,
    }
}

fn has_no_symbol(store: &Store, prim: PrimId) -> bool {
    let mut none = true;
    store.for_each_prim(prim, &mut |_, node| none &= !matches!(node, PrimExpr::Var(_)));
    none
}
