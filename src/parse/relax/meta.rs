//! `metadata["ir.GenericConst"][0]` and the section it refers to: the JSON graph of tvm-ffi.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, DType, DTypeCode, Dim, Expr, ExprId, Id, Object, Tensor, TensorInfo, TypeId};
use crate::parse::json::{self, Json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The metadata section of the text.
pub(super) enum Metadata {
    /// The text has none: the constants that were made up so far, by index.
    Missing(FxHashMap<usize, ExprId>),
    /// Constants, by index.
    Read(Vec<ExprId>),
}

/// `kTVMTensorMagic`
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

impl<'s> Reader<'s, '_> {
    /// Returns the value of a reference. Without a section it is a constant without a value.
    pub(super) fn metadata(&mut self, key: &str, index: Option<usize>, id: Id<Node>) -> Read<Value> {
        let Some(index) = index else {
            return Err(self.error_at("relax-metadata", "a number is expected behind `metadata[...]`", id));
        };
        if key == "ffi.Module" {
            // Compiled code: its bytes are not kept.
            let key = self.store.name(key);
            let fields = [(self.store.name("index"), AttrValue::int(index as i64))];
            let object = Object { key, fields: fields.into(), items: [].into(), repr: None };
            return Ok(Value::Attr(AttrValue::Object(self.store.add_object(object))));
        }
        if !matches!(key, "ir.GenericConst" | "relax.expr.Constant") {
            return Err(self.error_at("relax-metadata", format!("objects of type `{key}` are not supported"), id));
        }
        match &mut self.meta {
            Metadata::Read(constants) => match constants.get(index) {
                Some(&constant) => Ok(Value::Expr(constant)),
                None => {
                    let message = format!("the metadata section has {} constants", constants.len());
                    Err(self.error_at("relax-metadata", message, id))
                }
            },
            Metadata::Missing(known) => {
                if let Some(&constant) = known.get(&index) {
                    return Ok(Value::Expr(constant));
                }
                // A tensor of which nothing is known, until a binding says more.
                let tensor = self.store.add_tensor(Tensor::without_value(DType::F32, []));
                let ty = self.store.tensor_like(TensorInfo::UNKNOWN);
                let constant = self.store.add_typed(Expr::Constant(tensor), Some(ty));
                known.insert(index, constant);
                Ok(Value::Expr(constant))
            }
        }
    }

    /// True if a node is a constant of the metadata section that the text does not have.
    pub(super) fn is_unknown_constant(&self, id: ExprId) -> bool {
        matches!(self.store.expr(id), Expr::Constant(tensor) if self.store.tensor(tensor).data.is_none())
    }

    /// Gives a constant without a value the type that is written where it is bound.
    pub(super) fn type_unknown_constant(&mut self, id: ExprId, ty: Option<TypeId>) -> ExprId {
        let Some(info) = ty.and_then(|ty| self.store.tensor_info(ty)) else { return id };
        let (crate::ir::Extents::Known(dims), Some(dtype)) = (&info.extents, info.dtype) else { return id };
        let Some(shape) = dims.iter().map(|dim| dim.known()).collect::<Option<Vec<i64>>>() else { return id };
        let tensor = self.store.add_tensor(Tensor::without_value(dtype, shape));
        let constant = self.store.add_typed(Expr::Constant(tensor), ty);
        if let Metadata::Missing(known) = &mut self.meta {
            known.values_mut().filter(|known| **known == id).for_each(|known| *known = constant);
        }
        constant
    }

    /// Reads the section.
    pub(super) fn read_metadata(&mut self, json: &str, span: Span) -> Read<()> {
        let parsed = match json::read(json) {
            Ok(parsed) => parsed,
            Err(error) => {
                return Err(self.error("relax-metadata", format!("the metadata section is no JSON: {}", error.message), span));
            }
        };
        self.strings_of_metadata = strings(&parsed).iter().map(|text| self.store.name(text)).collect();
        match constants(&parsed) {
            Ok(tensors) => {
                let constants = tensors.into_iter().map(|tensor| self.typed_constant(tensor)).collect();
                self.meta = Metadata::Read(constants);
                Ok(())
            }
            Err(message) => Err(self.error("relax-metadata", message, span)),
        }
    }

    pub(super) fn typed_constant(&mut self, tensor: Tensor) -> ExprId {
        let dims: Vec<Dim> = tensor.shape.iter().map(|&value| Dim::Int { value, bits: 64 }).collect();
        let ty = self.store.tensor_type(&dims, tensor.dtype);
        let tensor = self.store.add_tensor(tensor);
        self.store.add_typed(Expr::Constant(tensor), Some(ty))
    }
}

/// Returns the strings of a section that stand in tensor programs, in order.
fn strings(json: &Json) -> Vec<String> {
    let data = |index: Option<&Json>| {
        let index = index.and_then(Json::as_index)?;
        json.get("nodes").and_then(Json::as_array)?.get(index)?.get("data")
    };
    let mut out = Vec::new();
    for pair in data(json.get("root_index")).and_then(Json::as_array).unwrap_or_default().chunks_exact(2) {
        if data(Some(&pair[0])).and_then(Json::as_str) != Some("ir.StringImm") {
            continue;
        }
        for item in data(Some(&pair[1])).and_then(Json::as_array).unwrap_or_default() {
            let text = data(Some(item)).and_then(|string| data(string.get("value")));
            out.push(text.and_then(Json::as_str).unwrap_or_default().to_owned());
        }
    }
    out
}

/// Returns the constants of a section, in order.
fn constants(json: &Json) -> Result<Vec<Tensor>, String> {
    let nodes = json.get("nodes").and_then(Json::as_array).ok_or("the metadata section has no nodes")?;
    if json.get("root").is_some() {
        return old_constants(json, nodes);
    }
    // The `data` of the node that an index leads to.
    let data = |index: Option<&Json>| {
        let node = index.and_then(Json::as_index).and_then(|index| nodes.get(index));
        node.and_then(|node| node.get("data")).ok_or("a node of the metadata section is missing")
    };
    let entries = data(json.get("root_index"))?.as_array().ok_or("the metadata section is not a map")?;
    let mut constants = Vec::new();
    for pair in entries.chunks_exact(2) {
        let key = data(Some(&pair[0]))?.as_str().unwrap_or_default();
        if !matches!(key, "ir.GenericConst" | "relax.expr.Constant") {
            continue;
        }
        for item in data(Some(&pair[1]))?.as_array().ok_or("an entry of the metadata section is not an array")? {
            let constant = data(Some(item))?;
            // The field was called `data` before 0.27.
            let value = data(constant.get("value").filter(|value| **value != Json::Null).or(constant.get("data")))?;
            let blob = value.as_str().ok_or("a constant has no data")?;
            constants.push(tensor(blob).ok_or("the data of a constant are damaged")?);
        }
    }
    Ok(constants)
}

/// Returns the constants of a section that TVM 0.21 or before wrote: nodes with keys and attributes, tensors apart.
fn old_constants(json: &Json, nodes: &[Json]) -> Result<Vec<Tensor>, String> {
    let index = |value: Option<&Json>| value.and_then(|v| v.as_index().or_else(|| v.as_str()?.parse().ok()));
    let node =
        |value: Option<&Json>| index(value).and_then(|at| nodes.get(at)).ok_or("a node of the metadata section is missing");
    let root = node(json.get("root"))?;
    let list = |node: &Json, key: &str| node.get(key).and_then(Json::as_array).map(<[Json]>::to_vec).unwrap_or_default();
    let mut constants = Vec::new();
    for (key, entry) in list(root, "keys").iter().zip(list(root, "data")) {
        if key.as_str() != Some("relax.expr.Constant") {
            continue;
        }
        for item in list(node(Some(&entry))?, "data") {
            let attrs = node(Some(&item))?.get("attrs").ok_or("a constant has no data")?;
            let blob = index(attrs.get("data")).and_then(|at| json.get("b64ndarrays")?.as_array()?.get(at)?.as_str());
            let blob: String = blob.ok_or("a constant has no data")?.split_whitespace().collect();
            constants.push(tensor(&blob).ok_or("the data of a constant are damaged")?);
        }
    }
    Ok(constants)
}

/// Parses a tensor as TVM saves it.
pub(in crate::parse) fn tensor(text: &str) -> Option<Tensor> {
    let bytes = STANDARD.decode(text).ok()?;
    let mut rest = bytes.as_slice();
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at_checked(n)?;
        rest = tail;
        Some(head)
    };
    if u64::from_le_bytes(take(8)?.try_into().ok()?) != TENSOR_MAGIC {
        return None;
    }
    take(8)?;
    take(8)?;
    let ndim = usize::try_from(i32::from_le_bytes(take(4)?.try_into().ok()?)).ok()?;
    let &[code, bits, a, b] = take(4)? else { return None };
    let lanes = u16::from_le_bytes([a, b]);
    let dtype = if code == 6 { DType::BOOL } else { DType { code: DTypeCode::of_dlpack(code)?, bits, lanes } };
    let mut shape = Vec::with_capacity(ndim.min(32));
    for _ in 0..ndim {
        shape.push(i64::from_le_bytes(take(8)?.try_into().ok()?));
    }
    let size = usize::try_from(i64::from_le_bytes(take(8)?.try_into().ok()?)).ok()?;
    let elements = shape.iter().try_fold(1usize, |n, extent| n.checked_mul(usize::try_from(*extent).ok()?))?;
    if elements.checked_mul(dtype.bytes())? != size {
        return None;
    }
    let data = take(size)?;
    Some(Tensor { dtype, shape: shape.into(), data: Some(Rc::from(data)) })
}
