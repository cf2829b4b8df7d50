//! Parts without lines of their own: attributes, values, types, and names at their uses and bindings.

use super::super::meta::MetaKey;
use super::super::plan::{has_comment, pattern_place};
use super::super::value::{is_default, push_float, push_int, push_string, scalar_text};
use super::super::{NameInfo, Named};
use super::Emitter;
use crate::ir::{
    AttrValue, AttrsId, CtorId, Dim, Expr, ExprId, Id, List, Object, Pattern, PatternId, Type, TypeId, VarId, show_type,
};
use crate::ops::{self, AttrKind};
use std::fmt::Write;

impl Emitter<'_> {
    pub(super) fn attrs(&mut self, owner: ExprId, attrs: AttrsId, callee: ExprId, mut count: usize) {
        let store = self.store;
        let attrs = store.attrs_of_id(attrs);
        let key = store.str(attrs.key);
        let schema = match store.expr(callee) {
            Expr::Op(op) => ops::info(op).relay_attrs(),
            _ => ops::schema(key),
        };
        for (i, (name, value)) in attrs.fields.iter().enumerate() {
            let name = store.str(*name);
            // Fields are in the order of the schema, so the index nearly always fits.
            let field = schema.and_then(|s| s.fields.get(i).filter(|f| f.name == name).or_else(|| s.field(name)));
            if field.is_some_and(|field| is_default(store, field, value)) {
                continue;
            }
            self.comma(count);
            count += 1;
            let _ = write!(self.out, "{name}=");
            match (field.map(|field| field.kind), value) {
                (Some(AttrKind::Int), AttrValue::Int { value, .. }) => {
                    let _ = write!(self.out, "{value}");
                }
                (Some(AttrKind::Float), value) if value.as_float().is_some() => {
                    push_float(&mut self.out, value.as_float().unwrap_or_default(), 6);
                    self.out.push('f');
                }
                _ => self.value(owner, value, &mut vec![i as u32]),
            }
        }
        if !matches!(store.expr(callee), Expr::Op(_)) {
            self.comma(count);
            self.out.push_str("attrs_type_key=");
            push_string(&mut self.out, key);
        }
    }

    /// Recursive: values nest as deep as the brackets in which they were written.
    pub(super) fn value(&mut self, owner: ExprId, value: &AttrValue, path: &mut Vec<u32>) {
        let store = self.store;
        match value {
            AttrValue::Null => self.out.push_str("None"),
            AttrValue::Bool(value) => self.out.push_str(if *value { "True" } else { "False" }),
            AttrValue::Int { value, bits } => push_int(&mut self.out, *value, *bits),
            AttrValue::Float(value) => {
                push_float(&mut self.out, value.0, 6);
                self.out.push('f');
            }
            AttrValue::Str(text) => push_string(&mut self.out, store.str(*text)),
            AttrValue::DType(None) => self.out.push_str("\"\""),
            AttrValue::DType(Some(dtype)) => {
                let _ = write!(self.out, "\"{}\"", dtype.relay_name());
            }
            AttrValue::Array(items) => {
                self.out.push('[');
                for (i, item) in items.iter().enumerate() {
                    self.comma(i);
                    path.push(i as u32);
                    self.value(owner, item, path);
                    path.pop();
                }
                self.out.push(']');
            }
            AttrValue::Map(_) => self.meta(&MetaKey::Value(owner, path.clone())),
            AttrValue::Dim(dim) => self.dim(*dim),
            AttrValue::Global(name) => self.meta(&MetaKey::Global(*name)),
            AttrValue::Expr(id) => self.meta(&MetaKey::Expr(*id)),
            AttrValue::Type(ty) => self.meta(&MetaKey::Type(*ty)),
            AttrValue::Object(id) => self.object(*id),
        }
    }

    pub(super) fn object(&mut self, id: Id<Object>) {
        self.meta(&MetaKey::Object(id));
    }

    pub(super) fn meta(&mut self, key: &MetaKey) {
        if let Some((type_key, number)) = self.plan.meta.get(key) {
            let _ = write!(self.out, "meta[{type_key}][{number}]");
        }
    }

    pub(super) fn operands(&mut self, ids: impl Iterator<Item = ExprId>) {
        for (i, id) in ids.enumerate() {
            self.comma(i);
            self.operand(id);
        }
    }

    pub(super) fn wrapped(&mut self, open: &str, ids: &[ExprId]) {
        self.out.push_str(open);
        self.operands(ids.iter().copied());
        self.out.push(')');
    }

    /// Writes a node at its use: by its name or number, or the text of a leaf.
    pub(super) fn operand(&mut self, id: ExprId) {
        let store = self.store;
        match store.expr(id) {
            Expr::Var(var) => self.out.push_str(self.plan.names.var(var)),
            Expr::Global(name) => {
                let _ = write!(self.out, "@{}", store.str(name));
            }
            Expr::Op(op) => self.out.push_str(ops::info(op).name),
            Expr::Ctor(ctor) => self.out.push_str(store.str(store.ctor(ctor).name)),
            Expr::Constant(tensor) => {
                match scalar_text(store.tensor(tensor)) {
                    Some(text) => self.out.push_str(&text),
                    None => self.meta(&MetaKey::Expr(id)),
                }
                self.comment(id);
            }
            _ => self.temp(id),
        }
    }

    pub(super) fn temp(&mut self, id: ExprId) {
        if let Some(number) = self.plan.temps.get(id) {
            let _ = write!(self.out, "%{number}");
        }
    }

    /// Notes the name that the text ends with from `start` on.
    pub(super) fn note(&mut self, start: usize, thing: Named) {
        let line = self.lines.len().saturating_sub(1) as u32;
        self.names.push(NameInfo { text: self.out[start..].into(), line, end: u32::MAX, thing });
    }

    pub(super) fn comment(&mut self, id: ExprId) {
        let ty = if self.plan.options.types { self.store.checked_type(id) } else { None };
        self.comment_of(Some(id), ty.filter(|_| has_comment(self.store.expr(id).kind())));
    }

    /// Writes the type and the note of a node, or what stands instead of them.
    fn comment_of(&mut self, id: Option<ExprId>, ty: Option<TypeId>) {
        let notes = self.plan.options.notes;
        let note = notes.zip(id).and_then(|(notes, id)| notes.texts.get(&id));
        if notes.is_some_and(|notes| notes.alone) {
            self.out.push_str(note.map_or("", |note| note));
        } else if ty.is_some() || note.is_some() {
            self.out.push_str(" /*");
            if let Some(ty) = ty {
                self.out.push_str(" ty=");
                self.ty(ty);
            }
            self.out.push_str(note.map_or("", |note| note));
            self.out.push_str(" */");
        }
    }

    /// Writes a variable at its binding: that of a let stands for the node of the line, others for themselves.
    pub(super) fn binder(&mut self, var: VarId, malformed: bool, is_let: bool) {
        let start = self.out.len();
        self.out.push_str(self.plan.names.var(var));
        self.note(start, self.store.var_use(var).filter(|_| !is_let).map_or(Named::Line, Named::Node));
        if malformed {
            self.out.push_str("-malformed-ir");
            return;
        }
        let data = self.store.var_data(var);
        if let Some(device) = data.device {
            self.out.push_str(" {virtual_device=");
            self.object(device);
            self.out.push('}');
        }
        if let Some(ty) = data.annotation {
            self.out.push_str(": ");
            self.ty(ty);
        }
        self.comment_of(self.store.var_use(var), data.ty.filter(|_| self.plan.options.types));
    }

    /// Recursive: patterns nest as deep as the parser lets them.
    pub(super) fn pattern(&mut self, owner: ExprId, id: PatternId) {
        let store = self.store;
        match *store.pattern(id) {
            Pattern::Wildcard => self.out.push('_'),
            Pattern::Var(var) => self.binder(var, self.plan.malformed.contains(&(owner, pattern_place(id))), false),
            Pattern::Ctor { ctor, fields } => {
                self.out.push_str(store.str(store.ctor(ctor).name));
                if !fields.is_empty() {
                    self.out.push('(');
                    self.patterns(owner, fields);
                    self.out.push(')');
                }
            }
            Pattern::Tuple(fields) => {
                self.out.push('(');
                self.patterns(owner, fields);
                self.out.push(')');
            }
        }
    }

    fn patterns(&mut self, owner: ExprId, fields: List<Pattern>) {
        for (i, field) in self.store.items(fields).enumerate() {
            self.comma(i);
            self.pattern(owner, field);
        }
    }

    /// Writes a constructor in its definition.
    pub(super) fn ctor(&mut self, ctor: CtorId) {
        let ctor = self.store.ctor(ctor);
        self.out.push_str(self.store.str(ctor.name));
        if !ctor.inputs.is_empty() {
            self.out.push('(');
            for (i, &input) in ctor.inputs.iter().enumerate() {
                self.comma(i);
                self.ty(input);
            }
            self.out.push(')');
        }
    }

    pub(in crate::print) fn ty(&mut self, ty: TypeId) {
        if let Some(&(start, end)) = self.type_texts.get(ty) {
            self.out.push_str(&self.types[start as usize..end as usize]);
            return;
        }
        let from = self.out.len();
        self.write_type(ty);
        let start = self.types.len() as u32;
        self.types.push_str(&self.out[from..]);
        self.type_texts.insert(ty, (start, self.types.len() as u32));
    }

    fn write_type(&mut self, ty: TypeId) {
        let store = self.store;
        match store.type_of_id(ty) {
            Type::Tensor { shape, dtype } if shape.is_empty() => {
                self.out.push_str(&dtype.relay_name());
            }
            Type::Tensor { shape, dtype } => {
                self.out.push_str("Tensor[(");
                for (i, &dim) in shape.iter().enumerate() {
                    self.comma(i);
                    self.dim(dim);
                }
                let _ = write!(self.out, "), {}]", dtype.relay_name());
            }
            Type::Tuple(fields) => {
                self.out.push('(');
                self.type_list(fields);
                self.out.push_str(if fields.len() == 1 { ",)" } else { ")" });
            }
            Type::Func { type_params, params, ret } => {
                self.out.push_str("fn ");
                if !type_params.is_empty() {
                    let names: Vec<&str> = type_params.iter().map(|p| store.str(store.type_var(*p).name)).collect();
                    let _ = write!(self.out, "[{}]", names.join(", "));
                }
                self.out.push('(');
                self.type_list(params);
                self.out.push_str(") -> ");
                self.ty(*ret);
            }
            Type::Ref(value) => {
                self.out.push_str("ref(");
                self.ty(*value);
                self.out.push(')');
            }
            Type::Var(var) => self.out.push_str(store.str(store.type_var(*var).name)),
            Type::Global(name) => self.out.push_str(store.str(*name)),
            Type::Apply { head, args } => {
                self.ty(*head);
                self.out.push('[');
                self.type_list(args);
                self.out.push(']');
            }
            Type::Hole(number) => self.meta(&MetaKey::Hole(*number)),
            // A type of Relax only; the text is for humans and not parsed again.
            _ => self.out.push_str(&show_type(store, ty)),
        }
    }

    fn type_list(&mut self, types: &[TypeId]) {
        for (i, &ty) in types.iter().enumerate() {
            self.comma(i);
            self.ty(ty);
        }
    }

    fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Int { value, bits: 1 } => self.out.push_str(if value != 0 { "True" } else { "False" }),
            Dim::Int { value, bits } => push_int(&mut self.out, value, bits),
            Dim::Any => self.out.push('?'),
            Dim::Symbol(id) => self.meta(&MetaKey::Symbol(id)),
            Dim::Expr(id) => self.meta(&MetaKey::Dim(id)),
        }
    }
}
