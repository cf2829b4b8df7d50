//! The metadata section: constants as the JSON graph of tvm-ffi (`ToJSONGraph`), behind `metadata =`.
//!
//! Nodes come after their children. Equal strings, numbers and element types share one node.

use crate::ir::{DType, DTypeCode, Expr, ExprId, Store, Tensor};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// `kTVMTensorMagic`
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;
/// `kDLCPU`
const CPU: i32 = 1;
/// The version that the section names.
const VERSION: &str = "0.27.0.post1";

/// Prints the statement with constants and strings of several lines.
pub(super) fn section(store: &Store, constants: &[ExprId], strings: &[String]) -> String {
    let mut graph = Graph { store, nodes: Vec::new(), known: FxHashMap::default() };
    let mut map = Vec::new();
    if !constants.is_empty() {
        map.push(graph.shared(node("ffi.String", "\"ir.GenericConst\"")));
        let items: Vec<usize> = constants.iter().map(|id| graph.constant(*id)).collect();
        map.push(graph.array(&items));
    }
    if !strings.is_empty() {
        map.push(graph.shared(node("ffi.String", "\"ir.StringImm\"")));
        let items: Vec<usize> = strings.iter().map(|text| graph.string(text)).collect();
        map.push(graph.array(&items));
    }
    let map: Vec<String> = map.iter().map(|item| format!("        {item}")).collect();
    let root = graph.add(node("ffi.Map", &format!("[\n{}\n      ]", map.join(",\n"))));
    let mut json = format!("{{\n  \"root_index\": {root},\n  \"nodes\": [\n");
    for (i, text) in graph.nodes.iter().enumerate() {
        json.push_str(if i > 0 { ",\n" } else { "" });
        json.push_str(text);
    }
    let _ = write!(json, "\n  ],\n  \"metadata\": {{\n    \"tvm_version\": \"{VERSION}\"\n  }}\n}}");
    format!("metadata = tvm.ir.load_json(\"\"\"{}\"\"\")", json.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Makes a node with its data as JSON.
fn node(key: &str, data: &str) -> String {
    format!("    {{\n      \"type\": \"{key}\",\n      \"data\": {data}\n    }}")
}

/// Makes the data of a node with fields.
fn fields(fields: &[(&str, usize)]) -> String {
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("        \"{name}\": {value}")).collect();
    format!("{{\n{}\n      }}", lines.join(",\n"))
}

struct Graph<'a> {
    store: &'a Store,
    nodes: Vec<String>,
    known: FxHashMap<String, usize>,
}

impl Graph<'_> {
    fn add(&mut self, text: String) -> usize {
        self.nodes.push(text);
        self.nodes.len() - 1
    }

    fn shared(&mut self, text: String) -> usize {
        if let Some(&known) = self.known.get(&text) {
            return known;
        }
        let number = self.add(text.clone());
        self.known.insert(text, number);
        number
    }

    fn none(&mut self) -> usize {
        self.shared("    {\n      \"type\": \"None\"\n    }".to_owned())
    }

    fn int(&mut self, value: i64) -> usize {
        self.shared(node("int", &value.to_string()))
    }

    fn dtype(&mut self, dtype: DType) -> usize {
        let span = self.none();
        let dtype = format!("\"{dtype}\"");
        self.shared(node("ir.PrimType", &format!("{{\n        \"span\": {span},\n        \"dtype\": {dtype}\n      }}")))
    }

    fn array(&mut self, items: &[usize]) -> usize {
        let lines: Vec<String> = items.iter().map(|item| format!("        {item}")).collect();
        let inner = if lines.is_empty() { String::new() } else { format!("{}\n", lines.join(",\n")) };
        self.add(node("ffi.Array", &format!("[\n{inner}      ]")))
    }

    fn constant(&mut self, id: ExprId) -> usize {
        let Expr::Constant(tensor) = self.store.expr(id) else { return self.none() };
        let tensor = self.store.tensor(tensor).clone();
        let span = self.none();
        let dims: Vec<usize> = tensor.shape.iter().map(|extent| self.dim(*extent)).collect();
        let values = self.array(&dims);
        // This number is the only one that is no node.
        let ndim = tensor.shape.len();
        let shape_type = self.add(node("relax.ShapeType", &fields(&[("span", span), ("values", values), ("ndim", ndim)])));
        let shape = self.add(node("relax.expr.ShapeExpr", &fields(&[("span", span), ("ty", shape_type), ("values", values)])));
        let dtype = self.dtype(tensor.dtype);
        let parts = [("span", span), ("shape", shape), ("dtype", dtype), ("vdevice", span), ("ndim", ndim)];
        let ty = self.add(node("relax.TensorType", &fields(&parts)));
        // The writer of tvm-ffi puts a backslash before a slash.
        let data = STANDARD.encode(blob(&tensor)).replace('/', "\\/");
        let value = self.add(node("ffi.Tensor", &format!("\"{data}\"")));
        self.add(node("ir.GenericConst", &fields(&[("span", span), ("ty", ty), ("value", value)])))
    }

    fn string(&mut self, text: &str) -> usize {
        let span = self.none();
        let ty = self.add(node("ir.StringType", &fields(&[("span", span)])));
        let mut value = String::from("\"");
        for c in text.chars() {
            match c {
                '\n' => value.push_str("\\n"),
                '\t' => value.push_str("\\t"),
                '\r' => value.push_str("\\r"),
                // The writer of tvm-ffi puts a backslash before a slash.
                '"' | '\\' | '/' => value.extend(['\\', c]),
                c if c < ' ' => {
                    let _ = write!(value, "\\u{:04x}", u32::from(c));
                }
                c => value.push(c),
            }
        }
        value.push('"');
        let value = self.shared(node("ffi.String", &value));
        self.add(node("ir.StringImm", &fields(&[("span", span), ("ty", ty), ("value", value)])))
    }

    fn dim(&mut self, extent: i64) -> usize {
        let span = self.none();
        let ty = self.dtype(DType::I64);
        let value = self.int(extent);
        self.add(node("ir.IntImm", &fields(&[("span", span), ("ty", ty), ("value", value)])))
    }
}

/// Encodes a tensor as TVM does: a header, then the elements. One without a value is all zeros.
fn blob(tensor: &Tensor) -> Vec<u8> {
    let (code, bits) = match (tensor.dtype.code, tensor.dtype.bits) {
        (DTypeCode::UInt, 1) => (6, 8),
        (code, bits) => (code.dlpack(), bits),
    };
    let mut out = Vec::new();
    out.extend(TENSOR_MAGIC.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(CPU.to_le_bytes());
    out.extend(0i32.to_le_bytes());
    out.extend((tensor.shape.len() as i32).to_le_bytes());
    out.extend([code, bits]);
    out.extend(tensor.dtype.lanes.to_le_bytes());
    tensor.shape.iter().for_each(|extent| out.extend(extent.to_le_bytes()));
    let size = tensor.len() * tensor.dtype.bytes();
    out.extend((size as i64).to_le_bytes());
    match &tensor.data {
        Some(data) => out.extend_from_slice(data),
        None => out.resize(out.len() + size, 0),
    }
    out
}
