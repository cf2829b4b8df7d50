//! Declarations of buffers (`buffer.cc`).

use super::super::LineRole;
use super::super::script::push_str_literal;
use super::Tir;
use crate::ir::{AttrsId, Buffer, BufferLayout, DType, Id, PrimExpr, Symbol};
use rustc_hash::FxHashSet;
use std::fmt::Write;

impl Tir<'_, '_> {
    /// Prints `A: T.Buffer((n, 4), "float32")` in a signature. Arithmetic over declared extents is quoted, as are other
    /// expressions at their first use; extents that are no parameters are declared in the body.
    pub(super) fn buffer_param(
        &mut self,
        id: Id<Buffer>,
        type_vars: &[Id<Symbol>],
        bound: &mut FxHashSet<Id<Symbol>>,
        prelude: &mut Vec<String>,
        out: &mut String,
    ) {
        let store = self.script.store;
        let data = store.buffer(id);
        let scope = self.scope();
        let name = self.script.define_buffer(id, scope);
        out.push_str(&name);
        out.push_str(": T.Buffer((");
        let (mut names, mut types) = (Vec::new(), Vec::new());
        let mut met: Vec<Id<Symbol>> = Vec::new();
        for (i, &extent) in data.shape.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let (mut new, mut quoted) = (Vec::new(), false);
            let alone = matches!(store.prim_of_id(extent), PrimExpr::Var(_));
            store.for_each_prim(extent, &mut |_, part| {
                if let PrimExpr::Var(symbol) = part {
                    if type_vars.contains(symbol) {
                        quoted |= !alone;
                    } else if !bound.contains(symbol) && !met.contains(symbol) {
                        quoted = true;
                        new.push(*symbol);
                    }
                }
            });
            for &symbol in &new {
                if self.script.symbol_name(symbol).is_none() {
                    names.push(self.script.define_symbol(symbol, scope));
                    types.push(format!("T.{}()", store.symbol(symbol).dtype));
                }
            }
            let mut text = String::new();
            self.prim(extent, &mut text);
            if quoted {
                push_str_literal(out, &text);
            } else {
                out.push_str(&text);
            }
            met.extend(new);
        }
        bound.extend(met);
        if !names.is_empty() {
            prelude.push(format!("{} = {}", names.join(", "), types.join(", ")));
        }
        let _ = write!(out, "{}), \"{}\"", if data.shape.len() == 1 { "," } else { "" }, data.dtype);
        self.keywords(id, out);
        out.push(')');
    }

    /// Prints `A = T.sblock_alloc_buffer((4,), "int32")`.
    pub(super) fn alloc(&mut self, id: Id<Buffer>, method: &str, annotations: Option<AttrsId>) {
        let scope = self.scope();
        let name = self.script.define_buffer(id, scope);
        let mut text = format!("{name} = ");
        let view = if method == "decl_buffer" { self.view_of(id) } else { None };
        match view {
            Some(view) => text.push_str(&view),
            None => self.declaration(id, method, &mut text),
        }
        if let Some(annotations) = annotations {
            text.pop();
            text.push_str(", annotations=");
            self.dict(&self.script.store.attrs_of_id(annotations).fields, &mut text);
            text.push(')');
        }
        self.line(LineRole::Binding, &text);
    }

    /// Prints `T.method((4,), "int32", scope="shared")`.
    pub(super) fn declaration(&mut self, id: Id<Buffer>, method: &str, out: &mut String) {
        let _ = write!(out, "T.{method}(");
        // A buffer that is only named has no arguments about its memory.
        let named = std::mem::replace(&mut self.only_named, method == "Buffer");
        self.arguments(id, out);
        self.only_named = named;
        out.push(')');
    }

    /// Prints `(4,), "int32", scope="shared"`.
    pub(super) fn arguments(&mut self, id: Id<Buffer>, out: &mut String) {
        let data = self.script.store.buffer(id);
        out.push('(');
        for (i, &extent) in data.shape.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.prim(extent, out);
        }
        out.push_str(if data.shape.len() == 1 { ",)" } else { ")" });
        if data.dtype != DType::F32 {
            let _ = write!(out, ", \"{}\"", data.dtype);
        }
        self.keywords(id, out);
    }

    /// Prints the properties of a buffer besides shape and element type.
    fn keywords(&mut self, id: Id<Buffer>, out: &mut String) {
        let store = self.script.store;
        let data = store.buffer(id);
        if let Some(pointer) = data.data.filter(|_| !self.only_named) {
            out.push_str(", data=");
            self.prim(pointer, out);
        }
        if !data.strides.is_empty() {
            out.push_str(", strides=(");
            for (i, &stride) in data.strides.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                match *store.prim_of_id(stride) {
                    // The variable belongs to the buffer.
                    PrimExpr::Var(symbol) if self.script.symbol_name(symbol).is_none() => {
                        let name = self.script.buffer_name(id).unwrap_or("").to_owned();
                        let scope = self.scope();
                        self.script.define_symbol_as(symbol, &format!("{name}.strides[{i}]"), scope);
                        push_str_literal(out, store.str(store.symbol(symbol).name));
                    }
                    _ => self.prim(stride, out),
                }
            }
            out.push_str(if data.strides.len() == 1 { ",)" } else { ")" });
        }
        let mut own_offset = false;
        let index_type = data.shape.first().map_or(DType::I64, |extent| store.prim_dtype(*extent));
        match data.elem_offset.map(|offset| (offset, store.prim_of_id(offset))) {
            None => {}
            Some((_, &PrimExpr::Int { value: 0, dtype })) if dtype == index_type => {}
            Some((_, &PrimExpr::Var(symbol))) if self.script.symbol_name(symbol).is_none() => {
                let name = self.script.buffer_name(id).unwrap_or("").to_owned();
                let scope = self.scope();
                self.script.define_symbol_as(symbol, &format!("{name}.elem_offset"), scope);
                own_offset = true;
            }
            Some((offset, _)) => {
                out.push_str(", elem_offset=");
                self.prim(offset, out);
            }
        }
        let scope = store.str(data.scope);
        let said = self.scope_said;
        if scope != "global" && !said {
            out.push_str(", scope=");
            push_str_literal(out, scope);
        }
        if data.align != 64 {
            let _ = write!(out, ", align={}", data.align);
        }
        if own_offset || data.offset_factor != 1 {
            let _ = write!(out, ", offset_factor={}", data.offset_factor);
        }
        if data.layout == BufferLayout::Unsaid && !self.s_tir {
            out.push_str(", layout=None");
        }
    }

    /// Prints `A.view(4, 4)` or `A.view("int8")`: a declaration that only gives another shape or element type to a
    /// buffer that has a name (TVM's `TryDeclBufferSugar`).
    fn view_of(&mut self, id: Id<Buffer>) -> Option<String> {
        let store = self.script.store;
        let child = store.buffer(id);
        let PrimExpr::Data(whole) = *store.prim_of_id(child.data?) else { return None };
        let parent = store.buffer(whole);
        let name = self.script.buffer_name(whole)?.to_owned();
        let same = (child.scope, child.align, child.offset_factor) == (parent.scope, parent.align, parent.offset_factor);
        if !same || store.offset_of_buffer(id) != store.offset_of_buffer(whole) {
            return None;
        }
        if child.dtype != parent.dtype {
            return self.fits_as(child, parent).then(|| format!("{name}.view(\"{}\")", child.dtype));
        }
        let layouts = match (child.layout, parent.layout) {
            (BufferLayout::Parent, _) | (BufferLayout::Rows, BufferLayout::Rows) => true,
            (a, b) => a == b,
        };
        if child.shape == parent.shape || child.strides != parent.strides || !layouts {
            return None;
        }
        let mut text = format!("{name}.view(");
        for (i, &extent) in child.shape.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            self.prim(extent, &mut text);
        }
        text.push(')');
        Some(text)
    }

    /// True if one buffer has the elements of another in another type, row by row.
    fn fits_as(&self, child: &Buffer, parent: &Buffer) -> bool {
        let store = self.script.store;
        let (Some((last, before)), Some((whole, outer))) = (child.shape.split_last(), parent.shape.split_last()) else {
            return child.shape.is_empty() && parent.shape.is_empty();
        };
        let (Some(last), Some(whole)) = (store.as_prim_int(*last), store.as_prim_int(*whole)) else { return false };
        let (to, from) = (i64::from(child.dtype.bits.max(1)), i64::from(parent.dtype.bits.max(1)));
        let rows = before == outer;
        rows && if to > from { last.checked_mul(to / from) == Some(whole) } else { whole.checked_mul(from / to) == Some(last) }
    }
}
