//! Words of messages for sizes and parameters.

use super::binder::Binder;
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, PrimParam, Store, Symbol};

impl Binder {
    /// An expression with variables as the paths that they were bound to.
    pub(super) fn shown(&self, store: &Store, id: PrimId) -> String {
        let two = |a, b, word: &str| format!("{}{word}{}", self.shown(store, a), self.shown(store, b));
        let call = |name: &str, a, b| format!("{name}({}, {})", self.shown(store, a), self.shown(store, b));
        if store.prim_depth(id) > crate::tir::arith::DEEPEST {
            return "...".to_owned();
        }
        match *store.prim_of_id(id) {
            PrimExpr::Var(symbol) => match self.bound.get(&symbol) {
                Some(bound) if !bound.path.is_empty() => bound.path.clone(),
                _ => store.str(store.symbol(symbol).name).to_owned(),
            },
            PrimExpr::Int { value, .. } => value.to_string(),
            PrimExpr::Cast { value, .. } => self.shown(store, value),
            PrimExpr::Binary { op: PrimOp::Add, a, b } => two(a, b, " + "),
            PrimExpr::Binary { op: PrimOp::Sub, a, b } => two(a, b, " - "),
            PrimExpr::Binary { op: PrimOp::Mul, a, b } => two(a, b, " * "),
            PrimExpr::Binary { op: PrimOp::Div, a, b } => two(a, b, " / "),
            PrimExpr::Binary { op: PrimOp::Mod, a, b } => two(a, b, " % "),
            PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } => call("floordiv", a, b),
            PrimExpr::Binary { op: PrimOp::FloorMod, a, b } => call("floormod", a, b),
            PrimExpr::Binary { op: PrimOp::Min, a, b } => call("min", a, b),
            PrimExpr::Binary { op: PrimOp::Max, a, b } => call("max", a, b),
            _ => script(store, id, 0),
        }
    }
}

/// The name of a device's interface.
pub(in crate::passes::tir) fn device_name(device: i64) -> &'static str {
    match device {
        2 => "cuda",
        4 => "opencl",
        7 => "vulkan",
        8 => "metal",
        10 => "rocm",
        12 => "ext_dev",
        15 => "webgpu",
        16 => "hexagon",
        _ => "cpu",
    }
}

/// `f(x: Tensor([n, 4], float32), n: int32)`
pub(super) fn signature(store: &Store, symbol: &str, params: &[PrimParam]) -> String {
    let shown: Vec<String> = (params.iter())
        .map(|param| match *param {
            PrimParam::Buffer(buffer) => {
                let data = store.buffer(buffer);
                let shape: Vec<String> = data.shape.iter().map(|extent| script(store, *extent, 0)).collect();
                format!("{}: Tensor([{}], {})", store.str(data.name), shape.join(", "), data.dtype)
            }
            PrimParam::Var(symbol) => {
                let Symbol { name, dtype, .. } = store.symbol(symbol);
                let dtype = match store.pointee(*dtype) {
                    Some(pointer) => format!("T.handle(\"{}\", \"{}\")", pointer.element, store.str(pointer.scope)),
                    None if *dtype == DType::HANDLE => "T.handle".to_owned(),
                    None => dtype.to_string(),
                };
                format!("{}: {dtype}", store.str(*name))
            }
        })
        .collect();
    format!("{symbol}({})", shown.join(", "))
}

/// A size as a script writes it.
fn script(store: &Store, id: PrimId, around: u8) -> String {
    if store.prim_depth(id) > crate::tir::arith::DEEPEST {
        return "...".to_owned();
    }
    match *store.prim_of_id(id) {
        PrimExpr::Int { value, dtype: DType::I32 } => value.to_string(),
        PrimExpr::Int { value, dtype } => format!("T.{dtype}({value})"),
        PrimExpr::Var(symbol) => store.str(store.symbol(symbol).name).to_owned(),
        PrimExpr::Cast { dtype, value } => format!("T.Cast(\"{dtype}\", {})", script(store, value, 0)),
        PrimExpr::Binary { op, a, b } => {
            let (word, strength) = match op {
                PrimOp::Add => ("+", 1),
                PrimOp::Sub => ("-", 1),
                PrimOp::Mul => ("*", 2),
                PrimOp::FloorDiv => ("//", 2),
                PrimOp::FloorMod => ("%", 2),
                PrimOp::Min => return format!("T.min({}, {})", script(store, a, 0), script(store, b, 0)),
                PrimOp::Max => return format!("T.max({}, {})", script(store, a, 0), script(store, b, 0)),
                _ => return format!("T.{}({}, {})", op.name(), script(store, a, 0), script(store, b, 0)),
            };
            let text = format!("{} {word} {}", script(store, a, strength), script(store, b, strength + 1));
            if strength < around { format!("({text})") } else { text }
        }
        _ => crate::ir::show_dim(store, store.dim_of_prim(id)),
    }
}
