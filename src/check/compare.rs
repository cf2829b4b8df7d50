//! Two values that should be the same: how far they are from each other, and where they differ first.

use crate::eval::{Value, show};
use crate::ir::{DType, Store, Tensor};
use crate::ops::kernel::read;

/// The result of comparing two values.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// All elements are equal; zeros of both signs are equal, and so are all NaNs.
    Equal,
    /// No element differs by more than its type allows; the largest distance in units in the last place.
    Within(u64),
    /// The values differ, here first.
    Differs(Spot),
    /// The values are not data: functions, or of unknown contents.
    Incomparable(&'static str),
}

/// An element that two values do not share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The path to it: `result.0[1, 2]`.
    pub place: String,
    /// Its value in the first.
    pub before: String,
    /// Its value in the second.
    pub after: String,
}

/// The tolerated difference of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The rounding errors of another order of operations in the element type.
    Type,
    /// This share of the largest element, whatever the element type, which may be another one.
    Loose(f64),
}

/// Compares two values. Values of data types nest as deep as memory allows, so this uses a stack of its own.
pub fn compare(store: &Store, before: &Value, after: &Value, tolerance: Tolerance) -> Agreement {
    let mut stack = vec![("result".to_owned(), before.clone(), after.clone())];
    let mut most = None;
    while let Some((place, before, after)) = stack.pop() {
        let differs = |store: &Store| {
            Agreement::Differs(Spot { place: place.clone(), before: show(store, &before), after: show(store, &after) })
        };
        match (&before, &after) {
            (Value::Tuple(a), Value::Tuple(b)) if a.items().len() == b.items().len() => {
                let pairs = a.items().iter().zip(b.items()).enumerate().rev();
                stack.extend(pairs.map(|(index, (a, b))| (format!("{place}.{index}"), a.clone(), b.clone())));
            }
            (Value::Ctor(a, left), Value::Ctor(b, right)) if a == b && left.items().len() == right.items().len() => {
                let pairs = left.items().iter().zip(right.items()).enumerate().rev();
                // The path to an element deep in a list would be as long as the list.
                let stem = if place.len() > 200 { "result...".to_owned() } else { place.clone() };
                stack.extend(pairs.map(|(index, (a, b))| (format!("{stem}.{index}"), a.clone(), b.clone())));
            }
            (Value::Tensor(a), Value::Tensor(b)) | (Value::Prim(a), Value::Prim(b)) => match tensors(&place, a, b, tolerance) {
                Agreement::Equal => {}
                Agreement::Within(ulps) => most = most.max(Some(ulps)),
                found => return found,
            },
            (Value::Ref(a), Value::Ref(b)) if store.n_nodes() > 0 && !same_cell(a, b) => {
                // A cell may contain itself, and then a second visit would not end.
                match (a.get(), b.get()) {
                    (a @ (Value::Tensor(_) | Value::Prim(_)), b) => stack.push((place, a, b)),
                    _ => return Agreement::Incomparable("the result is a reference to what is no tensor"),
                }
            }
            (Value::Ref(_), Value::Ref(_)) => {}
            (Value::Shape(a), Value::Shape(b)) if a == b => {}
            (Value::Word(a), Value::Word(b)) if a == b => {}
            (Value::Op(a), Value::Op(b)) if a == b => {}
            (Value::Closure(_) | Value::Op(_), Value::Closure(_) | Value::Op(_)) => {
                return Agreement::Incomparable("the result is a function");
            }
            _ => return differs(store),
        }
    }
    most.map_or(Agreement::Equal, Agreement::Within)
}

fn same_cell(a: &std::rc::Rc<crate::eval::RefCell>, b: &std::rc::Rc<crate::eval::RefCell>) -> bool {
    std::rc::Rc::ptr_eq(a, b)
}

/// Returns the tolerated difference of a type's numbers, as a share of the largest element.
fn share(dtype: DType) -> f64 {
    match dtype.bits {
        _ if !dtype.is_float() => 0.0,
        64 => 1e-9,
        32 => 1e-4,
        16 => 3e-2,
        _ => 0.3,
    }
}

fn tensors(place: &str, before: &Tensor, after: &Tensor, tolerance: Tolerance) -> Agreement {
    let about = |tensor: &Tensor| format!("{}{:?}", tensor.dtype, tensor.shape);
    let other = |before: String, after: String| Agreement::Differs(Spot { place: place.to_owned(), before, after });
    if before.shape != after.shape || (before.dtype != after.dtype && tolerance == Tolerance::Type) {
        return other(about(before), about(after));
    }
    if before.data.is_none() || after.data.is_none() {
        return Agreement::Incomparable("the result is a constant without value");
    }
    if before == after {
        return Agreement::Equal;
    }
    // A sparse dtype: integers of 64 bits do not fit a float.
    let exact = !before.dtype.is_float() && !after.dtype.is_float() && tolerance == Tolerance::Type;
    if exact {
        let (Ok(a), Ok(b)) = (read::<i64>(before), read::<i64>(after)) else { return other(about(before), about(after)) };
        let first = a.iter().zip(&b).position(|(a, b)| a != b);
        return first.map_or(Agreement::Equal, |at| other_at(place, before, at, a[at], b[at]));
    }
    let (Ok(a), Ok(b)) = (read::<f64>(before), read::<f64>(after)) else { return other(about(before), about(after)) };
    let largest = a.iter().filter(|x| x.is_finite()).fold(0f64, |most, x| most.max(x.abs()));
    let coarser = share(before.dtype).max(share(after.dtype));
    let allowed = (1.0 + largest) * if let Tolerance::Loose(share) = tolerance { share.max(coarser) } else { coarser };
    let mut most = 0;
    for (at, (&x, &y)) in a.iter().zip(&b).enumerate() {
        if x == y || (x.is_nan() && y.is_nan()) {
            continue;
        }
        // A NaN on one side alone is never near.
        let near = (x - y).abs() <= allowed;
        if !near {
            return other_at(place, before, at, x, y);
        }
        most = most.max(ulps(before.dtype, x, y));
    }
    if most == 0 { Agreement::Equal } else { Agreement::Within(most) }
}

fn other_at<T: std::fmt::Display>(place: &str, tensor: &Tensor, at: usize, before: T, after: T) -> Agreement {
    let mut rest = at;
    let mut index: Vec<String> = Vec::with_capacity(tensor.shape.len());
    for extent in tensor.shape.iter().rev() {
        let extent = (*extent).max(1) as usize;
        index.push((rest % extent).to_string());
        rest /= extent;
    }
    index.reverse();
    let place = if index.is_empty() { place.to_owned() } else { format!("{place}[{}]", index.join(", ")) };
    Agreement::Differs(Spot { place, before: before.to_string(), after: after.to_string() })
}

/// Estimates the numbers of a float type between two: their distance over the gap to the larger one's neighbour.
fn ulps(dtype: DType, x: f64, y: f64) -> u64 {
    let digits = match dtype.bits {
        64 => 52,
        32 => 23,
        16 => 10,
        _ => 3,
    };
    let gap = x.abs().max(y.abs()).max(f64::MIN_POSITIVE).log2().floor().exp2() / f64::from(digits).exp2();
    ((x - y).abs() / gap).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernel::write;

    fn floats(values: &[f64]) -> Value {
        Value::Tensor(write(DType::F32, &[values.len() as i64], values).expect("a tensor"))
    }

    fn compared(before: Value, after: Value) -> Agreement {
        compare(&Store::new(), &before, &after, Tolerance::Type)
    }

    #[test]
    fn zeros_of_both_signs_and_nans_are_equal() {
        assert_eq!(compared(floats(&[0.0, f64::NAN]), floats(&[-0.0, f64::NAN])), Agreement::Equal);
        assert!(matches!(compared(floats(&[0.0]), floats(&[f64::NAN])), Agreement::Differs(_)));
        assert!(matches!(compared(floats(&[f64::INFINITY]), floats(&[3e38])), Agreement::Differs(_)));
    }

    #[test]
    fn distances_are_told_in_units_in_the_last_place() {
        // The float after 1 is 1 + 2^-23.
        let next = 1.0 + 2f64.powi(-23);
        assert_eq!(compared(floats(&[1.0]), floats(&[next])), Agreement::Within(1));
        assert_eq!(compared(floats(&[2.0 * next]), floats(&[2.0])), Agreement::Within(1));
    }

    #[test]
    fn the_first_element_that_differs_is_told() {
        let matrix = |last: i64| {
            let values = [1, 2, 3, 4, 5, last];
            Value::tuple(vec![Value::Tensor(write(DType::I32, &[2, 3], &values).expect("a tensor"))])
        };
        let spot = Spot { place: "result.0[1, 2]".into(), before: "6".into(), after: "7".into() };
        assert_eq!(compared(matrix(6), matrix(7)), Agreement::Differs(spot));
    }
}
