//! Inputs made up from a number, for comparing two versions of a program.

use super::EvalFailure;
use super::value::Value;
use crate::ir::{DType, ExprId, Store, Tensor, Type, TypeId};
use crate::ops::kernel::{count, write};

/// Random arguments for a function, by the types and names of its parameters.
///
/// The generator is SplitMix64 (Steele, Lea, Flood 2014), seeded with `seed`, one draw for each
/// element in row-major order, parameter by parameter, tuples in order. The upper 24 bits of a draw
/// make a float in [-1, 1); an integer is the draw modulo 8, so that it can serve as an index of small
/// tensors; a truth value is its lowest bit. Extents that are not known become 4, everywhere the same,
/// so that they fit each other.
///
/// Two kinds of parameters are known by the end of their names, but for a number, as in TVM's own workloads
/// (`relay/testing/init.py`), so that the values of a network neither grow beyond bounds nor become NaN:
/// the floats of a `weight` are scaled as Xavier's initialisation does, and those of a `var` (a
/// variance) are moved into [0.5, 1).
///
/// Fails for parameters that are no tensors or tuples of tensors, and where the type is not known.
pub fn seeded_args(store: &Store, function: ExprId, seed: u64) -> Result<Vec<Value>, EvalFailure> {
    let Some(function) = store.as_function(function) else {
        return Err(EvalFailure::new("only functions have arguments"));
    };
    let mut random = SplitMix64(seed);
    (store.items(function.params))
        .map(|param| {
            let var = store.var_data(param);
            let Some(ty) = var.ty.or(var.annotation) else {
                return Err(EvalFailure::new(format!("the type of %{} is not known", store.str(var.name))));
            };
            value(store, ty, Role::of(store.str(var.name)), &mut random)
                .map_err(|why| EvalFailure::new(format!("no value can be made up for %{}: {why}", store.str(var.name))))
        })
        .collect()
}

/// A random value of a type; see [`seeded_args`].
pub fn seeded_value(store: &Store, ty: TypeId, seed: u64) -> Result<Value, EvalFailure> {
    value(store, ty, Role::Data, &mut SplitMix64(seed)).map_err(EvalFailure::new)
}

/// What a parameter is, by its name.
#[derive(Clone, Copy)]
enum Role {
    Data,
    Weight,
    Variance,
}

impl Role {
    fn of(name: &str) -> Role {
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        match name {
            _ if name.ends_with("weight") => Role::Weight,
            _ if name.ends_with("var") => Role::Variance,
            _ => Role::Data,
        }
    }

    /// A float in [-1, 1) as this parameter wants it.
    fn shape(self, x: f32, scale: f32) -> f32 {
        match self {
            Role::Data => x,
            Role::Weight => x * scale,
            Role::Variance => (x + 3.0) / 4.0,
        }
    }
}

/// Xavier's scale for a weight: the root of 3 over the mean of inputs and outputs of a unit.
fn xavier(shape: &[i64]) -> f32 {
    match shape {
        [outputs, inputs, window @ ..] => {
            let area: f64 = window.iter().map(|e| *e as f64).product();
            let fan = (*outputs as f64 + *inputs as f64) * area / 2.0;
            (3.0 / fan.max(1.0)).sqrt() as f32
        }
        _ => 1.0,
    }
}

/// What an extent is that may be anything.
pub(super) const UNKNOWN_EXTENT: i64 = 4;

/// Draws of tensors, one after the other.
pub(super) struct Draws(SplitMix64);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(SplitMix64(seed))
    }

    /// The next tensor, for a parameter of this name.
    pub fn tensor(&mut self, name: &str, shape: &[i64], dtype: DType) -> Result<Tensor, String> {
        tensor(shape, dtype, Role::of(name), &mut self.0)
    }
}

fn value(store: &Store, ty: TypeId, role: Role, random: &mut SplitMix64) -> Result<Value, String> {
    match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => {
            let shape: Vec<i64> = shape.iter().map(|d| d.known().unwrap_or(UNKNOWN_EXTENT)).collect();
            tensor(&shape, *dtype, role, random).map(Value::Tensor)
        }
        Type::Tuple(fields) => {
            let fields: Result<Vec<Value>, String> = fields.iter().map(|f| value(store, *f, role, random)).collect();
            fields.map(Value::tuple)
        }
        _ => Err(format!("it is of type {}", crate::ir::show_type(store, ty))),
    }
}

fn tensor(shape: &[i64], dtype: DType, role: Role, random: &mut SplitMix64) -> Result<Tensor, String> {
    let n = count(shape, dtype).map_err(|e| e.0)?;
    let made = if dtype.is_float() {
        let scale = xavier(shape);
        let mut draw = || (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0;
        let values: Vec<f32> = (0..n).map(|_| role.shape(draw(), scale)).collect();
        write(dtype, shape, &values)
    } else {
        let modulus = if dtype == DType::BOOL { 2 } else { 8 };
        let values: Vec<i64> = (0..n).map(|_| (random.next() % modulus) as i64).collect();
        write(dtype, shape, &values)
    };
    made.map_err(|e| e.0)
}

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
