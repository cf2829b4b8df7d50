//! Declarations of buffers: `T.Buffer((n, 4), "float32", scope="shared")` and its kin, and parts of buffers.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{AttrsId, Buffer, BufferLayout, DType, DTypeCode, Id, PrimExpr, PrimId, Region, Symbol};
use crate::parse::script;
use crate::parse::script::tree::Arg;
use crate::tir;
use rustc_hash::FxHashMap;

/// Names of the arguments of a declaration, in the order in which they may stand without.
const ARGUMENTS: &[&str] =
    &["shape", "dtype", "data", "strides", "elem_offset", "byte_offset", "scope", "align", "offset_factor", "layout"];

/// The same for those that have no `byte_offset`, as all had once.
const WITHOUT_BYTES: &[&str] = &["shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "layout"];

/// The parts of a declaration besides the buffer.
pub(super) struct Declared {
    pub(super) buffer: Buffer,
    pub(super) annotations: Option<AttrsId>,
}

impl Reader<'_, '_, '_> {
    /// Reads the arguments of a declaration. `matching`: strings among the extents define variables.
    pub(super) fn declared(&mut self, name: &str, args: &[Arg], method: &str, matching: bool, at: Id<Node>) -> Read<Declared> {
        let order = match method {
            "Buffer" | "decl_buffer" | "alloc_buffer" | "alloc_shared" | "alloc_local" if self.state.strict => ARGUMENTS,
            _ => WITHOUT_BYTES,
        };
        let mut given: FxHashMap<&str, Id<Node>> = FxHashMap::default();
        for (i, arg) in args.iter().enumerate() {
            let key = match arg.name() {
                Some(name) => self.tree.text(name),
                None => order.get(i).copied().unwrap_or(""),
            };
            match key {
                "buffer_type" => self.old("`buffer_type=` is gone: TVM no longer broadcasts by strides", arg.value),
                "axis_separators" => self.old("`axis_separators=` is gone: buffers of TVM 0.27 have none", arg.value),
                "annotations" if method.starts_with("alloc") => {}
                "name" => self.old("`name=` is gone: a buffer has the name of what it is assigned to", arg.value),
                "allocated_addr" => return Err(self.device_dialect("allocated_addr=", arg.value)),
                _ if ARGUMENTS.contains(&key) => {}
                _ => return Err(self.error("tir-syntax", format!("`T.{method}` takes no such argument"), arg.value)),
            }
            given.insert(key, arg.value);
        }
        let Some(&shape) = given.get("shape") else {
            return Err(self.error("tir-syntax", "Shape must be specified when binding input param", at));
        };
        let shape = self.extents(shape, matching)?;
        let some = |reader: &mut Self, key: &str| match given.get(key).copied() {
            Some(id) if !matches!(reader.tree.expr(id), Node::None) => Some(id),
            _ => None,
        };
        let dtype = match some(self, "dtype") {
            Some(dtype) => self.dtype(dtype)?,
            None => DType::F32,
        };
        let data = match some(self, "data") {
            Some(data) => Some(self.prim(data)?),
            None => None,
        };
        let index_type = shape.first().map_or(DType::I64, |extent| self.store.prim_dtype(*extent));
        let strides = match some(self, "strides") {
            Some(strides) => self.strides(strides, if method == "match_buffer" { index_type } else { DType::I32 })?,
            None => Vec::new(),
        };
        let align = match some(self, "align") {
            Some(id) => self.known_int(id, "an alignment in bytes")?,
            None => 0,
        };
        let factor = match some(self, "offset_factor") {
            Some(id) => self.known_int(id, "a factor")?,
            None => 0,
        };
        let elem_offset = match (some(self, "elem_offset"), some(self, "byte_offset")) {
            (Some(offset), _) => Some(self.offset_in_elements(name, offset)?),
            (None, Some(bytes)) => Some(self.offset_in_bytes(bytes, dtype)?),
            (None, None) if factor != 0 => {
                // An offset that is only said to be a multiple of a number becomes a new variable.
                let dtype = shape.first().map_or(DType::I32, |extent| self.store.prim_dtype(*extent));
                let symbol = self.new_symbol("elem_offset", dtype);
                Some(self.store.prim(PrimExpr::Var(symbol)))
            }
            (None, None) => None,
        };
        let said = some(self, "scope").and_then(|id| self.tree.string(id)).filter(|text| !text.is_empty());
        let scope = match data.and_then(|data| self.store.pointee(self.store.prim_dtype(data))) {
            // A pointer knows its memory.
            Some(pointer) => pointer.scope,
            None => {
                let own = method.strip_prefix("alloc_").filter(|scope| matches!(*scope, "shared" | "local"));
                let scope = said.as_deref().or(own).unwrap_or("global");
                let of_data = data.and_then(|data| self.scope_of(data));
                of_data.unwrap_or_else(|| self.store.name(scope))
            }
        };
        let unsaid = self.state.s_tir
            || match given.get("layout").copied() {
                Some(layout) => match self.tree.expr(layout) {
                    Node::None => true,
                    Node::Str => false,
                    _ => return Err(self.device_dialect("layout=", layout)),
                },
                None => false,
            };
        let layout = if unsaid { BufferLayout::Unsaid } else { BufferLayout::Rows };
        let annotations = match given.get("annotations") {
            Some(&annotations) => self.dict(annotations)?,
            None => None,
        };
        let name = self.name_of(name);
        let align = u32::try_from(align).ok().filter(|align| *align > 0).unwrap_or(64);
        let offset_factor = u32::try_from(factor).ok().filter(|factor| *factor > 0).unwrap_or(1);
        let packed = Buffer::new(name, dtype, shape.into(), scope);
        let buffer = Buffer { strides: strides.into(), elem_offset, offset_factor, align, data, layout, ..packed };
        Ok(Declared { buffer, annotations })
    }

    /// Reads an offset in elements; a new variable is named after the buffer.
    fn offset_in_elements(&mut self, name: &str, offset: Id<Node>) -> Read<PrimId> {
        match self.value_ahead(offset)? {
            Value::Fresh(dtype) => {
                let symbol = self.new_symbol(&format!("{name}_elem_offset"), dtype);
                Ok(self.store.prim(PrimExpr::Var(symbol)))
            }
            value => self.prim_from(&value, offset),
        }
    }

    /// Reads an offset in bytes as one in elements.
    fn offset_in_bytes(&mut self, bytes: Id<Node>, dtype: DType) -> Read<PrimId> {
        let bytes = self.prim(bytes)?;
        let eight = self.store.prim_int(8, DType::I32);
        let bits = self.store.prim_int(i64::from(dtype.bits), DType::I32);
        let product = tir::binary(self.store, crate::ir::PrimOp::Mul, bytes, eight);
        Ok(tir::binary(self.store, crate::ir::PrimOp::FloorDiv, product, bits))
    }

    /// Returns the memory that a pointer of a buffer leads to.
    fn scope_of(&self, data: PrimId) -> Option<Id<crate::ir::Name>> {
        match *self.store.prim_of_id(data) {
            PrimExpr::Data(buffer) => Some(self.store.buffer(buffer).scope),
            _ => None,
        }
    }

    /// Reads strides: a string is a variable of the buffer's own.
    fn strides(&mut self, id: Id<Node>, dtype: DType) -> Read<Vec<PrimId>> {
        if let Node::Tuple(items) | Node::List(items) = self.tree.expr(id) {
            for item in self.tree.items(items).to_vec() {
                self.name_ahead(item);
            }
        }
        let value = self.value(id)?;
        let Some(items) = value.items().cloned() else {
            return Err(self.error("tir-type", "expected a list of strides", id));
        };
        let mut out = Vec::with_capacity(items.len());
        for item in items.iter() {
            out.push(match item {
                Value::Str(name) => {
                    let symbol = self.new_symbol(name, dtype);
                    self.store.prim(PrimExpr::Var(symbol))
                }
                Value::Fresh(dtype) => {
                    let symbol = self.new_symbol("stride", *dtype);
                    self.store.prim(PrimExpr::Var(symbol))
                }
                value => self.prim_from(value, id)?,
            });
        }
        Ok(out)
    }

    fn value_ahead(&mut self, id: Id<Node>) -> Read<Value> {
        self.name_ahead(id);
        self.value(id)
    }

    /// Declares a later scalar parameter: TVM prints strides and offsets with it, though it does not read them so.
    fn name_ahead(&mut self, id: Id<Node>) {
        let Some(name) = self.tree.name(id).filter(|name| self.state.frames.is_empty() && self.meaning(name).is_none()) else {
            return;
        };
        if let Some(dtype) = self.state.scalars.get(name).copied() {
            let symbol = self.new_symbol(name, dtype);
            self.state.matched.insert(symbol);
            let value = Value::Prim(self.store.prim(PrimExpr::Var(symbol)));
            self.give(name, value);
        }
    }

    /// Reads a shape: a tuple or list of extents, or one.
    pub(super) fn extents(&mut self, id: Id<Node>, matching: bool) -> Read<Vec<PrimId>> {
        let items = match self.tree.expr(id) {
            Node::Tuple(items) | Node::List(items) => self.tree.items(items).to_vec(),
            _ => {
                let value = self.value(id)?;
                let Some(items) = value.items().cloned() else { return Ok(vec![self.prim_from(&value, id)?]) };
                return items.iter().map(|item| self.prim_from(item, id)).collect();
            }
        };
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            match self.tree.expr(item) {
                Node::Starred(inner) => match self.value(inner)?.items().cloned() {
                    Some(more) => {
                        for value in more.iter() {
                            out.push(self.prim_from(value, inner)?);
                        }
                    }
                    None => return Err(self.error("tir-type", "expected a list behind `*`", inner)),
                },
                _ => out.push(self.extent(item, matching)?),
            }
        }
        Ok(out)
    }

    fn extent(&mut self, id: Id<Node>, matching: bool) -> Read<PrimId> {
        let Some(text) = self.tree.string(id).filter(|_| matching) else { return self.prim(id) };
        let (tree, found) = script::parse(&text);
        let expr = match tree.stmts(tree.top) {
            [stmt] if found.is_empty() => match stmt.kind {
                script::tree::StmtKind::Expr(expr) => Some(expr),
                _ => None,
            },
            _ => None,
        };
        let Some(expr) = expr else {
            return Err(self.error("tir-syntax", "expected an expression in this string", id));
        };
        for index in 0..tree.len() {
            let node = Id::from_index(index);
            let Some(name) = tree.name(node).filter(|name| !matches!(*name, "T" | "tir" | "tirx")) else { continue };
            let scalar = self.state.scalars.get(name).copied();
            let known = self.meaning(name).is_some() || (scalar.is_none() && self.around.type_vars.contains(name));
            if !known {
                let symbol = self.new_symbol(name, scalar.unwrap_or(DType::I32));
                self.state.matched.insert(symbol);
                let value = Value::Prim(self.store.prim(PrimExpr::Var(symbol)));
                self.give(name, value);
            }
        }
        let inside = Some(self.span(id));
        let state = std::mem::take(&mut self.state);
        let (store, diagnostics, around) = (&mut *self.store, &mut *self.diagnostics, self.around);
        let mut reader = Reader { tree: &tree, inside, store, diagnostics, around, state };
        let extent = reader.prim(expr);
        self.state = reader.state;
        extent
    }

    /// Reads parts of buffers: `A[i, 0:4], B[j]`.
    pub(super) fn regions(&mut self, args: &[Arg]) -> Read<Vec<Region>> {
        let mut out = Vec::new();
        for arg in args {
            match self.tree.expr(arg.value) {
                Node::List(items) | Node::Tuple(items) => {
                    for item in self.tree.items(items).to_vec() {
                        out.push(self.region(item)?);
                    }
                }
                _ => {
                    let value = self.value(arg.value)?;
                    match value.items().cloned() {
                        Some(items) => {
                            for item in items.iter() {
                                out.push(self.region_from(item, arg.value)?);
                            }
                        }
                        None => out.push(self.region_from(&value, arg.value)?),
                    }
                }
            }
        }
        Ok(out)
    }

    pub(super) fn region(&mut self, id: Id<Node>) -> Read<Region> {
        let value = self.value(id)?;
        self.region_from(&value, id)
    }

    fn region_from(&mut self, value: &Value, at: Id<Node>) -> Read<Region> {
        match value {
            Value::Region(region) => Ok(region.as_ref().clone()),
            Value::Prim(prim) if let PrimExpr::Load { buffer, indices } = self.store.prim_of_id(*prim) => {
                Ok(Region { buffer: *buffer, ranges: indices.iter().map(|index| (*index, None)).collect() })
            }
            Value::Buffer(buffer) => {
                if self.state.strict {
                    return Err(self.error("tir-type", "Invalid type for buffer reads: a part of a buffer is expected", at));
                }
                self.old("`T.reads(A)` for all of `A` is the spelling of TVM 0.9; today `T.reads(A[0:n])`", at);
                Ok(self.all_of(*buffer))
            }
            Value::Meta(inner) => {
                let inner = std::rc::Rc::clone(inner);
                self.region_from(&inner, at)
            }
            other => {
                let kind = other.kind();
                Err(self.error("tir-type", format!("expected a part of a buffer, found {kind}"), at))
            }
        }
    }

    /// Makes all of a buffer.
    pub(super) fn all_of(&mut self, buffer: Id<Buffer>) -> Region {
        let shape = self.store.buffer(buffer).shape.clone();
        let ranges = shape.iter().map(|extent| {
            let min = self.store.prim_int(0, self.store.prim_dtype(*extent));
            (min, if self.store.as_prim_int(*extent) == Some(1) { None } else { Some(*extent) })
        });
        Region { buffer, ranges: ranges.collect() }
    }

    /// Reads `A[i, 0:4]` as a region.
    pub(super) fn region_of(&mut self, buffer: Id<Buffer>, items: &[Id<Node>], at: Id<Node>) -> Read<Region> {
        let mut ranges = Vec::with_capacity(items.len());
        for &item in items {
            let Node::Slice { lower, upper, step } = self.tree.expr(item) else {
                let prim = self.prim(item)?;
                // A vector of neighbours is where it begins and how long it is.
                ranges.push(match *self.store.prim_of_id(prim) {
                    PrimExpr::Ramp { base, stride, lanes } if self.store.as_prim_int(stride) == Some(1) => {
                        (base, Some(self.store.prim_int(i64::from(lanes), self.store.prim_dtype(base))))
                    }
                    _ => (prim, None),
                });
                continue;
            };
            if let Some(step) = step
                && self.known_int(step, "a step of 1")? != 1
            {
                return Err(self.error("tir-type", "Buffer slices with a non-unit step are not supported", item));
            }
            let upper = match upper {
                Some(upper) => self.prim(upper)?,
                None => match self.store.buffer(buffer).shape.get(ranges.len()) {
                    Some(extent) => *extent,
                    None => return Err(self.error("tir-type", "the buffer has no such axis", item)),
                },
            };
            let lower = match lower {
                Some(lower) => self.prim(lower)?,
                None => self.store.prim_int(0, self.store.prim_dtype(upper)),
            };
            let extent = self.difference(lower, upper);
            let one = self.store.as_prim_int(extent) == Some(1);
            ranges.push((lower, if one { None } else { Some(extent) }));
        }
        let rank = self.store.buffer(buffer).shape.len();
        if ranges.len() != rank {
            let name = self.store.str(self.store.buffer(buffer).name);
            let message = format!("Buffer {name} is {rank}-dimensional, and this says something of {} axes", ranges.len());
            return Err(self.error("tir-type", message, at));
        }
        Ok(Region { buffer, ranges: ranges.into() })
    }

    /// Returns the buffer that an expression is.
    pub(super) fn buffer(&mut self, id: Id<Node>) -> Read<Id<Buffer>> {
        match self.value(id)? {
            Value::Buffer(buffer) => Ok(buffer),
            Value::Prim(prim) if let PrimExpr::Load { buffer, .. } = *self.store.prim_of_id(prim) => {
                if self.is_single(buffer) {
                    return Ok(buffer);
                }
                Err(self.error("tir-type", "expected a buffer, found an element", id))
            }
            Value::Prim(prim) if let Some(buffer) = self.data_buffer(prim) => Ok(buffer),
            other => {
                let name = self.tree.name(id).map_or_else(|| "this".to_owned(), |name| format!("`{name}`"));
                Err(self.error("tir-type", format!("{name} is {} and not a buffer", other.kind()), id))
            }
        }
    }

    /// Returns the type that `T.handle(...)` makes.
    pub(super) fn pointer(&mut self, args: &[Arg], at: Id<Node>) -> Read<DType> {
        let (mut element, mut scope) = (None, None);
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (Some("dtype"), _) | (None, 0) => element = Some(arg.value),
                (Some("storage_scope"), _) | (None, 1) => scope = self.tree.string(arg.value),
                _ => return Err(self.error("tir-syntax", "`T.handle` takes an element type and a scope", at)),
            }
        }
        let element = match element {
            Some(element) if matches!(self.tree.expr(element), Node::None) => DType::VOID,
            Some(element) => self.dtype(element)?,
            None => DType::VOID,
        };
        if element.code == DTypeCode::Handle && element != DType::VOID {
            return Err(self.error(
                "tir-type",
                "PrimType cannot represent an opaque pointer: there are no pointers to pointers",
                at,
            ));
        }
        let scope = self.name_of(scope.as_deref().unwrap_or("global"));
        Ok(self.store.pointer(element, scope))
    }

    /// Returns a variable of a function, when an expression is one.
    pub(super) fn symbol_of(&self, value: &Value) -> Option<Id<Symbol>> {
        match value {
            Value::Prim(prim) => match *self.store.prim_of_id(*prim) {
                PrimExpr::Var(symbol) => Some(symbol),
                _ => None,
            },
            _ => None,
        }
    }
}
