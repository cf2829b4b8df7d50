//! Declarations of buffers: `T.Buffer((n, 4), "float32", scope="shared")` and its kin, and parts of buffers.

use super::{Meaning, Node, Read, Reader};
use crate::ir::{Buffer, BufferLayout, DType, Id, PrimExpr, PrimId, Region};
use crate::parse::script;
use crate::parse::script::tree::Arg;
use rustc_hash::FxHashMap;

/// Names of the arguments, in the order in which they may stand without.
const ARGUMENTS: &[&str] = &["shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor"];

impl Reader<'_, '_, '_> {
    /// Reads the arguments of a declaration. `matching`: strings among the extents define variables.
    pub(super) fn declared(&mut self, name: &str, args: &[Arg], scope: &str, matching: bool, at: Id<Node>) -> Read<Buffer> {
        let mut given: FxHashMap<&str, Id<Node>> = FxHashMap::default();
        for (i, arg) in args.iter().enumerate() {
            let key = match arg.name() {
                Some(name) => self.tree.text(name),
                None => ARGUMENTS.get(i).copied().unwrap_or(""),
            };
            if !ARGUMENTS.contains(&key) && !matches!(key, "buffer_type" | "axis_separators" | "layout" | "annotations") {
                return Err(self.error("tir-syntax", "a buffer has no such argument", arg.value));
            }
            given.insert(key, arg.value);
        }
        let Some(&shape) = given.get("shape") else {
            return Err(self.error("tir-syntax", "a buffer needs a shape", at));
        };
        let shape = self.extents(shape, matching)?;
        let dtype = match given.get("dtype") {
            Some(&dtype) => self.dtype(dtype)?,
            None => DType::F32,
        };
        let data = match given.get("data") {
            Some(&data) if !matches!(self.tree.expr(data), Node::None) => Some(self.prim(data)?),
            _ => None,
        };
        let strides = match given.get("strides") {
            Some(&strides) if !matches!(self.tree.expr(strides), Node::None) => self.extents(strides, matching)?,
            _ => Vec::new(),
        };
        let number = |reader: &mut Self, key: &str, default: u32| match given.get(key) {
            None => Ok(default),
            Some(&id) => {
                let value = reader.tree.int(id).and_then(|n| u32::try_from(n).ok());
                value.ok_or_else(|| reader.error("tir-type", "expected a number", id))
            }
        };
        let (align, offset_factor) = (number(self, "align", 64)?, number(self, "offset_factor", 0)?);
        let elem_offset = match given.get("elem_offset") {
            Some(&offset) if !matches!(self.tree.expr(offset), Node::None) => Some(self.prim(offset)?),
            _ if offset_factor != 0 => {
                // Said to be a multiple of something, it is a variable that nobody else knows.
                let symbol = self.new_symbol(&format!("{name}_elem_offset"), DType::I32);
                Some(self.store.prim(PrimExpr::Var(symbol)))
            }
            _ => None,
        };
        let scope = match given.get("scope").and_then(|id| self.tree.string(*id)) {
            Some(text) if !text.is_empty() => self.name_of(&text),
            _ => self.name_of(scope),
        };
        let name = self.name_of(name);
        let offset_factor = offset_factor.max(1);
        let unsaid = self.s_tir || given.get("layout").is_some_and(|layout| matches!(self.tree.expr(*layout), Node::None));
        let layout = if unsaid { BufferLayout::Unsaid } else { BufferLayout::Rows };
        let (shape, strides) = (shape.into(), strides.into());
        Ok(Buffer { name, dtype, shape, strides, elem_offset, offset_factor, scope, align, data, layout })
    }

    /// A shape: a tuple or list of extents, or one.
    fn extents(&mut self, id: Id<Node>, matching: bool) -> Read<Vec<PrimId>> {
        let items = match self.tree.expr(id) {
            Node::Tuple(items) | Node::List(items) => self.tree.items(items).to_vec(),
            _ => vec![id],
        };
        items.into_iter().map(|item| self.extent(item, matching)).collect()
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
            let Some(name) = tree.name(Id::from_index(index)).filter(|name| *name != "T") else { continue };
            let scalar = self.scalars.get(name).copied();
            let known = self.meaning(name).is_some() || (scalar.is_none() && self.around.type_vars.contains(name));
            if !known {
                let symbol = self.new_symbol(name, scalar.unwrap_or(DType::I32));
                self.matched.insert(symbol);
                self.give(name, Meaning::Symbol(symbol));
            }
        }
        let inside = Some(self.span(id));
        let mut reader = Reader {
            tree: &tree,
            inside,
            store: self.store,
            diagnostics: self.diagnostics,
            around: self.around,
            names: std::mem::take(&mut self.names),
            given: std::mem::take(&mut self.given),
            matched: std::mem::take(&mut self.matched),
            scalars: FxHashMap::default(),
            loops: FxHashMap::default(),
            announced: Default::default(),
            block: None,
            root: Vec::new(),
            s_tir: self.s_tir,
            failed: false,
        };
        let extent = reader.prim(expr);
        let Reader { names, given, matched, failed, .. } = reader;
        (self.names, self.given, self.matched) = (names, given, matched);
        self.failed |= failed;
        extent
    }

    /// Parts of buffers: `A[i, 0:4], B[j]`.
    pub(super) fn regions(&mut self, args: &[Arg]) -> Read<Vec<Region>> {
        let mut out = Vec::new();
        for arg in args {
            match self.tree.expr(arg.value) {
                Node::List(items) | Node::Tuple(items) => {
                    for item in self.tree.items(items).to_vec() {
                        out.push(self.region(item)?);
                    }
                }
                _ => out.push(self.region(arg.value)?),
            }
        }
        Ok(out)
    }

    pub(super) fn region(&mut self, id: Id<Node>) -> Read<Region> {
        let Node::Subscript { value, items } = self.tree.expr(id) else {
            // A buffer without indices is all of it.
            let buffer = self.buffer(id)?;
            let shape = self.store.buffer(buffer).shape.clone();
            let ranges = shape.iter().map(|extent| (self.store.prim_int(0, self.store.prim_dtype(*extent)), Some(*extent)));
            return Ok(Region { buffer, ranges: ranges.collect() });
        };
        let buffer = self.buffer(value)?;
        let mut ranges = Vec::new();
        for item in self.flat(items) {
            let Node::Slice { lower, upper, .. } = self.tree.expr(item) else {
                ranges.push((self.prim(item)?, None));
                continue;
            };
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
        Ok(Region { buffer, ranges: ranges.into() })
    }
}
