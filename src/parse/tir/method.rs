//! Attributes and methods of values: `A.data`, `A.access_ptr("r")`, `x.astype("float16")`.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{Buffer, BufferLayout, DType, Id, PrimExpr, PrimId, PrimOp, Stmt};
use crate::parse::script::tree::Arg;
use crate::tir;
use std::rc::Rc;

impl Reader<'_, '_, '_> {
    pub(super) fn attribute(&mut self, value: Id<Node>, name: &str, at: Id<Node>) -> Read<Value> {
        if let Some(name) = self.intrinsic(at) {
            return self.named(name, at);
        }
        match self.value(value)? {
            Value::Module => {
                let name = self.name_of(name);
                Ok(Value::Function(name))
            }
            Value::Buffer(buffer) => self.buffer_attribute(buffer, name, at),
            Value::Prim(prim) => self.prim_attribute(prim, name, at),
            Value::Fresh(dtype) if name == "ty" => Ok(Value::Type(dtype)),
            Value::Type(dtype) if matches!(name, "dtype" | "ty") => Ok(Value::Type(dtype)),
            Value::Iter(var, _) if name == "var" => Ok(Value::Prim(self.store.prim(PrimExpr::Var(var)))),
            other => Err(self.error("tir-type", format!("{} has no `{name}`", other.kind()), at)),
        }
    }

    fn buffer_attribute(&mut self, buffer: Id<Buffer>, name: &str, at: Id<Node>) -> Read<Value> {
        let data = self.store.buffer(buffer).clone();
        let prims = |list: &[PrimId]| list.iter().map(|prim| Value::Prim(*prim)).collect::<Vec<_>>();
        Ok(match name {
            "data" => Value::Prim(self.store.prim(PrimExpr::Data(buffer))),
            "shape" => Value::Tuple(self.extent_values(&data.shape).into()),
            "strides" => Value::Tuple(prims(&data.strides).into()),
            "dtype" => Value::Str(data.dtype.to_string().into()),
            // The type of a buffer holds the same fields.
            "ty" | "buffer" => Value::Buffer(buffer),
            "name" => Value::Str(self.store.str(data.name).into()),
            "storage_scope" => Value::Str(self.store.str(data.scope).into()),
            "elem_offset" => Value::Prim(self.offset_of(buffer)),
            "byte_offset" => {
                let offset = self.offset_of(buffer);
                let [bits, eight] = [i64::from(data.dtype.bits), 8].map(|n| self.store.prim_int(n, DType::I32));
                let product = tir::binary(self.store, PrimOp::Mul, offset, bits);
                Value::Prim(tir::binary(self.store, PrimOp::FloorDiv, product, eight))
            }
            "data_alignment" => Value::Int(i64::from(data.align)),
            "offset_factor" => Value::Int(i64::from(data.offset_factor)),
            "layout" | "allocated_addr" | "sub" | "tile" | "chunk" => return Err(self.device_dialect(name, at)),
            _ => return Err(self.error("tir-type", format!("a buffer has no `{name}`"), at)),
        })
    }

    /// Returns the extents, those that are plain numbers as numbers of Python.
    fn extent_values(&self, shape: &[PrimId]) -> Vec<Value> {
        shape.iter().map(|extent| Value::Prim(*extent)).collect()
    }

    /// Returns the offset of a buffer's first element.
    fn offset_of(&mut self, buffer: Id<Buffer>) -> PrimId {
        let data = self.store.buffer(buffer);
        let index_type = data.shape.first().map_or(DType::I64, |extent| self.store.prim_dtype(*extent));
        data.elem_offset.unwrap_or_else(|| self.store.prim_int(0, index_type))
    }

    fn prim_attribute(&mut self, prim: PrimId, name: &str, at: Id<Node>) -> Read<Value> {
        let dtype = self.store.prim_dtype(prim);
        match (name, self.store.prim_of_id(prim).clone()) {
            ("ty", _) => Ok(Value::Type(dtype)),
            ("dtype", _) => Ok(Value::Str(dtype.to_string().into())),
            ("buffer" | "source", PrimExpr::Load { buffer, .. }) => Ok(Value::Buffer(buffer)),
            ("indices", PrimExpr::Load { indices, .. }) => {
                Ok(Value::List(indices.iter().map(|index| Value::Prim(*index)).collect()))
            }
            // A scalar means its element.
            (_, PrimExpr::Load { buffer, .. }) if self.is_single(buffer) => self.buffer_attribute(buffer, name, at),
            ("value", PrimExpr::Int { value, .. }) => Ok(Value::Int(value)),
            ("name", PrimExpr::Var(symbol)) => Ok(Value::Str(self.store.str(self.store.symbol(symbol).name).into())),
            ("var", PrimExpr::Var(_)) => Ok(Value::Prim(prim)),
            _ => Err(self.error("tir-type", format!("a scalar expression has no `{name}`"), at)),
        }
    }

    pub(super) fn method(&mut self, receiver: Value, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        match receiver {
            Value::Buffer(buffer) => self.buffer_method(buffer, name, args, at),
            Value::Prim(prim) if name == "astype" => {
                let [arg] = args else { return Err(self.error("tir-syntax", "`astype` takes a type", at)) };
                let dtype = self.dtype(arg.value)?;
                Ok(Value::Prim(tir::cast(self.store, dtype, prim)))
            }
            Value::Prim(prim) if name == "equal" && args.len() == 1 => {
                let other = self.prim(args[0].value)?;
                Ok(Value::Prim(tir::binary(self.store, PrimOp::Eq, prim, other)))
            }
            Value::Prim(prim) => match *self.store.prim_of_id(prim) {
                PrimExpr::Load { buffer, .. } if self.is_single(buffer) => self.buffer_method(buffer, name, args, at),
                _ => Err(self.error("tir-type", format!("a scalar expression has no method `{name}`"), at)),
            },
            Value::Str(text) if matches!(name, "format" | "join") => {
                let _ = text;
                Err(self.error("tir-type", format!("`{name}` of strings is not computed here"), at))
            }
            other => Err(self.error("tir-type", format!("{} has no method `{name}`", other.kind()), at)),
        }
    }

    fn buffer_method(&mut self, buffer: Id<Buffer>, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        match name {
            "scope" if args.is_empty() => {
                let scope = self.store.buffer(buffer).scope;
                Ok(Value::Str(self.store.str(scope).into()))
            }
            "access_ptr" => self.access_ptr(buffer, args, at),
            "vload" => {
                if let Some(arg) = args.iter().find(|arg| arg.name().is_some_and(|name| self.tree.text(name) == "predicate")) {
                    let message = "_BufferMethods.vload() got an unexpected keyword argument 'predicate'";
                    return Err(self.error("tir-syntax", message, arg.value));
                }
                let (begin, dtype) = match args {
                    [begin] => (begin.value, None),
                    [begin, dtype] => (begin.value, Some(dtype.value)),
                    _ => return Err(self.error("tir-syntax", "`vload` takes a place and a type", at)),
                };
                let dtype = match dtype {
                    Some(dtype) => self.dtype(dtype)?,
                    None => self.store.buffer(buffer).dtype,
                };
                let indices = self.vector_place(buffer, begin, dtype, at)?;
                Ok(Value::Prim(self.store.prim(PrimExpr::Load { buffer, indices: indices.into() })))
            }
            "vstore" => {
                if let Some(arg) = args.iter().find(|arg| arg.name().is_some_and(|name| self.tree.text(name) == "predicate")) {
                    let message = "_BufferMethods.vstore() got an unexpected keyword argument 'predicate'";
                    return Err(self.error("tir-syntax", message, arg.value));
                }
                let [begin, value] = args else {
                    return Err(self.error("tir-syntax", "`vstore` takes a place and a value", at));
                };
                let value = self.prim(value.value)?;
                let dtype = self.store.prim_dtype(value);
                let indices = self.vector_place(buffer, begin.value, dtype, at)?;
                self.store_to(buffer, indices, value, at)?;
                Ok(Value::None)
            }
            "ptr_to" => {
                let [arg] = args else { return Err(self.error("tir-syntax", "`ptr_to` takes a place", at)) };
                let indices = self.indices(buffer, &[arg.value], at)?;
                let load = self.store.prim(PrimExpr::Load { buffer, indices: indices.into() });
                let data = self.store.buffer(buffer);
                let (dtype, scope) = (data.dtype, data.scope);
                let pointer = self.store.pointer(dtype, scope);
                Ok(Value::Prim(self.store.prim_call("address_of", &[load], pointer)))
            }
            "offset_of" | "elem_offset_of" => {
                let [arg, ..] = args else { return Err(self.error("tir-syntax", "this takes a place", at)) };
                let indices = self.indices(buffer, &[arg.value], at)?;
                let flat = self.flat_index(buffer, &indices);
                Ok(if name == "offset_of" { Value::List(Rc::from([Value::Prim(flat)])) } else { Value::Prim(flat) })
            }
            "view" => self.view(buffer, args, at),
            "local" | "permute" | "rearrange" | "partition" | "tile" | "chunk" | "sub" | "with_allocated_addr" => {
                Err(self.device_dialect(&format!(".{name}(...)"), at))
            }
            _ => Err(self.error("tir-type", format!("a buffer has no method `{name}`"), at)),
        }
    }

    /// Returns the place of a vector in a buffer.
    fn vector_place(&mut self, buffer: Id<Buffer>, begin: Id<Node>, dtype: DType, at: Id<Node>) -> Read<Vec<PrimId>> {
        let mut indices = self.indices(buffer, &[begin], at)?;
        let own = self.store.buffer(buffer).dtype;
        if own.element() != dtype.element() || !dtype.lanes.is_multiple_of(own.lanes.max(1)) {
            let message = format!("Cannot load {dtype} from buffer of {own}");
            return Err(self.error("tir-type", message, at));
        }
        let lanes = if own.lanes == 1 { dtype.lanes } else { dtype.lanes / own.lanes };
        if let Some(last) = indices.last_mut()
            && lanes > 1
            && self.store.prim_dtype(*last).lanes == 1
        {
            let stride = self.store.prim_int(1, self.store.prim_dtype(*last));
            *last = self.store.prim(PrimExpr::Ramp { base: *last, stride, lanes });
        }
        Ok(indices)
    }

    /// Returns the place of an element as one number.
    fn flat_index(&mut self, buffer: Id<Buffer>, indices: &[PrimId]) -> PrimId {
        let data = self.store.buffer(buffer).clone();
        let mut sum = self.offset_of(buffer);
        if data.strides.len() == indices.len() && !indices.is_empty() {
            for (index, stride) in indices.iter().zip(&data.strides) {
                let product = tir::binary(self.store, PrimOp::Mul, *index, *stride);
                sum = tir::binary(self.store, PrimOp::Add, sum, product);
            }
            return sum;
        }
        let mut flat = None;
        for (index, extent) in indices.iter().zip(&data.shape) {
            flat = Some(match flat {
                None => *index,
                Some(flat) => {
                    let product = tir::binary(self.store, PrimOp::Mul, flat, *extent);
                    tir::binary(self.store, PrimOp::Add, product, *index)
                }
            });
        }
        flat.map_or(sum, |flat| tir::binary(self.store, PrimOp::Add, flat, sum))
    }

    /// Reads `A.access_ptr("rw", offset=3)`.
    fn access_ptr(&mut self, buffer: Id<Buffer>, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let names = ["access_mask", "ptr_type", "content_lanes", "offset", "extent"];
        let mut given = [None; 5];
        for (i, arg) in args.iter().enumerate() {
            let place = match arg.name().map(|name| self.tree.text(name)) {
                Some(name) => names.iter().position(|known| *known == name),
                None => Some(i).filter(|i| *i < names.len()),
            };
            match place {
                Some(place) => given[place] = Some(arg.value),
                None => return Err(self.error("tir-syntax", "`access_ptr` takes no such argument", arg.value)),
            }
        }
        let Some(mask) = given[0] else { return Err(self.error("tir-syntax", "`access_ptr` needs \"r\" or \"w\"", at)) };
        let mask = match self.value(mask)? {
            Value::Int(mask) => mask,
            Value::Str(text) if text.chars().all(|c| matches!(c, 'r' | 'w')) => {
                i64::from(text.contains('r')) | i64::from(text.contains('w')) << 1
            }
            _ => return Err(self.error("tir-type", "Unknown access_mask: it is made of \"r\" and \"w\"", mask)),
        };
        let data = self.store.buffer(buffer).clone();
        let index_type = data.shape.first().map_or(DType::I64, |extent| self.store.prim_dtype(*extent));
        let offset = match given[3] {
            Some(offset) => self.prim(offset)?,
            None => self.store.prim_int(0, DType::I32),
        };
        let lanes = match given[2] {
            Some(lanes) => self.known_int(lanes, "a number of lanes")?,
            None => 1,
        };
        let one = self.store.prim_int(1, index_type);
        let size = match (data.shape.first(), data.strides.first()) {
            (Some(extent), Some(stride)) if data.strides.len() == data.shape.len() => {
                tir::binary(self.store, PrimOp::Mul, *stride, *extent)
            }
            _ => data.shape.iter().fold(one, |size, extent| tir::binary(self.store, PrimOp::Mul, size, *extent)),
        };
        let mut extent = if data.shape.is_empty() { one } else { tir::binary(self.store, PrimOp::Sub, size, offset) };
        let own = self.offset_of(buffer);
        let mut place = tir::binary(self.store, PrimOp::Add, own, offset);
        let mut element = data.dtype;
        if lanes > 1 {
            let n = self.store.prim_int(lanes, DType::I32);
            element.lanes = u16::try_from(lanes).ok().filter(|n| *n < DType::SCALABLE).unwrap_or(1);
            extent = tir::binary(self.store, PrimOp::Div, extent, n);
            place = tir::binary(self.store, PrimOp::Div, own, n);
        }
        if let Some(said) = given[4]
            && !matches!(self.tree.expr(said), Node::None)
        {
            extent = self.prim(said)?;
        }
        let annotation = self.store.prim_call("type_annotation", &[], element);
        let pointer = self.store.prim(PrimExpr::Data(buffer));
        let mask = self.store.prim_int(mask, DType::I32);
        let dtype = self.store.pointer(element, data.scope);
        Ok(Value::Prim(self.store.prim_call("tvm_access_ptr", &[annotation, pointer, place, extent, mask], dtype)))
    }

    /// Reads `A.view(4, 4)`, `A.view("int8")`: the same memory as a buffer of another shape or type.
    fn view(&mut self, buffer: Id<Buffer>, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let parent = self.store.buffer(buffer).clone();
        if let Some((arg, name)) = args.iter().find_map(|arg| Some((arg, arg.name()?))) {
            return Err(match self.tree.text(name) {
                "layout" => self.device_dialect("layout=", arg.value),
                other => self.error("tir-syntax", format!("Unsupported kwargs for view: {other}"), arg.value),
            });
        }
        let given = self.positional(args)?;
        let data = Some(self.store.prim(PrimExpr::Data(buffer)));
        let hint = self.state.hint.take();
        let name = self.name_of(hint.as_deref().unwrap_or("buffer"));
        let offset = self.offset_of(buffer);
        let elem_offset = Some(offset).filter(|offset| self.store.as_prim_int(*offset) != Some(0));
        let like = Buffer { name, data, elem_offset, ..parent.clone() };
        let new = match &given[..] {
            [(value @ (Value::Str(_) | Value::Type(_)), at)] => {
                let dtype = self.dtype_from(value, *at)?;
                let (from, to) = (i64::from(parent.dtype.bits), i64::from(dtype.bits));
                let (many, few) = (from.max(to), from.min(to).max(1));
                if many % few != 0 {
                    return Err(self.error(
                        "tir-type",
                        format!("elements of {dtype} do not fit into those of {}", parent.dtype),
                        *at,
                    ));
                }
                let ratio = self.store.prim_int(many / few, DType::I32);
                let op = if to > from { PrimOp::FloorDiv } else { PrimOp::Mul };
                let mut shape = parent.shape.to_vec();
                if let Some(last) = shape.last_mut() {
                    *last = tir::binary(self.store, op, *last, ratio);
                }
                let elem_offset = Some(tir::binary(self.store, op, offset, ratio));
                Buffer { dtype, shape: shape.into(), elem_offset, ..like }
            }
            _ => {
                let mut shape = Vec::with_capacity(given.len());
                for (value, at) in &given {
                    shape.push(self.prim_from(value, *at)?);
                }
                if let [open] =
                    shape.iter().enumerate().filter(|(_, e)| self.store.as_prim_int(**e) == Some(-1)).collect::<Vec<_>>()[..]
                {
                    let place = open.0;
                    let one = self.store.prim_int(1, DType::I32);
                    let product = |reader: &mut Self, list: &[PrimId], skip: Option<usize>| {
                        let rest = list.iter().enumerate().filter(|(i, _)| Some(*i) != skip);
                        rest.fold(one, |size, (_, extent)| tir::binary(reader.store, PrimOp::Mul, size, *extent))
                    };
                    let (all, known) = (product(self, &parent.shape, None), product(self, &shape, Some(place)));
                    shape[place] = tir::binary(self.store, PrimOp::FloorDiv, all, known);
                }
                let layout = match parent.layout {
                    BufferLayout::Rows if *parent.shape != *shape => BufferLayout::Parent,
                    layout => layout,
                };
                Buffer { shape: shape.into(), layout, ..like }
            }
        };
        let new = self.store.add_buffer(new);
        self.push(Stmt::Declare(new));
        let _ = at;
        Ok(Value::Buffer(new))
    }
}
