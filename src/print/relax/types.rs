//! Types (`dependent_type.cc`, `type.cc`, `distributed.cc`). Types nest as deep as the parser lets them, so this may
//! recurse.

use super::super::script::Script;
use crate::ir::{AttrValue, Dim, Extents, Id, Object, TensorInfo, Type, TypeId};
use std::fmt::Write;

impl Script<'_> {
    /// Prints a type.
    pub(in super::super) fn ty(&mut self, ty: TypeId, out: &mut String) {
        let store = self.store;
        match store.type_of_id(ty) {
            Type::Prim(dtype) => {
                self.usage.tir = true;
                let _ = write!(out, "T.{dtype}");
                return;
            }
            Type::Str => {
                self.usage.ir = true;
                out.push_str("I.StringType()");
                return;
            }
            _ => self.usage.relax = true,
        }
        match store.type_of_id(ty) {
            Type::Any => out.push_str("R.Any"),
            Type::PackedFunc => out.push_str("R.PackedFunc"),
            Type::Tensor { .. } | Type::PartialTensor(_) => {
                let info = store.tensor_info(ty).unwrap_or(TensorInfo::UNKNOWN);
                self.tensor(&info, out);
            }
            Type::Shape(extents) => match extents {
                Extents::Known(dims) => {
                    out.push_str("R.Shape([");
                    self.extents(dims, out);
                    out.push_str("])");
                }
                other => {
                    let ndim = store.rank(other).map_or(-1, |rank| rank as i64);
                    let _ = write!(out, "R.Shape(ndim={ndim})");
                }
            },
            Type::Tuple(fields) if fields.is_empty() => out.push_str(if self.tir_ints { "None" } else { "R.Tuple" }),
            Type::Tuple(fields) => {
                out.push_str(if self.tir_ints { "T.Tuple(" } else { "R.Tuple(" });
                self.types(fields, out);
                out.push(')');
            }
            Type::Callable { params: Some(params), ret, pure } => {
                out.push_str("R.Callable((");
                self.types(params, out);
                out.push_str(if params.len() == 1 { ",), " } else { "), " });
                self.ty(*ret, out);
                out.push_str(if *pure { ", True)" } else { ", False)" });
            }
            Type::Callable { params: None, ret, pure } => {
                let mut parts = Vec::new();
                if !matches!(store.type_of_id(*ret), Type::Any) {
                    let mut text = "ret=".to_owned();
                    self.ty(*ret, &mut text);
                    parts.push(text);
                }
                if *pure {
                    parts.push("purity=True".to_owned());
                }
                out.push_str("R.Callable");
                if !parts.is_empty() {
                    let _ = write!(out, "({})", parts.join(", "));
                }
            }
            Type::Distributed { tensor, mesh, placement } => {
                let info = store.tensor_info(*tensor).unwrap_or(TensorInfo::UNKNOWN);
                self.distributed(&info, *mesh, store.str(*placement), out);
            }
            // A type of Relay only; the text is for humans and not parsed again.
            _ => out.push_str(&crate::ir::show_type(store, ty)),
        }
    }

    fn types(&mut self, types: &[TypeId], out: &mut String) {
        for (i, ty) in types.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.ty(*ty, out);
        }
    }

    /// Prints extents with commas between. Arithmetic over variables that the current signature declares is a
    /// string, because Python would evaluate it.
    pub(super) fn extents(&mut self, dims: &[Dim], out: &mut String) {
        for (i, &dim) in dims.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            let start = out.len();
            self.dim(dim, out);
            if self.is_quoted(dim) {
                out.insert(start, '"');
                out.push('"');
            }
        }
    }

    fn tensor(&mut self, info: &TensorInfo, out: &mut String) {
        let mut parts = Vec::new();
        match &info.extents {
            Extents::Known(_) | Extents::Var(_) => parts.push(self.shape(&info.extents)),
            Extents::Unknown | Extents::Rank(_) => {}
        }
        parts.extend(info.dtype.map(|dtype| format!("dtype=\"{dtype}\"")));
        if let Extents::Rank(rank) = info.extents {
            parts.push(format!("ndim={rank}"));
        }
        parts.extend(info.vdevice.map(|device| format!("vdevice=\"{}\"", self.vdevice(device))));
        out.push_str("R.Tensor");
        if !parts.is_empty() {
            let _ = write!(out, "({})", parts.join(", "));
        }
    }

    /// Prints `(2, 3)` or the variable that holds the shape.
    fn shape(&mut self, extents: &Extents) -> String {
        let mut text = String::new();
        match extents {
            Extents::Known(dims) => {
                text.push('(');
                self.extents(dims, &mut text);
                text.push_str(if dims.len() == 1 { ",)" } else { ")" });
            }
            Extents::Var(var) => self.var(*var, &mut text),
            Extents::Unknown | Extents::Rank(_) => {}
        }
        text
    }

    fn distributed(&mut self, info: &TensorInfo, mesh: Id<Object>, placement: &str, out: &mut String) {
        let mut parts = Vec::new();
        let known = matches!(info.extents, Extents::Known(_) | Extents::Var(_));
        if known {
            parts.push(self.shape(&info.extents));
        }
        let by_place = known && info.dtype.is_some();
        if let Some(dtype) = info.dtype {
            parts.push(if known { format!("\"{dtype}\"") } else { format!("dtype=\"{dtype}\"") });
        }
        let [mesh_key, placement_key] = if by_place { ["", ""] } else { ["device_mesh=", "placement="] };
        parts.push(format!("{mesh_key}\"{}\"", self.mesh(mesh)));
        parts.push(format!("{placement_key}\"{placement}\""));
        if let Extents::Rank(rank) = info.extents {
            parts.push(format!("ndim={rank}"));
        }
        let _ = write!(out, "R.DTensor({})", parts.join(", "));
    }

    /// Prints a mesh by its index in the module's list: `mesh[0]`.
    pub(super) fn mesh(&self, mesh: Id<Object>) -> String {
        for (name, values) in self.global_infos() {
            if let Some(place) = values.iter().position(|value| *value == AttrValue::Object(mesh)) {
                return format!("{name}[{place}]");
            }
        }
        "mesh[-1]".to_owned()
    }

    /// Prints a device as types name it: kind, number among the module's devices of that kind, memory.
    pub(super) fn vdevice(&self, device: Id<Object>) -> String {
        let store = self.store;
        let kind = |device: Id<Object>| store.vdevice_kind(device);
        let mut number = -1;
        for (name, values) in self.global_infos() {
            if name != "vdevice" {
                continue;
            }
            let mut of_kind = 0;
            for value in values {
                match value {
                    AttrValue::Object(other) if *other == device => number = of_kind,
                    AttrValue::Object(other) if kind(*other) == kind(device) => of_kind += 1,
                    _ => {}
                }
            }
        }
        format!("{}:{number}:{}", kind(device), store.object_str(device, "memory_scope").unwrap_or("global"))
    }

    fn global_infos(&self) -> Vec<(&str, &[AttrValue])> {
        let store = self.store;
        let Some(infos) = self.module.and_then(|module| module.global_infos()) else { return Vec::new() };
        let lists = store.attrs_of_id(infos).fields.iter().map(|(name, value)| match value {
            AttrValue::Array(items) => (store.str(*name), &**items),
            _ => (store.str(*name), &[][..]),
        });
        lists.collect()
    }
}
