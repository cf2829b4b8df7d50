//! Arithmetic rules of SimplifyExpr.

use super::super::copy::duplicate;
use super::super::pattern::{Match, Rule};
use super::super::tensor_type;
use crate::ir::{DType, ExprId, Module, Store};
use crate::ops::build::{arg, call, call_attrs, constant, elements, op_name, scalar};

/// The most nodes of an `x` that is copied; TVM has no limit, and takes quadratic time.
const MOST_COPIED: usize = 200;

/// `x + x` to `x * 2`. TVM infers the type of the product at once, which copies the calls that `x` is made of: where it has other
/// uses, it is computed twice then.
pub static ADD_SAME: Rule = Rule::new("x + x to x * 2", "x + x", |store, _, m| {
    let two = dtype(store, m.pre).map(|dtype| scalar(store, dtype, 2.0))?;
    let x = duplicate(store, m.get("x"), MOST_COPIED);
    Some(call(store, "multiply", &[x, two]))
});

/// `y / sqrt(x)` to `y * rsqrt(x)`.
pub static RSQRT: Rule = Rule::always("division by sqrt to multiplication by rsqrt", "y / sqrt(x) => y * rsqrt(x)");

/// `x + 0`, `x - 0`, `x * 1` and `x / 1` to `x`.
pub static IDENTITY: Rule = Rule::when(
    "operation that changes nothing",
    "x + (zeros() | zeros_like(like) | (c := is_constant())) | x * (ones() | ones_like(like) | c) \
     | x - (zeros() | zeros_like(like) | c) | x / (ones() | ones_like(like) | c) => x",
    |store, m| {
        if m.has("c") {
            let neutral = if matches!(op_name(store, m.pre), "add" | "subtract") { 0.0 } else { 1.0 };
            let tensor = constant(store, m.get("c")).filter(|tensor| tensor.shape.iter().all(|extent| *extent == 1));
            if tensor.and_then(elements).is_none_or(|elements| elements.first() != Some(&neutral)) {
                return false;
            }
        }
        // `x` must not have been broadcast.
        let side = usize::from(arg(store, m.post, 1) == m.get("x"));
        let ty = store.checked_type(arg(store, m.pre, side));
        ty.is_some() && ty == store.checked_type(m.pre)
    },
);

/// Replaces a tensor of equal elements that is broadcast anyway by a scalar.
pub static FULL_ELEMENTWISE: Rule = Rule::new(
    "tensor of equal elements to a scalar",
    "(wildcard().has_attr({\"TOpPattern\": 1}))(((full := full((c := is_constant())) | full_like(like, c)) \
     | (ones := ones() | ones_like(like)) | (zeros := zeros() | zeros_like(like))), x) \
     | (wildcard().has_attr({\"TOpPattern\": 1}))(x, full | ones | zeros)",
    |store, _, m| {
        let x = m.get("x");
        let is_left = arg(store, m.post, 1) == x;
        let ty = store.checked_type(arg(store, m.pre, usize::from(is_left)));
        if ty.is_none() || ty != store.checked_type(m.pre) {
            return None;
        }
        let dtype = dtype(store, m.pre)?;
        let value = if m.has("full") {
            let value = m.get("c");
            if !constant(store, value)?.is_scalar() {
                return None;
            }
            value
        } else {
            scalar(store, dtype, if m.has("ones") { 1.0 } else { 0.0 })
        };
        let attrs = store.call(m.pre)?.attrs;
        let name = op_name(store, m.pre);
        let args = if is_left { [value, x] } else { [x, value] };
        Some(call_attrs(store, name, &args, attrs))
    },
);

/// `(x + c1) * c2` to `x * c2 + c1 * c2`.
pub static SWITCH_ADD_MULTIPLY: Rule = Rule::when(
    "(x + c1) * c2 to x * c2 + c1 * c2",
    "(x + (a := is_constant())) * (b := is_constant()) => x * b + fold(a * b)",
    |store, m| constant(store, m.get("x")).is_none(),
);

/// `(x * c1) * c2` to `x * (c1 * c2)`, and the same for sums.
pub static ADJACENT: Rule = Rule::when(
    "two constants combined into one",
    "(f := is_op(\"multiply\"))(x * (a := is_constant()), (b := is_constant())) | (f := is_op(\"add\"))(x + a, b) \
     => f(x, fold(f(a, b)))",
    |store, m| constant(store, m.get("x")).is_none(),
);

/// `argmax(dequantize(x))` to `argmax(x)`.
pub static DQ_ARGMAX: Rule =
    Rule::always("argmax of dequantized data", "(f := is_op(\"argmax\"))(qnn.dequantize(x, scale, zero_point)) => f(x)");
/// `argmin(dequantize(x))` to `argmin(x)`.
pub static DQ_ARGMIN: Rule =
    Rule::always("argmin of dequantized data", "(f := is_op(\"argmin\"))(qnn.dequantize(x, scale, zero_point)) => f(x)");
/// `argsort(dequantize(x))` to `argsort(x)`.
pub static DQ_ARGSORT: Rule =
    Rule::always("argsort of dequantized data", "(f := is_op(\"argsort\"))(qnn.dequantize(x, scale, zero_point)) => f(x)");

/// `a x x + b x y + c y y` to a product of two sums.
pub static BINOMIAL: Rule = Rule::new(
    "sum of squares to a product",
    "(xy := (b := is_constant()) * (x * y) | x * (b * y) | y * (b * x) | x * y) \
     + (xx := (a := is_constant()) * (x * x) | x * (a * x) | x * x) \
     + (yy := (c := is_constant()) * (y * y) | y * (c * y) | y * y) \
     | xy + yy + xx | xx + yy + xy",
    binomial,
);

fn binomial(store: &mut Store, _: &Module, m: &Match) -> Option<ExprId> {
    let dtype = dtype(store, m.pre)?;
    let value = |slot| -> Option<f64> {
        // TVM reads the first element for these types, and takes 1 for all others.
        match m.has(slot) && [DType::I32, DType::F32, DType::F64].contains(&dtype) {
            true => elements(constant(store, m.get(slot))?)?.first().copied(),
            false => Some(1.0),
        }
    };
    let (mut a, b, mut c) = (value("a")?, value("b")?, value("c")?);
    let (mut x, mut y) = (m.get("x"), m.get("y"));
    if c == 1.0 && a > 1.0 {
        std::mem::swap(&mut x, &mut y);
        c = f64::from(a as f32);
        a = 1.0;
    }
    let square = b * b - 4.0 * a * c;
    if square < 0.0 {
        return None;
    }
    let discriminant = square.sqrt();
    let factor = |store: &mut Store, root: f64| {
        let root = scalar(store, dtype, root);
        let scaled = call(store, "multiply", &[y, root]);
        call(store, "add", &[x, scaled])
    };
    let first = factor(store, (b + discriminant) / (2.0 * a));
    // TVM's bound for a double root.
    let second = if square < 10e-5 { first } else { factor(store, (b - discriminant) / (2.0 * a)) };
    let a = scalar(store, dtype, a);
    let product = call(store, "multiply", &[first, second]);
    Some(call(store, "multiply", &[a, product]))
}

fn dtype(store: &Store, id: ExprId) -> Option<DType> {
    tensor_type(store, id).map(|t| t.1)
}
