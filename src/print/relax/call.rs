//! Calls (`call.cc`): most operators print by one rule, some by their own.

use super::super::script::{Script, push_str_literal};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Attrs, Call, Expr, ExprId, Type, TypeId};
use crate::ops;
use std::fmt::Write;

impl Script<'_> {
    /// Prints a call.
    pub(super) fn call(&mut self, id: ExprId, out: &mut String) {
        let store = self.store;
        let Some(call) = store.call(id) else { return };
        let args: Vec<ExprId> = store.items(call.args).collect();
        let attrs = call.attrs.map(|attrs| store.attrs_of_id(attrs));
        let ty_args = call.info.map_or(&[][..], |info| &*store.call_info(info).type_args);
        let mut kwargs = String::new();
        let mut positional = args.as_slice();
        match store.expr(call.callee) {
            Expr::Op(op) => {
                let info = ops::info(op);
                let name = info.relax.as_ref().map_or(info.name, |op| op.name);
                match (name, args.as_slice()) {
                    (
                        "call_tir" | "call_tir_inplace" | "call_dps_packed" | "call_tir_with_grad" | "dist.call_tir_local_view",
                        _,
                    ) => return self.call_tir(name, &call, attrs, ty_args, out),
                    ("print", [format, rest @ ..]) => {
                        self.format(*format, &mut kwargs);
                        positional = rest;
                        self.relax("print(", out);
                        self.arguments(positional, &kwargs, out);
                        return;
                    }
                    ("assert_op", [condition, format, rest @ ..]) => {
                        self.relax("assert_op(", out);
                        self.expr(*condition, out);
                        for arg in rest {
                            out.push_str(", ");
                            self.expr(*arg, out);
                        }
                        out.push_str(", ");
                        self.format(*format, out);
                        out.push(')');
                        return;
                    }
                    ("to_vdevice", _) => {
                        if let Some(AttrValue::Object(device)) = store.attr(call.attrs, "dst_vdevice") {
                            let _ = write!(kwargs, "dst_vdevice=\"{}\"", self.vdevice(*device));
                        }
                        self.relax("to_vdevice(", out);
                        self.arguments(positional, &kwargs, out);
                        return;
                    }
                    ("hint_on_device", [data, ..]) => return self.hint_on_device(*data, attrs, out),
                    _ => {}
                }
                if name == info.name && ops::own::is_own(op) {
                    // TVM's printer takes an operator whose name does not begin with `relax.` for one of TIR.
                    self.usage.tir = true;
                    let _ = write!(out, "T.{name}");
                } else {
                    self.relax(name, out);
                }
                out.push('(');
                self.attr_args(attrs, &mut kwargs);
            }
            Expr::Extern(symbol) => {
                self.relax("call_packed(", out);
                push_str_literal(out, store.str(symbol));
                if let Some(attrs) = attrs {
                    let key = match store.str(attrs.key) {
                        "DictAttrs" => "ir.DictAttrs",
                        key => key,
                    };
                    let _ = write!(kwargs, "attrs_type_key=\"{key}\"");
                    self.attr_args(Some(attrs), &mut kwargs);
                }
                self.ty_args(ty_args, &mut kwargs);
                if !args.is_empty() || !kwargs.is_empty() {
                    out.push_str(", ");
                }
                return self.arguments(&args, &kwargs, out);
            }
            _ => {
                self.expr(call.callee, out);
                out.push('(');
                self.attr_args(attrs, &mut kwargs);
            }
        }
        // The callee that some operators take first prints as its symbol.
        let mut first = String::new();
        if let Some((&arg, rest)) = positional.split_first()
            && let Expr::Extern(symbol) = store.expr(arg)
        {
            push_str_literal(&mut first, store.str(symbol));
            positional = rest;
        }
        self.ty_args(ty_args, &mut kwargs);
        out.push_str(&first);
        let more = !positional.is_empty() || !kwargs.is_empty();
        if !first.is_empty() && more {
            out.push_str(", ");
        }
        self.arguments(positional, &kwargs, out);
    }

    /// Prints arguments, keyword arguments, and the closing parenthesis.
    fn arguments(&mut self, args: &[ExprId], kwargs: &str, out: &mut String) {
        self.exprs(args.iter().copied(), out);
        if !args.is_empty() && !kwargs.is_empty() {
            out.push_str(", ");
        }
        out.push_str(kwargs);
        out.push(')');
    }

    fn format(&mut self, format: ExprId, out: &mut String) {
        out.push_str("format=");
        self.expr(format, out);
    }

    /// Prints attributes as keyword arguments: a dictionary by key, an operator's in the order of declaration.
    fn attr_args(&mut self, attrs: Option<&Attrs>, out: &mut String) {
        let Some(attrs) = attrs else { return };
        let store = self.store;
        let mut fields: Vec<_> = attrs.fields.iter().collect();
        if store.str(attrs.key) == "DictAttrs" {
            sort_by(&mut fields, |a, b| store.str(a.0).cmp(store.str(b.0)));
        }
        for (name, value) in fields {
            separate(out);
            let _ = write!(out, "{}=", store.str(*name));
            match (store.str(*name), value) {
                ("device_mesh", AttrValue::Object(mesh)) => {
                    let _ = write!(out, "\"{}\"", self.mesh(*mesh));
                }
                _ => self.attr_value(value, out),
            }
        }
    }

    fn ty_args(&mut self, types: &[TypeId], out: &mut String) {
        if types.is_empty() {
            return;
        }
        separate(out);
        out.push_str("ty_args=(");
        for (i, ty) in types.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.ty(*ty, out);
        }
        out.push_str(if types.len() == 1 { ",)" } else { ")" });
    }

    fn call_tir(&mut self, name: &str, call: &Call, attrs: Option<&Attrs>, ty_args: &[TypeId], out: &mut String) {
        let store = self.store;
        let spread = |ty: &TypeId| match store.type_of_id(*ty) {
            Type::Tuple(fields) => fields.iter().any(|field| matches!(store.type_of_id(*field), Type::Distributed { .. })),
            ty => matches!(ty, Type::Distributed { .. }),
        };
        match name {
            "call_tir" | "call_tir_inplace" if ty_args.first().is_some_and(spread) => self.relax("dist.call_tir", out),
            _ => self.relax(name, out),
        }
        out.push('(');
        let mut args = store.items(call.args);
        match args.next().map(|callee| (callee, store.expr(callee))) {
            Some((_, Expr::Extern(symbol))) => push_str_literal(out, store.str(symbol)),
            Some((callee, _)) => self.expr(callee, out),
            None => {}
        }
        for arg in args {
            out.push_str(", ");
            // A tuple always, also an empty one.
            match store.expr(arg) {
                Expr::Tuple(fields) if fields.is_empty() => self.relax("tuple()", out),
                _ => self.expr(arg, out),
            }
        }
        out.push_str(", out_ty=");
        match ty_args.first().map(|ty| (*ty, store.type_of_id(*ty))) {
            Some((_, Type::Tuple(fields))) => {
                out.push('[');
                for (i, field) in fields.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    self.ty(*field, out);
                }
                out.push(']');
            }
            Some((ty, _)) => self.ty(ty, out),
            None => out.push_str("None"),
        }
        let Some(attrs) = attrs else {
            out.push(')');
            return;
        };
        for (name, value) in &attrs.fields {
            let is_empty = matches!(value, AttrValue::Null) || matches!(value, AttrValue::Map(map) if map.is_empty());
            if store.str(*name) == "te_grad_kwargs" && is_empty {
                continue;
            }
            let _ = write!(out, ", {}=", store.str(*name));
            self.attr_value(value, out);
        }
        out.push(')');
    }

    /// The device is one argument, its memory another.
    fn hint_on_device(&mut self, data: ExprId, attrs: Option<&Attrs>, out: &mut String) {
        let store = self.store;
        self.relax("hint_on_device(", out);
        self.expr(data, out);
        if let Some((last, fields)) = attrs.and_then(|attrs| attrs.fields.split_last()) {
            out.push_str(", R.device(");
            for (i, (name, value)) in fields.iter().enumerate() {
                let _ = write!(out, "{}{}=", if i > 0 { ", " } else { "" }, store.str(*name));
                self.attr_value(value, out);
            }
            out.push_str("), ");
            self.attr_value(&last.1, out);
        }
        out.push(')');
    }
}

fn separate(out: &mut String) {
    if !out.is_empty() {
        out.push_str(", ");
    }
}
