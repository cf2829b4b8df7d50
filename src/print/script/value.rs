//! Literals of Python as TVM writes them.

use super::super::value::{push_float, push_string};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Id, Name, Store};
use std::fmt::Write;

/// Writes a float: with one digit behind the point when it is integral, else with as many as identify it.
pub(in super::super) fn push_float_literal(out: &mut String, value: f64) {
    if !value.is_finite() {
        let text = if value.is_nan() {
            "\"nan\""
        } else if value > 0.0 {
            "\"inf\""
        } else {
            "\"-inf\""
        };
        out.push_str(text);
    } else if value.fract() == 0.0 {
        let _ = write!(out, "{value:.1}");
    } else {
        push_float(out, value, 17);
    }
}

/// Writes a string in double quotes.
pub(in super::super) fn push_str_literal(out: &mut String, text: &str) {
    push_string(out, text);
}

/// Writes `{"k": v}`, sorted by key; `put` writes a value.
pub(in super::super) fn push_dict(
    out: &mut String,
    store: &Store,
    entries: &[(Id<Name>, AttrValue)],
    put: &mut dyn FnMut(&AttrValue, &mut String),
) {
    let mut sorted: Vec<&(Id<Name>, AttrValue)> = entries.iter().collect();
    sort_by(&mut sorted, |a, b| store.str(a.0).cmp(store.str(b.0)));
    out.push('{');
    for (i, (name, value)) in sorted.into_iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        push_str_literal(out, store.str(*name));
        out.push_str(": ");
        put(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_tvm_does() {
        let text = |value| {
            let mut out = String::new();
            push_float_literal(&mut out, value);
            out
        };
        let values = [1.0, -3.0, f64::from(1e-5f32), 0.5, 1e22, f64::NEG_INFINITY, 0.1];
        let texts =
            ["1.0", "-3.0", "9.9999997473787516e-06", "0.5", "10000000000000000000000.0", "\"-inf\"", "0.10000000000000001"];
        assert_eq!(values.map(text), texts);
    }
}
