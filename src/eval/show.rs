//! Prints values as abbreviated text.

use super::value::Value;
use crate::ir::{DType, DTypeCode, Store, Tensor};
use crate::ops;
use crate::ops::kernel::read;
use std::fmt::Write;

/// The number of elements of an axis, or fields of a value, before `...`.
const SHOWN: usize = 8;
/// The depth of nested values before `...`: a list of a hundred thousand elements is not printed in full.
const DEPTH: usize = 64;

/// The number of characters before `...`: a tuple may have the same field many times.
const MOST: usize = 100_000;

/// Prints a value: `float32[2, 2] [[1, 2], [3, 4]]`, `(a, b)`, `Cons(a, ...)`.
pub fn show(store: &Store, value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, store, value, 0);
    out
}

fn write_value(out: &mut String, store: &Store, value: &Value, depth: usize) {
    if depth > DEPTH || out.len() > MOST {
        return out.push_str("...");
    }
    let fields = |out: &mut String, items: &[Value]| {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            if i == SHOWN || out.len() > MOST {
                return out.push_str("...");
            }
            write_value(out, store, item, depth + 1);
        }
    };
    match value {
        Value::Tensor(tensor) => write_tensor(out, tensor),
        Value::Tuple(items) => {
            out.push('(');
            fields(out, items.items());
            out.push_str(if items.items().len() == 1 { ",)" } else { ")" });
        }
        Value::Ctor(ctor, items) => {
            out.push_str(store.str(store.ctor(*ctor).name));
            if !items.items().is_empty() {
                out.push('(');
                fields(out, items.items());
                out.push(')');
            }
        }
        Value::Closure(_) => out.push_str("<function>"),
        Value::Op(op) => out.push_str(ops::info(*op).name),
        Value::Shape(extents) => {
            let _ = write!(out, "shape{extents:?}");
        }
        Value::Prim(number) => write_tensor(out, number),
        Value::Word(text) => {
            let _ = write!(out, "{:?}", store.str(*text));
        }
        Value::Ref(cell) => {
            out.push_str("ref(");
            write_value(out, store, &cell.get(), depth + 1);
            out.push(')');
        }
    }
}

fn write_tensor(out: &mut String, tensor: &Tensor) {
    let Some(elements) = elements(tensor) else {
        let _ = write!(out, "{}{:?} without a value", tensor.dtype, tensor.shape);
        return;
    };
    if tensor.shape.is_empty() {
        let _ = write!(out, "{} {}", tensor.dtype, elements.first().map_or("", String::as_str));
        return;
    }
    let shown = &tensor.shape[..tensor.shape.len().min(DEPTH)];
    let more = if shown.len() < tensor.shape.len() { " and more axes" } else { "" };
    let _ = write!(out, "{}{shown:?}{more} ", tensor.dtype);
    let shape: Vec<usize> = tensor.shape.iter().map(|d| *d as usize).collect();
    write_axis(out, &shape, &elements, 0);
}

/// A type may have a hundred thousand axes; beyond [`DEPTH`] brackets it is abbreviated to `...`.
fn write_axis(out: &mut String, shape: &[usize], elements: &[String], depth: usize) {
    let Some((extent, inner)) = shape.split_first() else {
        return out.push_str(elements.first().map_or("", String::as_str));
    };
    if depth > DEPTH {
        return out.push_str("...");
    }
    let size: usize = inner.iter().product();
    out.push('[');
    for i in 0..*extent {
        if i > 0 {
            out.push_str(", ");
        }
        if i == SHOWN {
            out.push_str("...");
            break;
        }
        write_axis(out, inner, &elements[i * size..(i + 1) * size], depth + 1);
    }
    out.push(']');
}

fn elements(tensor: &Tensor) -> Option<Vec<String>> {
    let texts = match tensor.dtype.code {
        _ if tensor.dtype == DType::BOOL => read::<i64>(tensor).ok()?.iter().map(|x| (*x != 0).to_string()).collect(),
        DTypeCode::Int | DTypeCode::UInt | DTypeCode::Handle => read::<i64>(tensor).ok()?.iter().map(i64::to_string).collect(),
        _ if tensor.dtype == DType::F64 => read::<f64>(tensor).ok()?.iter().map(f64::to_string).collect(),
        _ => read::<f32>(tensor).ok()?.iter().map(f32::to_string).collect(),
    };
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_and_tuples_read_as_nested_lists() {
        let data: Vec<u8> = [1.0f32, 2.5, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let tensor = Value::Tensor(Tensor::new(DType::F32, [2, 2], data));
        let flag = Value::Tensor(Tensor::new(DType::BOOL, [], [1u8]));
        let store = Store::new();
        assert_eq!(show(&store, &Value::tuple(vec![tensor, flag])), "(float32[2, 2] [[1, 2.5], [3, 4]], bool true)");
    }

    /// Recursion over a hundred thousand axes would overflow the stack.
    #[test]
    fn a_tensor_of_many_axes_is_abbreviated() {
        let tensor = Tensor::new(DType::I8, vec![1; 100_000], [7u8]);
        let shown = show(&Store::new(), &Value::Tensor(tensor));
        assert!(shown.contains("and more axes [[") && shown.contains("[...]") && shown.len() < 1000, "{shown}");
    }

    /// Tuples share their fields, so the text would double with every level.
    #[test]
    fn a_value_that_holds_itself_twice_is_abbreviated() {
        let mut value = Value::Tensor(Tensor::new(DType::I8, [], [7u8]));
        for _ in 0..60 {
            value = Value::tuple(vec![value.clone(), value]);
        }
        let shown = show(&Store::new(), &value);
        assert!(shown.len() < 2 * MOST && shown.contains("..."), "{}", shown.len());
    }

    #[test]
    fn long_axes_are_abbreviated() {
        let tensor = Tensor::new(DType::I8, [9], [0u8, 1, 2, 3, 4, 5, 6, 7, 255]);
        assert_eq!(show(&Store::new(), &Value::Tensor(tensor)), "int8[9] [0, 1, 2, 3, 4, 5, 6, 7, ...]");
    }
}
