//! Converts spellings of older versions of Relax to today's.

use super::value::Value;
use super::{Node, Read, Reader, Stop};
use crate::diag::Span;
use crate::ir::{Dim, Extents, Id, TensorInfo, TypeId};
use crate::parse::script::tree::Arg;

/// Functions of TOPI whose operator has another name.
const TOPI: &[(&str, &str)] = &[
    ("transpose", "permute_dims"),
    ("nn.matmul", "matmul"),
    ("nn.dense", "linear"),
    ("cast", "astype"),
    ("concatenate", "concat"),
    ("nn.flatten", "flatten"),
    ("true_divide", "divide"),
    ("floormod", "floor_mod"),
    ("isinf", "isinf"),
    ("nn.layer_norm", "nn.layer_norm"),
    ("fast_exp", "exp"),
];

/// The function of TOPI that a name with dots is.
pub(super) fn topi_name(dotted: &str) -> Option<&str> {
    dotted.strip_prefix("tvm.").unwrap_or(dotted).strip_prefix("topi.")
}

impl<'s> Reader<'s, '_> {
    /// `topi.nn.relu(x)`, as an expression or behind `R.emit_te`: the operator that becomes such a tensor program.
    pub(super) fn topi(&mut self, name: &str, args: &[Arg], span: Span) -> Read<Value> {
        let operator = TOPI.iter().find(|(topi, _)| *topi == name).map_or(name, |(_, operator)| operator);
        if operator != "linear" && crate::ops::lookup_relax(operator).is_none() {
            let message = format!("`topi.{name}` is run by Python, and no operator of Relax is the same");
            let stop = self.error("relax-unknown-op", message, span);
            if let Some(last) = self.diagnostics.last_mut() {
                last.notes.push("paste what `.script()` prints of the module, in which it is a tensor program".to_owned());
            }
            return Err(stop);
        }
        self.hint("a function of TOPI is read as its operator, which LegalizeOps makes the tensor program of", span);
        let args: Vec<Arg> = (args.iter().copied())
            .filter(|arg| arg.name().is_none_or(|name| self.tree.text(name) != "primfunc_name_hint"))
            .collect();
        let args = self.args(&args, span)?;
        if operator == "linear" { self.linear(args) } else { self.call_op(operator, args) }
    }

    /// True if the output of a `call_tir` is a shape, as in 2022, and no type.
    pub(super) fn is_shape(&self, out: Id<Node>) -> bool {
        let (Node::Tuple(items) | Node::List(items)) = self.tree.expr(out) else { return false };
        match self.tree.items(items).first() {
            None => true,
            Some(first) => !matches!(self.tree.expr(*first), Node::Call { .. } | Node::Attribute { .. } | Node::Subscript { .. }),
        }
    }

    /// Reads `call_tir(f, args, (n, m), dtype="float32")`, with a list of shapes for several outputs.
    pub(super) fn old_output(&mut self, shape: Id<Node>, dtype: Option<Id<Node>>) -> Read<TypeId> {
        let span = self.span(shape);
        self.hint("the output is a type today: `out_ty=R.Tensor((n, m), \"float32\")`", span);
        let (Node::Tuple(items) | Node::List(items)) = self.tree.expr(shape) else { return Err(Stop) };
        let items = self.tree.items(items);
        let several =
            items.iter().all(|item| matches!(self.tree.expr(*item), Node::Tuple(_) | Node::List(_))) && !items.is_empty();
        let shapes: Vec<Id<Node>> = if several { items.to_vec() } else { vec![shape] };
        let dtypes: Vec<Id<Node>> = match dtype.map(|id| self.tree.expr(id)) {
            Some(Node::Tuple(items) | Node::List(items)) => self.tree.items(items).to_vec(),
            _ => dtype.into_iter().collect(),
        };
        let mut types = Vec::with_capacity(shapes.len());
        for (place, shape) in shapes.iter().enumerate() {
            let mut info = TensorInfo { extents: Extents::Known(self.dims(*shape)?.into()), ..TensorInfo::UNKNOWN };
            if let Some(dtype) = dtypes.get(place).or(dtypes.first()) {
                let value = self.eval(*dtype)?;
                let span = self.span(*dtype);
                let Value::Str(text) = value else {
                    return Err(self.error("relax-dtype", "an element type is a string: \"float32\"", span));
                };
                let text = self.store.name_rc(text);
                info.dtype = self.dtype(&text.0, span)?;
            }
            types.push(self.store.tensor_like(info));
        }
        match types[..] {
            [only] => Ok(only),
            _ => Ok(self.store.tuple_type(&types)),
        }
    }

    /// Reads `tir_vars=R.shape([n, m])`: they are further arguments today.
    pub(super) fn with_symbols(&mut self, operands: Value, symbols: Id<Node>) -> Read<Value> {
        let span = self.span(symbols);
        self.hint("symbolic arguments are elements of the argument tuple today", span);
        let value = self.eval(symbols)?;
        let dims: Vec<Dim> = match value {
            Value::Expr(id) => match self.store.expr(id) {
                crate::ir::Expr::Shape(dims) => self.store.dims_of_id(dims).to_vec(),
                _ => return Err(self.error("relax-shape", "`tir_vars` is a shape that is written out", span)),
            },
            value => self.extents(&value, span)?,
        };
        let Value::Tuple(mut items) = operands else {
            return Err(self.error("relax-shape", "with `tir_vars` the arguments are a tuple that is written out", span));
        };
        for dim in dims {
            let prim = self.store.prim_of_dim(dim);
            items.push(Value::Prim(prim));
        }
        Ok(Value::Tuple(items))
    }
}
