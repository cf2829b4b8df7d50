//! Types as text for messages. The printer proper is a stage of its own and knows about metadata;
//! this one is for sentences, and needs nothing but the store.

use super::prim::{PrimExpr, PrimId, PrimOp};
use super::store::Store;
use super::ty::{Dim, Extents, Type, TypeId};
use std::fmt::Write;

/// Returns a type as TVM's messages write it: `Tensor[(1, ?), float32]`.
pub fn show_type(store: &Store, ty: TypeId) -> String {
    let mut out = String::new();
    write_type(store, ty, &mut out);
    out
}

/// Returns a type of Relax as TVM's messages write it: `R.Tensor((1, n), dtype="float32")`.
pub fn show_relax_type(store: &Store, ty: TypeId) -> String {
    let all = |types: &[TypeId]| types.iter().map(|ty| show_relax_type(store, *ty)).collect::<Vec<_>>().join(", ");
    let dims = |dims: &[Dim]| {
        let shown = |dim: &Dim| match dim {
            Dim::Int { value, .. } => value.to_string(),
            dim => show_dim(store, *dim),
        };
        dims.iter().map(shown).collect::<Vec<_>>().join(", ")
    };
    match store.type_of_id(ty) {
        Type::Tuple(fields) if fields.is_empty() => "R.Tuple".to_owned(),
        Type::Tuple(fields) => format!("R.Tuple({})", all(fields)),
        Type::Any => "R.Any".to_owned(),
        Type::Prim(dtype) => format!("T.{dtype}"),
        Type::Shape(Extents::Known(known)) => format!("R.Shape([{}])", dims(known)),
        Type::Shape(extents) => format!("R.Shape(ndim={})", store.rank(extents).map_or(-1, |rank| rank as i64)),
        Type::Callable { params: Some(params), ret, pure } => {
            let comma = if params.len() == 1 { "," } else { "" };
            let pure = if *pure { "True" } else { "False" };
            format!("R.Callable(({}{comma}), {}, {pure})", all(params), show_relax_type(store, *ret))
        }
        Type::Callable { .. } => "R.Callable".to_owned(),
        Type::Tensor { .. } | Type::PartialTensor(_) => {
            let Some(info) = store.tensor_info(ty) else { return String::new() };
            let mut parts = Vec::new();
            match &info.extents {
                Extents::Known(known) => parts.push(format!("({}{})", dims(known), if known.len() == 1 { "," } else { "" })),
                Extents::Var(var) => parts.push(store.var_name(*var).to_owned()),
                _ => {}
            }
            parts.extend(info.dtype.map(|dtype| format!("dtype=\"{dtype}\"")));
            if let Extents::Rank(rank) = info.extents {
                parts.push(format!("ndim={rank}"));
            }
            if parts.is_empty() { "R.Tensor".to_owned() } else { format!("R.Tensor({})", parts.join(", ")) }
        }
        _ => show_type(store, ty),
    }
}

/// Returns an extent as TVM's messages write it.
pub fn show_dim(store: &Store, dim: Dim) -> String {
    let mut out = String::new();
    write_dim(store, dim, &mut out);
    out
}

/// Writes a type. Types nest at most as deep as the parser's limit on brackets, shallow enough to recurse.
fn write_type(store: &Store, ty: TypeId, out: &mut String) {
    match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } if shape.is_empty() => {
            let _ = write!(out, "{dtype}");
        }
        Type::Tensor { shape, dtype } => {
            out.push_str("Tensor[");
            write_shape(store, shape, out);
            let _ = write!(out, ", {dtype}]");
        }
        Type::Tuple(fields) => {
            out.push('(');
            write_types(store, fields, out);
            out.push_str(if fields.len() == 1 { ",)" } else { ")" });
        }
        Type::Func { type_params, params, ret } => {
            out.push_str("fn ");
            if !type_params.is_empty() {
                let names: Vec<&str> = type_params.iter().map(|p| store.str(store.type_var(*p).name)).collect();
                let _ = write!(out, "[{}] ", names.join(", "));
            }
            out.push('(');
            write_types(store, params, out);
            out.push_str(") -> ");
            write_type(store, *ret, out);
        }
        Type::Ref(value) => {
            out.push_str("ref(");
            write_type(store, *value, out);
            out.push(')');
        }
        Type::Var(var) => out.push_str(store.str(store.type_var(*var).name)),
        Type::Global(name) => out.push_str(store.str(*name)),
        Type::Apply { head, args } => {
            write_type(store, *head, out);
            out.push('[');
            write_types(store, args, out);
            out.push(']');
        }
        Type::Hole(_) => out.push('?'),
        Type::Any => out.push_str("Any"),
        Type::Prim(dtype) => {
            let _ = write!(out, "{dtype}");
        }
        Type::Shape(extents) => {
            out.push_str("Shape(");
            write_extents(store, extents, out);
            out.push(')');
        }
        Type::PartialTensor(info) => {
            out.push_str("Tensor[");
            write_extents(store, &info.extents, out);
            if let Some(dtype) = info.dtype {
                let _ = write!(out, ", {dtype}");
            }
            out.push(']');
        }
        Type::Callable { params, ret, pure: _ } => {
            out.push_str("fn (");
            match params {
                Some(params) => write_types(store, params, out),
                None => out.push_str("..."),
            }
            out.push_str(") -> ");
            write_type(store, *ret, out);
        }
        Type::PackedFunc => out.push_str("PackedFunc"),
        Type::Str => out.push_str("str"),
        Type::Distributed { tensor, mesh: _, placement } => {
            write_type(store, *tensor, out);
            let _ = write!(out, " over {}", store.str(*placement));
        }
    }
}

/// Writes a shape; one of a single extent as Python writes a tuple of one.
fn write_shape(store: &Store, shape: &[Dim], out: &mut String) {
    out.push('(');
    for (i, dim) in shape.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_dim(store, *dim, out);
    }
    out.push_str(if shape.len() == 1 { ",)" } else { ")" });
}

fn write_extents(store: &Store, extents: &Extents, out: &mut String) {
    match extents {
        Extents::Unknown => out.push_str("..."),
        Extents::Rank(rank) => {
            let _ = write!(out, "ndim={rank}");
        }
        Extents::Known(dims) => write_shape(store, dims, out),
        Extents::Var(var) => out.push_str(store.var_name(*var)),
    }
}

fn write_types(store: &Store, types: &[TypeId], out: &mut String) {
    for (i, ty) in types.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_type(store, *ty, out);
    }
}

fn write_dim(store: &Store, dim: Dim, out: &mut String) {
    match dim {
        Dim::Int { value, bits: 32 } => {
            let _ = write!(out, "{value}");
        }
        Dim::Int { value, bits } => {
            let _ = write!(out, "{value}i{bits}");
        }
        Dim::Any => out.push('?'),
        Dim::Symbol(symbol) => out.push_str(store.str(store.symbol(symbol).name)),
        Dim::Expr(expr) => write_prim(store, expr, out),
    }
}

/// The parts of an expression still to be written.
enum Piece {
    Expr(PrimId),
    Text(&'static str),
}

/// Writes scalar expressions with all their parentheses. They may be deep: pending parts wait on a stack.
fn write_prim(store: &Store, root: PrimId, out: &mut String) {
    let mut todo = vec![Piece::Expr(root)];
    while let Some(piece) = todo.pop() {
        let id = match piece {
            Piece::Expr(id) => id,
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
        };
        let expr = store.prim_of_id(id);
        let between = match expr {
            PrimExpr::Binary { op, .. } => match op {
                PrimOp::Add => " + ",
                PrimOp::Sub => " - ",
                PrimOp::Mul => "*",
                PrimOp::FloorDiv => " // ",
                PrimOp::FloorMod => " % ",
                PrimOp::Div => " / ",
                PrimOp::Mod => " mod ",
                PrimOp::Max | PrimOp::Min => ", ",
                PrimOp::Eq => " == ",
                PrimOp::Ne => " != ",
                PrimOp::Lt => " < ",
                PrimOp::Le => " <= ",
                PrimOp::Gt => " > ",
                PrimOp::Ge => " >= ",
                PrimOp::And => " and ",
                PrimOp::Or => " or ",
            },
            _ => ", ",
        };
        match expr {
            PrimExpr::Int { value, dtype } => {
                write_dim(store, Dim::Int { value: *value, bits: dtype.bits }, out);
                continue;
            }
            PrimExpr::Any => {
                out.push('?');
                continue;
            }
            PrimExpr::Var(symbol) => {
                out.push_str(store.str(store.symbol(*symbol).name));
                continue;
            }
            PrimExpr::Float { value, .. } => {
                let _ = write!(out, "{}", value.0);
                continue;
            }
            PrimExpr::Str(text) => {
                let _ = write!(out, "{:?}", store.str(*text));
                continue;
            }
            PrimExpr::Buffer(buffer) => {
                out.push_str(store.str(store.buffer(*buffer).name));
                continue;
            }
            PrimExpr::Data(buffer) => {
                let _ = write!(out, "{}.data", store.str(store.buffer(*buffer).name));
                continue;
            }
            PrimExpr::Binary { op: PrimOp::Max, .. } => out.push_str("max("),
            PrimExpr::Binary { op: PrimOp::Min, .. } => out.push_str("min("),
            PrimExpr::Binary { .. } => out.push('('),
            PrimExpr::Not(_) => out.push_str("not("),
            PrimExpr::Cast { dtype, .. } => {
                let _ = write!(out, "{dtype}(");
            }
            PrimExpr::Select { .. } => out.push_str("select("),
            PrimExpr::Call { op, .. } => {
                let _ = write!(out, "{}(", store.str(*op));
            }
            PrimExpr::Load { buffer, .. } => {
                let _ = write!(out, "{}(", store.str(store.buffer(*buffer).name));
            }
            PrimExpr::Ramp { .. } => out.push_str("ramp("),
            PrimExpr::Broadcast { .. } => out.push_str("broadcast("),
            PrimExpr::Shuffle { .. } => out.push_str("shuffle("),
            PrimExpr::Reducer(_) => out.push_str("comm_reducer("),
            PrimExpr::Attrs(attrs) => {
                let _ = write!(out, "{}(", store.str(store.attrs_of_id(*attrs).key));
            }
            PrimExpr::Let { .. } => out.push_str("let("),
        }
        let first = todo.len();
        expr.for_each_child(&mut |child| {
            if todo.len() > first {
                todo.push(Piece::Text(between));
            }
            todo.push(Piece::Expr(child));
        });
        todo[first..].reverse();
        todo.insert(first, Piece::Text(")"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    #[test]
    fn types_read_as_in_messages_of_tvm() {
        let store = &mut Store::new();
        let scalar = store.tensor_type(&[], DType::BOOL);
        let row = store.tensor_type(&[Dim::Any], DType::F32);
        let matrix = store.tensor_type(&[Dim::int(2), Dim::Int { value: 3, bits: 64 }], DType::I8);
        let tuple = store.tuple_type(&[row]);
        let func = store.ty(Type::Func { type_params: [].into(), params: [scalar, matrix].into(), ret: tuple });
        assert_eq!(show_type(store, func), "fn (bool, Tensor[(2, 3i64), int8]) -> (Tensor[(?,), float32],)");
    }
}
