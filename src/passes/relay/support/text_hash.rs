//! Hashes of functions, where TVM has its structural hash: that one cannot be told from a text, as it is made of hashes of its
//! own types. Equal functions have equal hashes here, too.

use crate::ir::walk::post_order;
use crate::ir::{Expr, ExprId, Store};
use crate::print::{self, PrintOptions};
use rustc_hash::FxHashMap;

/// Returns a hash of an expression that names of variables do not change. Of a large constant the first bytes count.
pub fn expr_hash(store: &Store, id: ExprId) -> u64 {
    let text = print::expr(store, id, &PrintOptions { types: false, metadata: false, ..PrintOptions::default() });
    let mut hash = text_hash(&without_names(&text, &[]));
    for node in post_order(store, id) {
        if let Expr::Constant(tensor) = store.expr(node) {
            let data = store.tensor(tensor).data.as_deref().unwrap_or_default();
            hash = data.iter().take(256).fold(hash, |hash, byte| step(hash, *byte));
        }
    }
    hash
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Numbers variables in order, so that functions which differ only in names have one text. The `kept` names stay.
pub fn without_names(text: &str, kept: &[&str]) -> String {
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        out.push('%');
        if kept.contains(&name) {
            out.push_str(name);
        } else {
            let next = numbers.len();
            out.push_str(&numbers.entry(name).or_insert(next).to_string());
        }
        out.push_str(rest);
    }
    out
}

/// Returns the FNV-1a hash of a text, which is the same on every machine.
pub fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
