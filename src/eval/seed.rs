//! Inputs generated from a number, for comparing two versions of a program.

use super::EvalFailure;
use super::value::Value;
use crate::ir::{DType, DTypeCode, Store, Tensor, Type, TypeId};
use crate::ops::kernel::{count, write};

/// The way to generate arguments.
///
/// The generator is SplitMix64 (Steele, Lea, Flood 2014), seeded with `seed`, one draw for each
/// element in row-major order, parameter by parameter, tuples in order. Of [`Kind::Random`] the upper 24 bits of a draw
/// make a float in [-1, 1); an integer is the draw modulo 8, so that it can serve as an index of small
/// tensors; a truth value is its lowest bit.
///
/// Two kinds of parameters are known by the end of their names, but for a number, as in TVM's own workloads
/// (`relay/testing/init.py`), so that the values of a network neither grow beyond bounds nor become NaN:
/// the floats of a `weight` are scaled as Xavier's initialisation does, and those of a `var` (a
/// variance) are moved into [0.5, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Making {
    /// The seed; the same seed gives the same values.
    pub seed: u64,
    /// The kind of values.
    pub kind: Kind,
    /// The value of unknown extents, everywhere the same, so that they fit each other.
    pub extent: i64,
}

/// The values of generated tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Small random numbers.
    Random,
    /// Zeros of both signs.
    Zeros,
    /// Infinities, NaN, the largest and smallest numbers of each type, among random ones.
    Extremes,
}

impl Making {
    /// Small random numbers; unknown extents are 4.
    pub fn random(seed: u64) -> Making {
        Making { seed, kind: Kind::Random, extent: 4 }
    }
}

/// Generates a random value of a type.
pub fn seeded_value(store: &Store, ty: TypeId, seed: u64) -> Result<Value, EvalFailure> {
    let mut draws = Draws::new(Making::random(seed));
    draws.value(store, ty, "").map_err(EvalFailure::new)
}

/// The role of a parameter, by its name.
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

    /// Scales a float in [-1, 1) for this parameter.
    fn shape(self, x: f32, scale: f32) -> f32 {
        match self {
            Role::Data => x,
            Role::Weight => x * scale,
            Role::Variance => (x + 3.0) / 4.0,
        }
    }
}

/// Returns Xavier's scale for a weight: the root of 3 over the mean of inputs and outputs of a unit.
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

/// Draws of tensors, one after the other.
pub(super) struct Draws {
    random: SplitMix64,
    /// The way to generate values.
    pub making: Making,
}

impl Draws {
    pub fn new(making: Making) -> Draws {
        Draws { random: SplitMix64(making.seed), making }
    }

    /// Returns the next value of a type of tensors and tuples, for a parameter of this name.
    pub fn value(&mut self, store: &Store, ty: TypeId, name: &str) -> Result<Value, String> {
        match store.type_of_id(ty) {
            Type::Tensor { shape, dtype } => {
                let shape: Vec<i64> = shape.iter().map(|d| d.known().unwrap_or(self.making.extent)).collect();
                self.tensor(name, &shape, *dtype).map(Value::Tensor)
            }
            Type::Tuple(fields) => {
                let fields: Result<Vec<Value>, String> = fields.iter().map(|f| self.value(store, *f, name)).collect();
                fields.map(Value::tuple)
            }
            _ => Err(format!("it is of type {}", crate::ir::show_type(store, ty))),
        }
    }

    /// Returns the next tensor, for a parameter of this name.
    pub fn tensor(&mut self, name: &str, shape: &[i64], dtype: DType) -> Result<Tensor, String> {
        let n = count(shape, dtype).map_err(|e| e.0)?;
        let made = if dtype.is_float() {
            let (role, scale) = (Role::of(name), xavier(shape));
            let values: Vec<f32> = (0..n).map(|_| self.float(role, scale)).collect();
            write(dtype, shape, &values)
        } else {
            let values: Vec<i64> = (0..n).map(|_| self.integer(dtype)).collect();
            write(dtype, shape, &values)
        };
        made.map_err(|e| e.0)
    }

    fn float(&mut self, role: Role, scale: f32) -> f32 {
        let drawn = self.random.next();
        let x = (drawn >> 40) as f32 / (1 << 23) as f32 - 1.0;
        match (self.making.kind, drawn % 16) {
            (Kind::Zeros, _) => 0f32.copysign(x),
            (Kind::Extremes, 0) => f32::INFINITY,
            (Kind::Extremes, 1) => f32::NEG_INFINITY,
            (Kind::Extremes, 2) => f32::NAN,
            (Kind::Extremes, 3) => f32::MAX.copysign(x),
            (Kind::Extremes, 4) => f32::MIN_POSITIVE.copysign(x),
            _ => role.shape(x, scale),
        }
    }

    fn integer(&mut self, dtype: DType) -> i64 {
        let drawn = self.random.next();
        let small = (drawn % if dtype == DType::BOOL { 2 } else { 8 }) as i64;
        let high = i64::MAX >> (64 - dtype.bits.clamp(1, 64));
        match (self.making.kind, drawn >> 60) {
            _ if dtype == DType::BOOL => small,
            (Kind::Zeros, _) => 0,
            (Kind::Extremes, 0) => high,
            (Kind::Extremes, 1) => {
                if dtype.code == DTypeCode::UInt {
                    0
                } else {
                    -high - 1
                }
            }
            (Kind::Extremes, 2) if dtype.code == DTypeCode::Int => -1,
            _ => small,
        }
    }
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
