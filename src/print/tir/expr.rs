//! Scalar expressions, parts of buffers and attributes.

use super::super::script::{push_dict, push_float_literal, variable_of};
use super::super::{MARK, MARK_END};
use super::Tir;
use super::uses::Named;
use crate::ir::{
    AttrValue, Buffer, DType, DTypeCode, Dim, Id, Name, Pointer, PrimExpr, PrimId, PrimOp, Reducer, Region, Store, Symbol,
};
use crate::tir::{self, Intrinsic};
use std::fmt::Write;

// The precedences of operators in Python.
const ANY: u8 = 0;
const OR: u8 = 3;
const AND: u8 = 4;
const NOT: u8 = 5;
const COMPARE: u8 = 6;
const SUM: u8 = 11;
const PRODUCT: u8 = 12;
const UNARY: u8 = 13;

/// A remaining piece of an expression.
enum Piece {
    /// An expression, in parentheses if its precedence is lower than this.
    Expr(PrimId, u8),
    Text(&'static str),
    Owned(String),
}

/// Returns the operator for an intrinsic that has one, and its precedence.
pub(super) fn operator(name: &str) -> Option<(&'static str, u8)> {
    Some(match name {
        "bitwise_or" => (" | ", 7),
        "bitwise_xor" => (" ^ ", 8),
        "bitwise_and" => (" & ", 9),
        "shift_left" => (" << ", 10),
        "shift_right" => (" >> ", 10),
        _ => return None,
    })
}

/// Returns `T.float32`, `T.handle`, `T.handle("int64", "global")`.
pub(in super::super) fn type_name(store: &Store, dtype: DType) -> String {
    match store.pointee(dtype) {
        Some(Pointer { element: DType::VOID, scope }) => format!("T.handle(storage_scope=\"{}\")", store.str(scope)),
        Some(Pointer { element, scope }) if store.str(scope).is_empty() => format!("T.handle(\"{element}\")"),
        Some(Pointer { element, scope }) => format!("T.handle(\"{element}\", \"{}\")", store.str(scope)),
        None => format!("T.{dtype}"),
    }
}

/// Returns a number of lanes: `4`, `T.vscale() * 4`.
fn lanes_text(lanes: u16) -> String {
    match lanes & !DType::SCALABLE {
        factor if lanes & DType::SCALABLE != 0 => format!("T.vscale() * {factor}"),
        lanes => lanes.to_string(),
    }
}

/// Writes a whole number with its type. The upper half of `uint64` is held as negative numbers.
fn integer(value: i64, dtype: DType) -> String {
    match dtype.code {
        DTypeCode::UInt => format!("T.{dtype}({})", value.cast_unsigned()),
        _ => format!("T.{dtype}({value})"),
    }
}

impl Tir<'_, '_> {
    pub(super) fn prim(&mut self, id: PrimId, out: &mut String) {
        let mut todo = vec![Piece::Expr(id, ANY)];
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Owned(text) => out.push_str(&text),
                Piece::Expr(id, least) => {
                    let first = todo.len();
                    let binds = self.pieces(id, &mut todo);
                    if self.script.marks.is_some_and(|marks| marks.has(self.script.store, id)) {
                        todo.insert(first, Piece::Text(MARK));
                        todo.push(Piece::Text(MARK_END));
                    }
                    if binds < least {
                        todo.insert(first, Piece::Text("("));
                        todo.push(Piece::Text(")"));
                    }
                    todo[first..].reverse();
                }
            }
        }
    }

    /// Appends the pieces of an expression in order; returns its precedence.
    fn pieces(&mut self, id: PrimId, out: &mut Vec<Piece>) -> u8 {
        let store = self.script.store;
        let mut call = |name: String, args: &[PrimId]| {
            out.push(Piece::Owned(name));
            for (i, arg) in args.iter().enumerate() {
                if i > 0 {
                    out.push(Piece::Text(", "));
                }
                out.push(Piece::Expr(*arg, ANY));
            }
            out.push(Piece::Text(")"));
            u8::MAX
        };
        match *store.prim_of_id(id) {
            PrimExpr::Int { value, dtype: DType::I32 } => out.push(Piece::Owned(value.to_string())),
            PrimExpr::Int { value, dtype: DType::BOOL } => {
                out.push(Piece::Text(if value != 0 { "T.bool(True)" } else { "T.bool(False)" }));
            }
            PrimExpr::Int { value, dtype } => out.push(Piece::Owned(integer(value, dtype))),
            PrimExpr::Float { value, dtype } => {
                let mut text = format!("T.{dtype}(");
                push_float_literal(&mut text, value.0);
                text.push(')');
                out.push(Piece::Owned(text));
            }
            PrimExpr::Str(text) => {
                let mut literal = String::new();
                self.script.push_string(&mut literal, store.str(text), false);
                out.push(Piece::Owned(literal));
            }
            PrimExpr::Any => out.push(Piece::Text("?")),
            PrimExpr::Var(symbol) => out.push(Piece::Owned(self.symbol(symbol))),
            PrimExpr::Binary { op, a, b } => return self.binary(op, a, b, out),
            PrimExpr::Not(value) => {
                if matches!(store.prim_of_id(value), PrimExpr::Int { dtype: DType::I32, .. } | PrimExpr::Str(_)) {
                    return call("T.Not(".into(), &[value]);
                }
                out.push(Piece::Text("not "));
                out.push(Piece::Expr(value, NOT));
                return NOT;
            }
            PrimExpr::Cast { dtype, value } => return call(format!("T.Cast(\"{dtype}\", "), &[value]),
            PrimExpr::Select { cond, then, other } => return call("T.Select(".into(), &[cond, then, other]),
            PrimExpr::Call { op, ref args, dtype } => return self.call(op, args, dtype, out),
            PrimExpr::Load { buffer, ref indices } => {
                let name = self.buffer(buffer);
                out.push(Piece::Owned(name));
                if !store.is_scalar(buffer, true) {
                    self.indices(indices, out);
                }
            }
            PrimExpr::Buffer(buffer) => {
                let name = self.buffer(buffer);
                out.push(Piece::Owned(name));
                out.push(Piece::Text(if store.is_scalar(buffer, false) { ".buffer" } else { "" }));
            }
            PrimExpr::Data(buffer) => {
                let name = self.buffer(buffer);
                out.push(Piece::Owned(name));
                out.push(Piece::Text(if store.is_scalar(buffer, false) { ".buffer.data" } else { ".data" }));
            }
            PrimExpr::Shuffle { ref vectors, ref indices } => {
                for (open, list) in [("T.Shuffle([", vectors), ("], [", indices)] {
                    out.push(Piece::Text(open));
                    for (i, part) in list.iter().enumerate() {
                        out.push(Piece::Text(if i > 0 { ", " } else { "" }));
                        out.push(Piece::Expr(*part, ANY));
                    }
                }
                out.push(Piece::Text("])"));
            }
            PrimExpr::Reducer(ref reducer) => {
                let text = self.reducer(reducer);
                out.push(Piece::Owned(text));
            }
            PrimExpr::Attrs(attrs) => {
                let mut text = "T.target(".to_owned();
                self.dict(&store.attrs_of_id(attrs).fields, &mut text);
                text.push(')');
                out.push(Piece::Owned(text));
            }
            PrimExpr::Ramp { base, stride, lanes } => {
                call("T.Ramp(".into(), &[base, stride]);
                out.pop();
                out.push(Piece::Owned(format!(", {})", lanes_text(lanes))));
            }
            PrimExpr::Broadcast { value, lanes } => {
                call("T.Broadcast(".into(), &[value]);
                out.pop();
                out.push(Piece::Owned(format!(", {})", lanes_text(lanes))));
            }
            PrimExpr::Let { var, value, body } => {
                let var = self.symbol(var);
                out.push(Piece::Text("T.Let("));
                out.push(Piece::Expr(body, ANY));
                out.push(Piece::Owned(format!(", where={{{var}: ")));
                out.push(Piece::Expr(value, ANY));
                out.push(Piece::Text("})"));
            }
        }
        u8::MAX
    }

    /// Prints `T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])`.
    fn reducer(&mut self, reducer: &Reducer) -> String {
        let scope = self.script.open_scope();
        let names: Vec<String> =
            reducer.lhs.iter().chain(&reducer.rhs).map(|var| self.script.define_symbol(*var, scope)).collect();
        let results = self.list(&reducer.results);
        self.script.close_scope();
        let identities = self.list(&reducer.identities);
        let results = if reducer.results.len() == 1 { results } else { format!("({results})") };
        format!("T.comm_reducer(lambda {}: {results}, [{identities}])", names.join(", "))
    }

    /// Prints expressions, with commas between them.
    fn list(&mut self, prims: &[PrimId]) -> String {
        let mut text = String::new();
        for (i, prim) in prims.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            self.prim(*prim, &mut text);
        }
        text
    }

    fn binary(&mut self, op: PrimOp, a: PrimId, b: PrimId, out: &mut Vec<Piece>) -> u8 {
        let store = self.script.store;
        let whole = |prim: PrimId| !store.prim_dtype(prim).is_float() && store.prim_dtype(prim) != DType::BOOL;
        let ints = whole(a) && whole(b);
        let sugar = match op {
            PrimOp::Add => Some((" + ", SUM)),
            PrimOp::Sub => Some((" - ", SUM)),
            PrimOp::Mul => Some((" * ", PRODUCT)),
            PrimOp::Div if !ints => Some((" / ", PRODUCT)),
            PrimOp::FloorDiv => Some((" // ", PRODUCT)),
            PrimOp::FloorMod => Some((" % ", PRODUCT)),
            PrimOp::Lt => Some((" < ", COMPARE)),
            PrimOp::Le => Some((" <= ", COMPARE)),
            PrimOp::Gt => Some((" > ", COMPARE)),
            PrimOp::Ge => Some((" >= ", COMPARE)),
            PrimOp::Eq => Some((" == ", COMPARE)),
            PrimOp::Ne => Some((" != ", COMPARE)),
            PrimOp::And => Some((" and ", AND)),
            PrimOp::Or => Some((" or ", OR)),
            PrimOp::Div | PrimOp::Mod | PrimOp::Min | PrimOp::Max => None,
        };
        // An operation that Python would fold is not written as an operator.
        if let Some((text, binds)) = sugar.filter(|_| tir::fold(store, op, a, b).is_none()) {
            out.push(Piece::Expr(a, binds));
            out.push(Piece::Text(text));
            out.push(Piece::Expr(b, binds + 1));
            return binds;
        }
        let name = match op {
            PrimOp::Min => "min",
            PrimOp::Max => "max",
            PrimOp::Mod => "truncmod",
            other => other.name(),
        };
        out.push(Piece::Owned(format!("T.{name}(")));
        out.push(Piece::Expr(a, ANY));
        out.push(Piece::Text(", "));
        out.push(Piece::Expr(b, ANY));
        out.push(Piece::Text(")"));
        u8::MAX
    }

    fn call(&mut self, op: Id<Name>, args: &[PrimId], dtype: DType, out: &mut Vec<Piece>) -> u8 {
        let store = self.script.store;
        let name = store.str(op);
        if let (Some((text, binds)), [a, b]) = (operator(name), args) {
            out.push(Piece::Expr(*a, binds));
            out.push(Piece::Text(text));
            out.push(Piece::Expr(*b, binds + 1));
            return binds;
        }
        if let ("bitwise_not", [value]) = (name, args) {
            out.push(Piece::Text("~"));
            out.push(Piece::Expr(*value, UNARY));
            return UNARY;
        }
        out.push(Piece::Owned(match name.strip_prefix('@') {
            Some(function) => format!("Module.{function}("),
            None => format!("T.{name}("),
        }));
        let mut first = true;
        let mut comma = |out: &mut Vec<Piece>| {
            if !std::mem::take(&mut first) {
                out.push(Piece::Text(", "));
            }
        };
        let ty = || {
            Piece::Owned(match dtype.code {
                DTypeCode::Handle if dtype == DType::HANDLE => "T.handle().ty".to_owned(),
                DTypeCode::Handle if dtype != DType::VOID => format!("{}.ty", type_name(store, dtype)),
                _ => format!("\"{dtype}\""),
            })
        };
        if Intrinsic::type_first(name) {
            comma(out);
            out.push(ty());
        }
        for arg in args {
            comma(out);
            match *store.prim_of_id(*arg) {
                PrimExpr::Attrs(attrs) if name == "call_ffi_kernel" => {
                    let mut text = String::new();
                    for (key, value) in &store.attrs_of_id(attrs).fields {
                        let _ = write!(text, "{}=", store.str(*key));
                        self.value(value, &mut text);
                    }
                    let _ = write!(text, ", ret_ty=\"{dtype}\"");
                    out.push(Piece::Owned(text));
                }
                _ => out.push(Piece::Expr(*arg, ANY)),
            }
        }
        if Intrinsic::type_last(name) {
            comma(out);
            out.push(ty());
        }
        out.push(Piece::Text(")"));
        u8::MAX
    }

    /// Prints `[i, j]`.
    fn indices(&mut self, indices: &[PrimId], out: &mut Vec<Piece>) {
        out.push(Piece::Text(if indices.is_empty() { "[()" } else { "[" }));
        for (i, &index) in indices.iter().enumerate() {
            if i > 0 {
                out.push(Piece::Text(", "));
            }
            out.push(Piece::Expr(index, ANY));
        }
        out.push(Piece::Text("]"));
    }

    /// Prints `A[i, j]` as the target of a store.
    pub(super) fn element(&mut self, buffer: Id<Buffer>, indices: &[PrimId], out: &mut String) {
        let name = self.buffer(buffer);
        out.push_str(&name);
        out.push_str(if indices.is_empty() { "[()" } else { "[" });
        for (i, &index) in indices.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            match *self.script.store.prim_of_id(index) {
                PrimExpr::Ramp { base, stride, lanes } => self.slice(base, stride, lanes, index, out),
                _ => self.prim(index, out),
            }
        }
        out.push(']');
    }

    /// Prints a vector of consecutive elements, or with a stride: `0:8:2`.
    fn slice(&mut self, base: PrimId, stride: PrimId, lanes: u16, index: PrimId, out: &mut String) {
        let store = self.script.store;
        let (Some(step), dtype) = (store.as_prim_int(stride), store.prim_dtype(base)) else { return self.prim(index, out) };
        let number = |value: i64| if dtype == DType::I32 { value.to_string() } else { format!("T.{dtype}({value})") };
        let length = step * i64::from(lanes & !DType::SCALABLE);
        let scalable = lanes & DType::SCALABLE != 0;
        let text = match step {
            _ if !scalable => number(length),
            1 => lanes_text(lanes),
            _ => format!("{} * {}", lanes_text(lanes), number(step)),
        };
        self.prim(base, out);
        out.push(':');
        match store.as_prim_int(base) {
            Some(base) if !scalable => out.push_str(&number(base + length)),
            Some(0) => out.push_str(&text),
            _ => {
                let loose = matches!(store.prim_of_id(base), PrimExpr::Binary { op, .. } if op.is_logic());
                out.push_str(if loose { "(" } else { "" });
                self.prim(base, out);
                out.push_str(if loose { ")" } else { "" });
                let _ = write!(out, " + {text}");
            }
        }
        if step != 1 {
            let _ = write!(out, ":{}", number(step));
        }
    }

    /// Prints `A[i, 0:4]`.
    pub(super) fn region(&mut self, region: &Region, out: &mut String) {
        let name = self.buffer(region.buffer);
        out.push_str(&name);
        out.push_str(if self.script.store.is_scalar(region.buffer, true) { ".source" } else { "" });
        out.push_str(if region.ranges.is_empty() { "[()" } else { "[" });
        for (i, (min, extent)) in region.ranges.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.prim(*min, out);
            let Some(extent) = *extent else { continue };
            out.push(':');
            self.sum(*min, extent, out);
        }
        out.push(']');
    }

    /// Prints `a + b`, folded as Python would.
    pub(super) fn sum(&mut self, a: PrimId, b: PrimId, out: &mut String) {
        let store = self.script.store;
        match tir::fold(store, PrimOp::Add, a, b) {
            Some(tir::Folded::Left) => self.prim(a, out),
            Some(tir::Folded::Right) => self.prim(b, out),
            Some(tir::Folded::Int(value)) => match store.prim_dtype(a) {
                DType::I32 => {
                    let _ = write!(out, "{value}");
                }
                dtype => {
                    let _ = write!(out, "T.{dtype}({value})");
                }
            },
            _ => {
                let mut side = |tir: &mut Self, id, least| {
                    let mut pieces = Vec::new();
                    let binds = tir.pieces(id, &mut pieces);
                    let mut text = String::new();
                    tir.prim(id, &mut text);
                    if binds < least {
                        let _ = write!(out, "({text})");
                    } else {
                        out.push_str(&text);
                    }
                    out.push_str(if least == SUM { " + " } else { "" });
                };
                side(self, a, SUM);
                side(self, b, SUM + 1);
            }
        }
    }

    /// Returns the name of a variable; one without a definition is declared now.
    pub(super) fn symbol(&mut self, symbol: Id<Symbol>) -> String {
        if let Some(name) = self.script.symbol_name(symbol) {
            return name.to_owned();
        }
        let frame = self.home(Named::Symbol(symbol));
        let name = self.script.define_symbol(symbol, self.frames[frame].scope);
        self.declare(frame, &format!("{name} = {}", variable_of(self.script.store, symbol)));
        name
    }

    /// Returns the name of a buffer; one without a definition is declared now.
    pub(super) fn buffer(&mut self, buffer: Id<Buffer>) -> String {
        let name = self.buffer_name(buffer);
        match self.script.marks {
            Some(marks) if marks.buffers.contains(&buffer) => format!("{MARK}{name}{MARK_END}"),
            _ => name,
        }
    }

    fn buffer_name(&mut self, buffer: Id<Buffer>) -> String {
        if let Some(name) = self.script.buffer_name(buffer) {
            return name.to_owned();
        }
        let frame = self.home(Named::Buffer(buffer));
        let name = self.script.define_buffer(buffer, self.frames[frame].scope);
        let mut text = format!("{name} = ");
        self.declaration(buffer, "Buffer", &mut text);
        self.declare(frame, &text);
        name
    }

    /// Prints `{"k": v}`, sorted by key.
    pub(super) fn dict(&mut self, entries: &[(Id<Name>, AttrValue)], out: &mut String) {
        push_dict(out, self.script.store, entries, &mut |value, out| self.value(value, out));
    }

    fn value(&mut self, value: &AttrValue, out: &mut String) {
        let store = self.script.store;
        match value {
            AttrValue::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    self.value(item, out);
                }
                out.push(']');
            }
            AttrValue::Map(entries) => self.dict(entries, out),
            AttrValue::Dim(Dim::Expr(id)) => self.prim(*id, out),
            AttrValue::Dim(Dim::Symbol(symbol)) => {
                let name = self.symbol(*symbol);
                out.push_str(&name);
            }
            AttrValue::Dim(Dim::Int { value, bits }) if *bits != 32 => {
                let _ = write!(out, "T.int{bits}({value})");
            }
            AttrValue::Object(object) if store.str(store.object(*object).key) == "Target" => {
                out.push_str("T.target(");
                self.dict(&store.object(*object).fields, out);
                out.push(')');
            }
            other => self.script.attr_value(other, out),
        }
    }
}
