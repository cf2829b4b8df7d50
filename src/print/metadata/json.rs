//! The layout of dmlc-core's `JSONWriter`: two spaces a level, a space behind each comma also at the end
//! of a line, short lists of numbers and single-entry objects on one line.

use super::node::{Node, Value};
use super::{Graph, Handle};
use crate::ir::Tensor;
use crate::ir::sort::sort_by;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// Longer lists of numbers get one line per number.
const ONE_LINE: usize = 10;
/// `kTVMNDArrayMagic`
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;
/// `kDLCPU`
const CPU: i32 = 1;

impl Graph<'_> {
    /// Writes the whole section.
    pub(super) fn write(&self, root: Handle) -> String {
        let mut json = Writer::default();
        json.open('{', true);
        json.key("root");
        let _ = write!(json.out, "{}", self.number(root));
        json.key("nodes");
        json.open('[', true);
        for node in &self.nodes {
            json.item();
            self.node_json(&mut json, node);
        }
        json.close(']');
        json.key("b64ndarrays");
        json.open('[', true);
        for &tensor in &self.tensors {
            json.item();
            json.out.push('"');
            STANDARD.encode_string(blob(self.store.tensor(tensor)), &mut json.out);
            json.out.push('"');
        }
        json.close(']');
        json.key("attrs");
        json.open('{', false);
        json.key("tvm_version");
        json.string("0.19.0");
        json.close('}');
        json.close('}');
        json.out
    }

    fn number(&self, handle: Handle) -> u32 {
        self.numbers[handle as usize].unwrap_or_default()
    }

    fn node_json(&self, json: &mut Writer, node: &Node) {
        json.open('{', true);
        json.key("type_key");
        json.string(&node.key);
        if let Some(repr) = node.repr.as_deref().filter(|repr| !repr.is_empty()) {
            if repr.bytes().all(|b| (b' '..=b'~').contains(&b)) {
                json.key("repr_str");
                json.string(repr);
            } else {
                // Writes the bytes of a C++ string as dmlc does: their number first.
                let mut bytes = (repr.len() as u64).to_le_bytes().to_vec();
                bytes.extend_from_slice(repr.as_bytes());
                json.key("repr_b64");
                json.string(&STANDARD.encode(bytes));
            }
        }
        if !node.attrs.is_empty() {
            let mut attrs: Vec<&(String, Value)> = node.attrs.iter().collect();
            sort_by(&mut attrs, |a, b| a.0.cmp(&b.0));
            json.key("attrs");
            json.open('{', attrs.len() > 1);
            for (name, value) in attrs {
                json.key(name);
                match value {
                    Value::Text(text) => json.string(text),
                    Value::Ref(handle) => json.string(&self.number(*handle).to_string()),
                }
            }
            json.close('}');
        }
        if !node.keys.is_empty() {
            json.key("keys");
            json.open('[', true);
            for key in &node.keys {
                json.item();
                json.string(key);
            }
            json.close(']');
        }
        if !node.data.is_empty() {
            json.key("data");
            json.open('[', node.data.len() > ONE_LINE);
            for &handle in &node.data {
                json.item();
                let _ = write!(json.out, "{}", self.number(handle));
            }
            json.close(']');
        }
        json.close('}');
    }
}

/// Encodes a tensor as `SaveDLTensor` does, little-endian.
fn blob(tensor: &Tensor) -> Vec<u8> {
    let data = tensor.data.as_deref().unwrap_or_default();
    let mut bytes = Vec::with_capacity(48 + 8 * tensor.shape.len() + data.len());
    bytes.extend(TENSOR_MAGIC.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(CPU.to_le_bytes());
    bytes.extend(0i32.to_le_bytes());
    bytes.extend((tensor.shape.len() as i32).to_le_bytes());
    bytes.push(tensor.dtype.code as u8);
    bytes.push(tensor.dtype.bits);
    bytes.extend(tensor.dtype.lanes.to_le_bytes());
    for extent in tensor.shape.iter() {
        bytes.extend(extent.to_le_bytes());
    }
    bytes.extend((data.len() as i64).to_le_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[derive(Default)]
struct Writer {
    out: String,
    /// For each open bracket: true if its entries have lines of their own, and their number.
    scopes: Vec<(bool, usize)>,
}

impl Writer {
    fn open(&mut self, bracket: char, lines: bool) {
        self.out.push(bracket);
        self.scopes.push((lines, 0));
    }

    fn close(&mut self, bracket: char) {
        if let Some((true, 1..)) = self.scopes.pop() {
            self.new_line();
        }
        self.out.push(bracket);
    }

    fn item(&mut self) {
        let Some((lines, count)) = self.scopes.last_mut() else { return };
        let lines = *lines;
        if *count > 0 {
            self.out.push_str(", ");
        }
        *count += 1;
        if lines {
            self.new_line();
        }
    }

    fn key(&mut self, name: &str) {
        self.item();
        self.string(name);
        self.out.push_str(": ");
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.scopes.len()));
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '\r' => self.out.push_str("\\r"),
                '\n' => self.out.push_str("\\n"),
                '\\' => self.out.push_str("\\\\"),
                '\t' => self.out.push_str("\\t"),
                '"' => self.out.push_str("\\\""),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
