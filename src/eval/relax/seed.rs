//! Arguments of functions of Relax, generated from a number.

use crate::eval::seed::{Draws, Making};
use crate::eval::{EvalFailure, Value};
use crate::infer::relax::types::{Bindings, substitute, symbols};
use crate::ir::{Dim, Expr, ExprId, Extents, Store, Type, TypeId};
use crate::ops::kernel::write;

/// Generates arguments as [`crate::eval::made_args`] does. Symbolic extents have the requested value everywhere, and so has a
/// scalar integer that is one; expressions over them are computed. Shapes with only a known rank have such extents, too.
pub fn made_args(store: &mut Store, function: ExprId, making: Making) -> Result<Vec<Value>, EvalFailure> {
    if let Expr::PrimFunc(program) = store.expr(function) {
        return crate::eval::tir::seeded(store, program, making);
    }
    let Some(function) = store.as_function(function) else {
        return Err(EvalFailure::new("only functions of Relax have arguments that can be made up"));
    };
    let mut draws = Draws::new(making);
    let mut args = Vec::with_capacity(function.params.len());
    for param in store.items(function.params).collect::<Vec<_>>() {
        let Some(ty) = store.var_type(param) else {
            let name = store.var_name(param);
            return Err(EvalFailure::new(format!("the type of {name} is not known")));
        };
        let known: Bindings =
            symbols(store, ty, false).into_iter().map(|symbol| (symbol, Dim::Int { value: making.extent, bits: 64 })).collect();
        let ty = substitute(store, ty, &known);
        let name = store.var_name(param).to_owned();
        let made = value(store, ty, &name, &mut draws);
        args.push(made.map_err(|why| EvalFailure::new(format!("no value can be made up for {name}: {why}")))?);
    }
    Ok(args)
}

/// Types nest no deeper than brackets may.
fn value(store: &Store, ty: TypeId, name: &str, draws: &mut Draws) -> Result<Value, String> {
    let unknown = draws.making.extent;
    let any = |rank: usize| vec![unknown; rank];
    match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => {
            let shape: Vec<i64> = shape.iter().map(|dim| dim.known().unwrap_or(unknown)).collect();
            draws.tensor(name, &shape, *dtype).map(Value::Tensor)
        }
        Type::PartialTensor(info) => {
            let shape = match &info.extents {
                Extents::Known(dims) => dims.iter().map(|dim| dim.known().unwrap_or(unknown)).collect(),
                other => any(store.rank(other).ok_or("its rank is not known")?),
            };
            draws.tensor(name, &shape, info.dtype.ok_or("its element type is not known")?).map(Value::Tensor)
        }
        Type::Tuple(fields) => {
            let fields: Result<Vec<Value>, String> = fields.iter().map(|field| value(store, *field, name, draws)).collect();
            fields.map(Value::tuple)
        }
        Type::Shape(extents) => Ok(Value::Shape(match extents {
            Extents::Known(dims) => dims.iter().map(|dim| dim.known().unwrap_or(unknown)).collect(),
            other => any(store.rank(other).ok_or("its rank is not known")?).into(),
        })),
        Type::Prim(dtype) => write(*dtype, &[], &[unknown]).map(Value::Prim).map_err(|error| error.0),
        _ => Err(format!("it is of type {}", crate::print::relax_ty(store, ty))),
    }
}
