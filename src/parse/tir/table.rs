//! Calls of the intrinsics that are rows of [`crate::tir::INTRINSICS`], of packed functions and of kernels.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{AttrValue, Attrs, Buffer, DType, DTypeCode, Id, PrimExpr, PrimId};
use crate::parse::script::tree::Arg;
use crate::tir::{Gives, Intrinsic, math};

impl Reader<'_, '_, '_> {
    /// Gives the arguments of `T.call_llvm_pure_intrin(T.llvm_lookup_intrinsic_id("llvm.x"), ...)` with the name itself. Behind it
    /// TVM 0.19 wants a number: how many arguments have types that count (`T.uint32(n)`).
    fn without_lookup(&mut self, args: &[Arg], at: Id<Node>) -> Option<Vec<Arg>> {
        let looked_up = |arg: &Arg| match self.tree.expr(arg.value) {
            Node::Call { callee, args } if self.tree.dotted(callee)?.ends_with(".llvm_lookup_intrinsic_id") => {
                self.tree.args(args).first().copied()
            }
            _ => None,
        };
        let (place, inner) = args.iter().enumerate().find_map(|(place, arg)| Some((place, looked_up(arg)?)))?;
        let is_count = |arg: &Arg| match self.tree.expr(arg.value) {
            Node::Call { callee, .. } => self.tree.dotted(callee).is_some_and(|name| name.ends_with(".uint32")),
            _ => self.tree.int(arg.value).is_some(),
        };
        let counted = args.get(place + 1).is_some_and(|arg| arg.name().is_none() && is_count(arg));
        let mut args = args.to_vec();
        args[place].value = inner.value;
        if counted {
            self.old("TVM 0.19 and before count the arguments behind the name of the intrinsic; today they follow it", at);
            args.remove(place + 1);
        }
        Some(args)
    }

    /// Reads an intrinsic of the table.
    pub(super) fn table_call(&mut self, known: &'static Intrinsic, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let name = known.name;
        let looked_up = self.without_lookup(args, at);
        let args = looked_up.as_deref().unwrap_or(args);
        let given = self.arranged(known.params, args, name, at)?;
        let mut said = None;
        let values = match known.gives {
            Gives::Said => {
                said = given.first().cloned();
                &given[1.min(given.len())..]
            }
            Gives::SaidLast => {
                said = given.last().cloned();
                &given[..given.len().saturating_sub(1)]
            }
            _ => &given[..],
        };
        let said = match said {
            Some((value, at)) => Some(self.dtype_from(&value, at)?),
            None => None,
        };
        // The type of the matrix's elements is not among the arguments.
        let values = match values {
            [(Value::Str(text), _), rest @ ..] if name == "ptx_legacy.ldmatrix" && DType::parse(text).is_some() => rest,
            values => values,
        };
        let packs = name.starts_with("call_packed") || name.starts_with("call_cpacked") || name == "tvm_call_trace_packed";
        let mut prims = Vec::with_capacity(values.len());
        for (i, (value, at)) in values.iter().enumerate() {
            prims.push(match (name, i, value) {
                (_, _, Value::Buffer(buffer)) if packs => self.packed_buffer(*buffer),
                ("call_llvm_intrin" | "call_llvm_pure_intrin", 0, Value::Str(text)) => {
                    let base = self.store.name(without_overload(text));
                    self.store.prim(PrimExpr::Str(base))
                }
                ("address_of", 0, Value::Buffer(buffer)) => {
                    let data = self.store.buffer(*buffer);
                    let (buffer, zeros) = (*buffer, data.shape.len());
                    let zero = self.store.prim_int(0, DType::I32);
                    self.store.prim(PrimExpr::Load { buffer, indices: vec![zero; zeros].into() })
                }
                ("tvm_access_ptr", 0, Value::Str(_) | Value::Type(_))
                | ("ptr_byte_offset", 2, Value::Str(_) | Value::Type(_)) => {
                    let dtype = self.dtype_from(value, *at)?;
                    self.store.prim_call("type_annotation", &[], dtype)
                }
                ("tvm_stack_make_array", 4, Value::Str(_) | Value::Type(_)) => {
                    let dtype = self.dtype_from(value, *at)?;
                    math::constant(self.store, 0, dtype)
                }
                (_, _, Value::Type(dtype)) => {
                    let text = self.store.name(&dtype.to_string());
                    self.store.prim(PrimExpr::Str(text))
                }
                _ => self.argument(value, *at)?,
            });
        }
        let of = |reader: &Self, i: usize| prims.get(i).map_or(DType::VOID, |prim| reader.store.prim_dtype(*prim));
        let dtype = match known.gives {
            Gives::Argument(i) => of(self, i),
            Gives::Bool => DType::BOOL,
            Gives::I32 => DType::I32,
            Gives::U32 => DType::new(DTypeCode::UInt, 32),
            Gives::Void => DType::VOID,
            Gives::Handle => DType::HANDLE,
            Gives::Shape => {
                let global = self.store.name("global");
                self.store.pointer(DType::I64, global)
            }
            Gives::Said | Gives::SaidLast => said.unwrap_or(DType::VOID),
            Gives::Special => self.special_type(name, &prims),
        };
        let floats = matches!(name, "sin" | "cos" | "tan") && !of(self, 0).is_float();
        if floats {
            let found = of(self, 0);
            return Err(self.error("tir-type", format!("tirx.{name} only supports floating-point inputs, but got {found}"), at));
        }
        let text = prims.first().is_some_and(|value| matches!(self.store.prim_of_id(*value), PrimExpr::Str(_)));
        if name == "reinterpret" && !text && prims.first().is_some_and(|value| self.store.prim_dtype(*value) == dtype) {
            return Ok(Value::Prim(prims[0]));
        }
        Ok(Value::Prim(self.store.prim_call(name, &prims, dtype)))
    }

    /// Returns the type of a call that depends on its arguments.
    fn special_type(&mut self, name: &str, args: &[PrimId]) -> DType {
        let of = |reader: &Self, i: usize| args.get(i).map_or(DType::VOID, |prim| reader.store.prim_dtype(*prim));
        let scope = |reader: &Self, i: usize| {
            let data = args.get(i).copied();
            data.and_then(|data| match *reader.store.prim_of_id(data) {
                PrimExpr::Data(buffer) => Some(reader.store.buffer(buffer).scope),
                _ => reader.store.pointee(reader.store.prim_dtype(data)).map(|pointer| pointer.scope),
            })
        };
        let global = self.store.name("global");
        match name {
            "address_of" => match args.first().map(|prim| self.store.prim_of_id(*prim).clone()) {
                Some(PrimExpr::Load { buffer, .. }) => {
                    let data = self.store.buffer(buffer);
                    let (dtype, scope) = (data.dtype, data.scope);
                    self.store.pointer(dtype, scope)
                }
                _ => {
                    let element = of(self, 0);
                    self.store.pointer(element, global)
                }
            },
            "handle_add_byte_offset" => {
                let scope = scope(self, 0).unwrap_or(global);
                self.store.pointer(DType::VOID, scope)
            }
            "tvm_access_ptr" => {
                let (element, scope) = (of(self, 0), scope(self, 1).unwrap_or(global));
                self.store.pointer(element, scope)
            }
            "ptr_byte_offset" => {
                let (element, scope) = (of(self, 2), scope(self, 0).unwrap_or(global));
                self.store.pointer(element, scope)
            }
            "tvm_stack_alloca" => match args.first().map(|prim| self.store.prim_of_id(*prim)) {
                Some(PrimExpr::Str(text)) if self.store.str(*text) == "shape" => self.store.pointer(DType::I64, global),
                Some(PrimExpr::Str(text)) if self.store.str(*text) == "arg_tcode" => self.store.pointer(DType::I32, global),
                _ => DType::HANDLE,
            },
            _ => DType::VOID,
        }
    }

    /// Makes a buffer as the argument of a packed function.
    fn packed_buffer(&mut self, buffer: Id<Buffer>) -> PrimId {
        let data = self.store.buffer(buffer).clone();
        let index_type = data.shape.first().map_or(DType::I64, |extent| self.store.prim_dtype(*extent));
        let global = self.store.name("global");
        let shape_type = self.store.pointer(DType::I64, global);
        let shape = self.store.prim_call("tvm_stack_make_shape", &data.shape, shape_type);
        let strides = match data.strides.is_empty() {
            true => self.store.prim_int(0, DType::I32),
            false => self.store.prim_call("tvm_stack_make_shape", &data.strides, shape_type),
        };
        let pointer = self.store.prim(PrimExpr::Data(buffer));
        let rank = self.store.prim_int(data.shape.len() as i64, DType::I32);
        let zero = math::constant(self.store, 0, data.dtype);
        let offset = data.elem_offset.unwrap_or_else(|| self.store.prim_int(0, index_type));
        self.store.prim_call("tvm_stack_make_array", &[pointer, shape, strides, rank, zero, offset], DType::HANDLE)
    }

    /// Reads `T.call_ffi_kernel("kernel", A.data, 1024, launch_params=["threadIdx.x"], ret_ty="int32")`.
    pub(super) fn kernel_call(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let mut prims = Vec::new();
        for (value, at) in self.positional(args)? {
            prims.push(self.argument(&value, at)?);
        }
        let (mut params, mut dtype) = (None, DType::I32);
        for arg in args {
            match arg.name().map(|name| self.tree.text(name)) {
                None => {}
                Some("launch_params") => {
                    let value = self.value(arg.value)?;
                    params = Some(self.attr_value(&value, arg.value)?);
                }
                Some("ret_ty") => dtype = self.dtype(arg.value)?,
                Some(key) => {
                    let message = format!("`T.call_ffi_kernel` takes no argument `{key}`");
                    return Err(self.error("tir-syntax", message, arg.value));
                }
            }
        }
        let Some(params @ AttrValue::Array(_)) = params else {
            return Err(self.error("tir-syntax", "`T.call_ffi_kernel` needs a list `launch_params=`", at));
        };
        let (key, field) = (self.name_of("tirx.CallFFIKernelAttr"), self.name_of("launch_params"));
        let attrs = self.store.attrs(Attrs { key, fields: [(field, params)].into() });
        prims.push(self.store.prim(PrimExpr::Attrs(attrs)));
        Ok(Value::Prim(self.store.prim_call("call_ffi_kernel", &prims, dtype)))
    }
}

/// Returns the name of an intrinsic of LLVM without overloaded types: `llvm.ctpop` of `llvm.ctpop.v8i8`.
fn without_overload(name: &str) -> &str {
    let is_type = |part: &str| {
        let part = part.strip_prefix("nx").unwrap_or(part);
        let element = part.strip_prefix('v').map_or(part, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let bits = ["bf", "i", "f", "p"].iter().find_map(|kind| element.strip_prefix(kind));
        bits.is_some_and(|bits| !bits.is_empty() && bits.chars().all(|c| c.is_ascii_digit()))
    };
    match name.rsplit_once('.') {
        Some((base, last)) if name.starts_with("llvm.") && base.contains('.') && is_type(last) => without_overload(base),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::without_overload;

    #[test]
    fn intrinsics_of_llvm_are_named_without_types() {
        // As TVM 0.27 prints them.
        for (name, base) in [
            ("llvm.ctpop.v8i8", "llvm.ctpop"),
            ("llvm.exp.f32", "llvm.exp"),
            ("llvm.fptosi.sat.i32.f32", "llvm.fptosi.sat"),
            ("llvm.vector.insert.nxv4i32.v4i32", "llvm.vector.insert"),
            ("llvm.exp2", "llvm.exp2"),
        ] {
            assert_eq!(without_overload(name), base);
        }
    }
}
