//! Expressions and values of attributes (`expr.cc`, `tir.cc`). Programs are in A-normal form, and other expressions
//! nest at most as deep as the parser lets them, so this may recurse.

use super::super::script::{Script, push_dict, push_float_literal, push_str_literal};
use crate::ir::{AttrValue, DTypeCode, Expr, ExprId, Id, Name, Object, Store, Tensor, Type, TypeId, VarId};
use std::fmt::Write;

impl Script<'_> {
    /// Prints an expression.
    pub(in super::super) fn expr(&mut self, id: ExprId, out: &mut String) {
        let store = self.store;
        match store.expr(id) {
            Expr::Var(var) => self.var(var, out),
            Expr::Global(name) => self.global_var(name, out),
            Expr::Op(op) => {
                self.usage.ir = true;
                let info = crate::ops::info(op);
                let _ = write!(
                    out,
                    "I.Op(\"{}\")",
                    match info.relax.filter(|_| !crate::ops::own::is_own(op)) {
                        Some(row) => format!("relax.{}", row.name),
                        None => info.name.to_owned(),
                    }
                );
            }
            Expr::Constant(tensor) => self.constant(id, store.tensor(tensor), out),
            Expr::Tuple(fields) if fields.is_empty() => self.relax("tuple()", out),
            Expr::Tuple(fields) => {
                out.push('(');
                self.exprs(store.items(fields), out);
                out.push_str(if fields.len() == 1 { ",)" } else { ")" });
            }
            Expr::TupleGetItem { tuple, index } => {
                self.expr(tuple, out);
                let _ = write!(out, "[{index}]");
            }
            Expr::Shape(dims) => {
                self.relax("shape([", out);
                self.extents(store.dims_of_id(dims), out);
                out.push_str("])");
            }
            Expr::Prim(prim) => {
                self.prim(prim, out);
            }
            Expr::Str(text) => {
                self.relax("str(", out);
                push_str_literal(out, store.str(text));
                out.push(')');
            }
            Expr::DataType(dtype) => {
                self.relax("dtype(", out);
                let _ = write!(out, "\"{dtype}\")");
            }
            Expr::Extern(symbol) => {
                self.relax("ExternFunc(", out);
                push_str_literal(out, store.str(symbol));
                if let Some(ty) = store.checked_type(id).filter(|ty| !is_opaque(store, *ty)) {
                    out.push_str(", ");
                    self.ty(ty, out);
                }
                out.push(')');
            }
            Expr::Call { .. } => self.call(id, out),
            // TVM cannot print it in this place.
            other => {
                let _ = write!(out, "{:?}", other.kind());
            }
        }
    }

    pub(super) fn exprs(&mut self, ids: impl Iterator<Item = ExprId>, out: &mut String) {
        for (i, id) in ids.enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.expr(id, out);
        }
    }

    /// Prints `R.` and the text behind it.
    pub(super) fn relax(&mut self, text: &str, out: &mut String) {
        self.usage.relax = true;
        out.push_str("R.");
        out.push_str(text);
    }

    /// Prints a variable. A free one is declared before the statement.
    pub(in super::super) fn var(&mut self, var: VarId, out: &mut String) {
        if let Some(name) = self.var_name(var) {
            out.push_str(name);
            return;
        }
        if let Some(symbol) = self.store.var_data(var).symbol {
            return self.symbol(symbol, out);
        }
        let mut declaration = ": ".to_owned();
        match self.store.var_type(var) {
            Some(ty) => self.ty(ty, &mut declaration),
            None => declaration.clear(),
        }
        let name = self.define_param(var);
        out.push_str(&name);
        self.pending.push(name + &declaration);
    }

    fn global_var(&mut self, name: Id<Name>, out: &mut String) {
        if self.module.is_some_and(|module| module.function(name).is_some()) {
            if !self.alias {
                self.alias = true;
                self.prelude.push("cls = Module".to_owned());
            }
            out.push_str("cls.");
        }
        out.push_str(self.store.str(name));
    }

    fn constant(&mut self, id: ExprId, tensor: &Tensor, out: &mut String) {
        let mut value = String::new();
        if scalar(tensor, &mut value).is_some() {
            match self.store.checked_type(id) {
                Some(ty) if matches!(self.store.type_of_id(ty), Type::Distributed { .. }) => {
                    self.relax("dist.const(", out);
                    let _ = write!(out, "{value}, ");
                    self.ty(ty, out);
                    out.push(')');
                }
                _ => {
                    self.relax("const(", out);
                    let _ = write!(out, "{value}, \"{}\")", tensor.dtype);
                }
            }
        } else {
            let _ = write!(out, "metadata[\"ir.GenericConst\"][{}]", self.constant_number(id));
        }
    }

    /// Prints the value of an attribute.
    pub(in super::super) fn attr_value(&mut self, value: &AttrValue, out: &mut String) {
        let store = self.store;
        match value {
            AttrValue::Null => out.push_str("None"),
            AttrValue::Bool(true) => out.push_str("True"),
            AttrValue::Bool(false) => out.push_str("False"),
            AttrValue::Int { value, .. } => {
                let _ = write!(out, "{value}");
            }
            AttrValue::Float(value) => push_float_literal(out, value.0),
            AttrValue::Str(text) => push_str_literal(out, store.str(*text)),
            AttrValue::DType(Some(dtype)) => {
                let _ = write!(out, "\"{dtype}\"");
            }
            AttrValue::DType(None) => out.push_str("\"void\""),
            AttrValue::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    self.attr_value(item, out);
                }
                out.push(']');
            }
            AttrValue::Map(entries) => self.dict(entries, out),
            AttrValue::Dim(dim) => {
                self.dim(*dim, out);
            }
            AttrValue::Global(name) => {
                self.usage.ir = true;
                out.push_str("I.GlobalVar(");
                push_str_literal(out, store.str(*name));
                out.push(')');
            }
            AttrValue::Expr(id) => self.expr(*id, out),
            AttrValue::Type(ty) => self.ty(*ty, out),
            AttrValue::Object(object) => self.object(*object, out),
        }
    }

    /// Prints `{"k": v}`, sorted by key.
    pub(super) fn dict(&mut self, entries: &[(Id<Name>, AttrValue)], out: &mut String) {
        push_dict(out, self.store, entries, &mut |value, out| self.attr_value(value, out));
    }

    fn object(&mut self, id: Id<Object>, out: &mut String) {
        let store = self.store;
        let object = store.object(id);
        let key = store.str(object.key);
        let written = match key {
            "VDevice" => "I.vdevice",
            "DummyGlobalInfo" => "I.dummy_global_info",
            "relax.distributed.DeviceMesh" => "R.device_mesh",
            "Range" => "I.Range",
            "IndexMap" => return self.index_map(object, out),
            "Target" => {
                self.usage.tir = true;
                out.push_str("T.target(");
                self.dict(&object.fields, out);
                return out.push(')');
            }
            // Compiled code is in the metadata section, which is not kept.
            "ffi.Module" => {
                let index = match object.fields.first() {
                    Some((_, AttrValue::Int { value, .. })) => *value,
                    _ => 0,
                };
                return out.push_str(&format!("metadata[\"ffi.Module\"][{index}]"));
            }
            _ => key,
        };
        self.usage.ir |= written.starts_with("I.");
        self.usage.relax |= written.starts_with("R.");
        out.push_str(written);
        out.push('(');
        for (i, (name, value)) in object.fields.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            match value {
                AttrValue::Array(items) if store.str(*name) == "shape" => {
                    let mut text = String::new();
                    self.attr_value(value, &mut text);
                    let inner = text.trim_start_matches('[').trim_end_matches(']');
                    let _ = write!(out, "({inner}{})", if items.len() == 1 { "," } else { "" });
                }
                value => self.attr_value(value, out),
            }
        }
        out.push(')');
    }

    /// Prints `T.index_map(lambda i, j: (j, i))`, whose variables are defined only inside of it.
    fn index_map(&mut self, object: &Object, out: &mut String) {
        self.usage.tir = true;
        let scope = self.open_scope();
        let outer = std::mem::replace(&mut self.function_scope, scope);
        let declaring = self.declaring.replace(Vec::new());
        out.push_str("T.index_map(lambda ");
        for (which, (_, value)) in object.fields.iter().enumerate() {
            let AttrValue::Array(items) = value else {
                if *value != AttrValue::Null {
                    out.push_str(", inverse_index_map=");
                    self.attr_value(value, out);
                }
                continue;
            };
            out.push_str(if which == 1 { ": (" } else { "" });
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                self.attr_value(item, out);
            }
            if which == 1 {
                out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
        }
        out.push(')');
        self.declaring = declaring;
        self.function_scope = outer;
        self.close_scope();
    }
}

/// Prints a scalar that has a literal; `None` for types that have none.
fn scalar(tensor: &Tensor, out: &mut String) -> Option<()> {
    let bytes = tensor.data.as_deref().filter(|_| tensor.is_scalar() && tensor.dtype.lanes == 1)?;
    let int = match (tensor.dtype.code, tensor.dtype.bits) {
        (DTypeCode::Int, 8) => i64::from(i8::from_le_bytes(bytes.try_into().ok()?)),
        (DTypeCode::Int, 16) => i64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        (DTypeCode::Int, 32) => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        (DTypeCode::Int, 64) => i64::from_le_bytes(bytes.try_into().ok()?),
        (DTypeCode::UInt, 1) => {
            out.push_str(if *bytes.first()? != 0 { "True" } else { "False" });
            return Some(());
        }
        (DTypeCode::Float, bits) => {
            let value = match bits {
                16 => half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64(),
                32 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
                64 => f64::from_le_bytes(bytes.try_into().ok()?),
                _ => return None,
            };
            push_float_literal(out, value);
            return Some(());
        }
        _ => return None,
    };
    let _ = write!(out, "{int}");
    Some(())
}

/// True for the type of a function of which nothing is known.
fn is_opaque(store: &Store, ty: TypeId) -> bool {
    match store.type_of_id(ty) {
        Type::Callable { params: None, ret, pure: false } => matches!(store.type_of_id(*ret), Type::Any),
        _ => false,
    }
}
