//! The rules of targets for intrinsics (`src/target/intrin_rule.cc`, `src/target/llvm/intrin_rule_llvm.cc`,
//! `src/backend/cuda/codegen/intrin_rule_cuda.cc`).

use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::{binary, cast, constant, math};

/// A target, as far as intrinsics go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Llvm,
    Cuda,
    Other,
}

/// The rules of a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    kind: Kind,
    fast: bool,
}

/// Functions that are intrinsics of LLVM, with their names there.
const LLVM: &[(&str, &str)] = &[
    ("prefetch", "llvm.prefetch"),
    ("exp", "llvm.exp"),
    ("exp2", "llvm.exp2"),
    ("fma", "llvm.fmuladd"),
    ("log", "llvm.log"),
    ("log2", "llvm.log2"),
    ("log10", "llvm.log10"),
    ("sqrt", "llvm.sqrt"),
    ("floor", "llvm.floor"),
    ("ceil", "llvm.ceil"),
    ("trunc", "llvm.trunc"),
    ("fabs", "llvm.fabs"),
    ("round", "llvm.nearbyint"),
    ("nearbyint", "llvm.nearbyint"),
    ("pow", "llvm.pow"),
    ("popcount", "llvm.ctpop"),
    ("cos", "llvm.cos"),
    ("sin", "llvm.sin"),
];

/// Functions of CUDA, between spaces.
const CUDA: &str = " floor ceil trunc fabs round nearbyint exp exp2 exp10 erf log log2 log10 tan cos cosh sin sinh atan tanh sqrt \
    rsqrt pow fmod ";

/// Functions of CUDA that have a faster version, between spaces.
const CUDA_FAST: &str = " exp exp10 log log2 log10 cos sin tanh pow ";

/// Functions of C, between spaces.
const C: &str = " exp erf log log2 log10 log1p tanh tan trunc atan atanh atan2 cos acos cosh acosh sin asin sinh asinh hypot \
    nextafter copysign ldexp sqrt floor ceil round nearbyint pow ";

/// Exchanges between the threads of a warp in CUDA.
const SHUFFLES: &[(&str, &str)] = &[
    ("tvm_warp_shuffle", "cuda.__shfl_sync"),
    ("tvm_warp_shuffle_up", "cuda.__shfl_up_sync"),
    ("tvm_warp_shuffle_down", "cuda.__shfl_down_sync"),
    ("tvm_warp_shuffle_xor", "cuda.__shfl_xor_sync"),
];

fn listed(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name && !name.is_empty())
}

impl Rules {
    pub(super) fn of(kind: &str, fast: bool) -> Rules {
        let kind = match kind {
            "llvm" => Kind::Llvm,
            "cuda" => Kind::Cuda,
            _ => Kind::Other,
        };
        Rules { kind, fast }
    }

    /// True if there is an instruction for `a * b + c`.
    pub(super) fn has_fma(self) -> bool {
        self.kind == Kind::Llvm
    }

    /// Lowers a call; nothing if it stays.
    pub(super) fn apply(self, store: &mut Store, name: &str, args: &[PrimId], dtype: DType) -> Option<PrimId> {
        let own = match self.kind {
            Kind::Llvm => llvm(store, name, args, dtype),
            Kind::Cuda => cuda(store, name, args, dtype, self.fast),
            Kind::Other => None,
        };
        own.or_else(|| everywhere(store, name, args, dtype))
    }
}

fn external(store: &mut Store, function: &str, args: &[PrimId], dtype: DType) -> PrimId {
    let function = store.name(function);
    let mut all = vec![store.prim(PrimExpr::Str(function))];
    all.extend(args);
    store.prim_call("call_pure_extern", &all, dtype)
}

/// Returns the name of a function of C for a type.
fn with_suffix(name: &str, dtype: DType) -> Option<String> {
    match dtype {
        DType::F32 => Some(format!("{name}f")),
        DType::F64 => Some(name.to_owned()),
        _ => None,
    }
}

fn float(store: &mut Store, value: f64, dtype: DType) -> PrimId {
    let one = store.prim_float(value, dtype.element());
    if dtype.lanes == 1 { one } else { store.prim(PrimExpr::Broadcast { value: one, lanes: dtype.lanes }) }
}

fn llvm(store: &mut Store, name: &str, args: &[PrimId], dtype: DType) -> Option<PrimId> {
    if let Some((_, intrinsic)) = LLVM.iter().find(|(known, _)| *known == name) {
        let intrinsic = store.name(intrinsic);
        let mut all = vec![store.prim(PrimExpr::Str(intrinsic))];
        all.extend(args);
        let op = if name == "prefetch" { "call_llvm_intrin" } else { "call_llvm_pure_intrin" };
        return Some(store.prim_call(op, &all, dtype));
    }
    let [x] = *args else { return None };
    let of = store.prim_dtype(x);
    let call = |store: &mut Store, name: &str, x| store.prim_call(name, &[x], of);
    Some(match name {
        "tanh" => {
            let (one, two, less) = (float(store, 1.0, of), float(store, 2.0, of), float(store, -2.0, of));
            let (below, above) = (binary(store, PrimOp::Mul, less, x), binary(store, PrimOp::Mul, two, x));
            let (below, above) = (call(store, "exp", below), call(store, "exp", above));
            let (a, b) = (binary(store, PrimOp::Sub, one, below), binary(store, PrimOp::Add, one, below));
            let then = binary(store, PrimOp::Div, a, b);
            let (a, b) = (binary(store, PrimOp::Sub, above, one), binary(store, PrimOp::Add, above, one));
            let other = binary(store, PrimOp::Div, a, b);
            let zero = float(store, 0.0, of);
            let cond = binary(store, PrimOp::Ge, x, zero);
            store.prim(PrimExpr::Select { cond, then, other })
        }
        "exp10" => {
            #[expect(clippy::approx_constant, reason = "as many digits as TVM has")]
            let ten = float(store, 2.302_585_093, of);
            let product = binary(store, PrimOp::Mul, x, ten);
            call(store, "exp", product)
        }
        "tan" => {
            let (sin, cos) = (call(store, "sin", x), call(store, "cos", x));
            binary(store, PrimOp::Div, sin, cos)
        }
        "atanh" => {
            let (one, half) = (float(store, 1.0, of), float(store, 0.5, of));
            let (sum, difference) = (binary(store, PrimOp::Add, one, x), binary(store, PrimOp::Sub, one, x));
            let (a, b) = (call(store, "log", sum), call(store, "log", difference));
            let difference = binary(store, PrimOp::Sub, a, b);
            binary(store, PrimOp::Mul, difference, half)
        }
        "clz" => {
            let intrinsic = store.name("llvm.ctlz");
            let (intrinsic, undefined) = (store.prim(PrimExpr::Str(intrinsic)), store.prim_int(1, DType::new(DTypeCode::Int, 1)));
            let call = store.prim_call("call_llvm_intrin", &[intrinsic, x, undefined], of);
            cast(store, dtype, call)
        }
        _ => return None,
    })
}

fn cuda(store: &mut Store, name: &str, args: &[PrimId], dtype: DType, fast: bool) -> Option<PrimId> {
    if let Some((_, exchange)) = SHUFFLES.iter().find(|(known, _)| *known == name) {
        return Some(store.prim_call(exchange, args.get(..4)?, dtype));
    }
    match name {
        "tvm_warp_activemask" => return Some(store.prim_call("cuda.__activemask", args, dtype)),
        "popcount" if dtype.code == DTypeCode::UInt && dtype.bits > 1 => {
            let function = match dtype.bits {
                32 => "__popc",
                64 => "__popcll",
                _ => return None,
            };
            return Some(external(store, function, args, dtype));
        }
        "clz" => {
            let function = match store.prim_dtype(*args.first()?).bits {
                32 => "__clz",
                64 => "__clzll",
                _ => return None,
            };
            return Some(external(store, function, args, dtype));
        }
        _ => {}
    }
    if !listed(CUDA, name) {
        return None;
    }
    let round = name == "round";
    let function = match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 64) => (if round { "nearbyint" } else { name }).to_owned(),
        (DTypeCode::Float, 32) if fast && listed(CUDA_FAST, name) => format!("__{name}f"),
        (DTypeCode::Float, 32) => (if round { "nearbyintf".to_owned() } else { format!("{name}f") }).clone(),
        (DTypeCode::Float | DTypeCode::BFloat, 16) => match name {
            "fabs" => "__habs".to_owned(),
            "round" => "hrint".to_owned(),
            _ => format!("h{name}"),
        },
        (DTypeCode::Int | DTypeCode::UInt, 32) => format!("__{name}"),
        (DTypeCode::Int | DTypeCode::UInt, 64) => format!("__{name}ll"),
        _ => return None,
    };
    Some(external(store, &function, args, dtype))
}

fn everywhere(store: &mut Store, name: &str, args: &[PrimId], dtype: DType) -> Option<PrimId> {
    if listed(C, name) {
        let function = with_suffix(name, dtype)?;
        return Some(external(store, &function, args, dtype));
    }
    let x = *args.first()?;
    let of = store.prim_dtype(x);
    match name {
        "rsqrt" => {
            let (one, root) = (float(store, 1.0, of), store.prim_call("sqrt", &[x], of));
            Some(binary(store, PrimOp::Div, one, root))
        }
        "sigmoid" => {
            let (one, less) = (float(store, 1.0, of), negate(store, x));
            let power = store.prim_call("exp", &[less], of);
            let sum = binary(store, PrimOp::Add, one, power);
            Some(binary(store, PrimOp::Div, one, sum))
        }
        "isfinite" => Some(math::is_finite(store, x)),
        "isinf" => Some(math::is_inf(store, x)),
        "q_multiply_shift" => quantized(store, args),
        "q_multiply_shift_per_axis" => {
            let [x, y, left, right, q, shifts_left, ..] = *args else { return None };
            Some(multiplied(store, x, y, q, left, right, shifts_left))
        }
        _ => None,
    }
}

/// Makes `0 - x`, as TVM's operator does.
fn negate(store: &mut Store, x: PrimId) -> PrimId {
    let zero = constant(store, 0, store.prim_dtype(x));
    binary(store, PrimOp::Sub, zero, x)
}

/// Returns a number, or that in all lanes.
fn known(store: &Store, id: PrimId) -> Option<i64> {
    match *store.prim_of_id(id) {
        PrimExpr::Broadcast { value, .. } => store.as_prim_int(value),
        _ => store.as_prim_int(id),
    }
}

/// Lowers `T.q_multiply_shift(x, y, q, s)`: a product with a fixed point number.
fn quantized(store: &mut Store, args: &[PrimId]) -> Option<PrimId> {
    let [x, y, q, s] = *args else { return None };
    let dtype = store.prim_dtype(s);
    if known(store, y)? == 1 << 30 {
        let one = constant(store, 1, dtype);
        let exponent = binary(store, PrimOp::Sub, s, one);
        if known(store, s)? - 1 > 0 {
            return Some(math::matched(store, "shift_left", x, exponent));
        }
        let exponent = negate(store, exponent);
        let unit = constant(store, 1, DType { lanes: store.prim_dtype(x).lanes, ..DType::I32 });
        let less = binary(store, PrimOp::Sub, exponent, one);
        let rounding = math::matched(store, "shift_left", unit, less);
        let sum = binary(store, PrimOp::Add, x, rounding);
        return Some(math::matched(store, "shift_right", sum, exponent));
    }
    let zero = constant(store, 0, dtype);
    let cond = binary(store, PrimOp::Gt, s, zero);
    let left = store.prim(PrimExpr::Select { cond, then: s, other: zero });
    let less = negate(store, s);
    let right = store.prim(PrimExpr::Select { cond, then: zero, other: less });
    let shifts_left = binary(store, PrimOp::Ne, left, zero);
    Some(multiplied(store, x, y, q, left, right, shifts_left))
}

fn multiplied(store: &mut Store, x: PrimId, y: PrimId, q: PrimId, left: PrimId, right: PrimId, shifts_left: PrimId) -> PrimId {
    let lanes = store.prim_dtype(x).lanes;
    let (wide, narrow) = (DType { lanes, ..DType::I64 }, DType { lanes, ..DType::I32 });
    let one = constant(store, 1, wide);
    let (x, y) = (cast(store, wide, x), cast(store, wide, y));
    let shifted = math::matched(store, "shift_left", x, left);
    let x = store.prim(PrimExpr::Select { cond: shifts_left, then: shifted, other: x });
    let product = binary(store, PrimOp::Mul, x, y);
    let total = binary(store, PrimOp::Add, right, q);
    let unit = constant(store, 1, store.prim_dtype(total));
    let less = binary(store, PrimOp::Sub, total, unit);
    let rounding = math::matched(store, "shift_left", one, less);
    let sum = binary(store, PrimOp::Add, product, rounding);
    let result = math::matched(store, "shift_right", sum, total);
    cast(store, narrow, result)
}
