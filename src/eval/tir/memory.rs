//! Memory of programs: bytes, so that buffers of different types can share it.
//!
//! A pointer is a number: the piece of memory in its upper bits, the offset in bytes in the lower ones. Each byte of memory that
//! a program allocates has flags: if it was written (reading it before is an error) and, for counting, if it was touched.

use crate::ir::{DType, DTypeCode};
use half::{bf16, f16};

/// The bits of a pointer that are an offset.
const PLACE: u64 = (1 << 40) - 1;
/// Returns the offset in bytes of a pointer within its memory.
pub(super) fn place_of(pointer: u64) -> usize {
    (pointer & PLACE) as usize
}

/// Flags of a byte.
pub(super) const WRITTEN: u8 = 1;
pub(super) const READ: u8 = 2;
pub(super) const STORED: u8 = 4;

/// A type of elements in memory, and of numbers in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    /// A signed integer with this many bits.
    Int(u8),
    /// An unsigned integer with this many bits, or a pointer.
    UInt(u8),
    F16,
    BF16,
    F32,
    F64,
    Small(DTypeCode),
}

impl Kind {
    /// Returns the kind of one lane of a type.
    pub(super) fn of(dtype: DType) -> Kind {
        match (dtype.code, dtype.bits) {
            (DTypeCode::UInt | DTypeCode::Bit, 1) => Kind::Bool,
            (DTypeCode::Int, bits) => Kind::Int(bits),
            (DTypeCode::Handle, _) => Kind::UInt(64),
            (DTypeCode::UInt | DTypeCode::Bit, bits) => Kind::UInt(bits),
            (DTypeCode::Float, 64) => Kind::F64,
            (DTypeCode::Float, 16) => Kind::F16,
            (DTypeCode::Float, _) => Kind::F32,
            (DTypeCode::BFloat, _) => Kind::BF16,
            (small, _) => Kind::Small(small),
        }
    }

    pub(super) fn is_float(self) -> bool {
        !matches!(self, Kind::Bool | Kind::Int(_) | Kind::UInt(_))
    }

    /// Returns the size of an element in bytes.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Kind::Bool | Kind::Small(_) => 1,
            Kind::Int(bits) | Kind::UInt(bits) => usize::from(bits).div_ceil(8).next_power_of_two().min(8),
            Kind::F16 | Kind::BF16 => 2,
            Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// Wraps an integer to this type, which is no float type.
    #[inline]
    pub(super) fn wrap(self, value: i64) -> i64 {
        match self {
            Kind::Bool => i64::from(value != 0),
            Kind::Int(bits) => {
                let spare = 64 - u32::from(bits.clamp(1, 64));
                (value << spare) >> spare
            }
            Kind::UInt(bits) => {
                let spare = 64 - u32::from(bits.clamp(1, 64));
                ((value as u64) << spare >> spare) as i64
            }
            _ => value,
        }
    }

    /// Rounds a float to this type.
    #[inline]
    pub(super) fn round(self, value: f64) -> f64 {
        match self {
            Kind::F32 => f64::from(value as f32),
            Kind::F64 => value,
            Kind::F16 => f16::from_f64(value).to_f64(),
            Kind::BF16 => bf16::from_f64(value).to_f64(),
            Kind::Small(code) => Small::of(code).value(Small::of(code).code(value)),
            _ => value,
        }
    }

    /// Returns the register value of an element with these bytes.
    #[inline]
    fn decode(self, bytes: &[u8]) -> u64 {
        match self {
            Kind::F32 => f64::from(f32::from_le_bytes(take(bytes))).to_bits(),
            Kind::F64 => u64::from_le_bytes(take(bytes)),
            Kind::F16 => f16::from_le_bytes(take(bytes)).to_f64().to_bits(),
            Kind::BF16 => bf16::from_le_bytes(take(bytes)).to_f64().to_bits(),
            Kind::Small(code) => Small::of(code).value(bytes[0]).to_bits(),
            Kind::Bool => u64::from(bytes[0] != 0),
            Kind::Int(_) | Kind::UInt(_) => {
                let raw = match bytes.len() {
                    1 => u64::from(bytes[0]),
                    2 => u64::from(u16::from_le_bytes(take(bytes))),
                    4 => u64::from(u32::from_le_bytes(take(bytes))),
                    _ => u64::from_le_bytes(take(bytes)),
                };
                self.wrap(raw as i64) as u64
            }
        }
    }

    #[inline]
    fn encode(self, value: u64, bytes: &mut [u8]) {
        match self {
            Kind::F32 => bytes.copy_from_slice(&(f64::from_bits(value) as f32).to_le_bytes()),
            Kind::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
            Kind::F16 => bytes.copy_from_slice(&f16::from_f64(f64::from_bits(value)).to_le_bytes()),
            Kind::BF16 => bytes.copy_from_slice(&bf16::from_f64(f64::from_bits(value)).to_le_bytes()),
            Kind::Small(code) => bytes[0] = Small::of(code).code(f64::from_bits(value)),
            Kind::Bool => bytes[0] = u8::from(value != 0),
            Kind::Int(_) | Kind::UInt(_) => {
                let wide = (self.wrap(value as i64) as u64).to_le_bytes();
                let n = bytes.len();
                bytes.copy_from_slice(&wide[..n]);
            }
        }
    }

    /// Converts a number from this kind to another.
    pub(super) fn convert(self, to: Kind, value: u64) -> u64 {
        match (self.is_float(), to.is_float()) {
            (true, true) => to.round(f64::from_bits(value)).to_bits(),
            (false, true) => {
                let number = match self {
                    Kind::UInt(_) => value as f64,
                    _ => value as i64 as f64,
                };
                to.round(number).to_bits()
            }
            (false, false) => to.wrap(value as i64) as u64,
            (true, false) => {
                let x = f64::from_bits(value);
                let whole = match to {
                    Kind::Bool => i64::from(x != 0.0 && !x.is_nan()),
                    // Types below 32 bits go through a conversion to int32, and uint32 through int64, as LLVM has it on x86.
                    Kind::Int(..=32) | Kind::UInt(..=31) => match x > -2_147_483_649.0 && x < 2_147_483_648.0 {
                        true => x as i64,
                        false => i64::from(i32::MIN),
                    },
                    Kind::UInt(33..) if x >= 9_223_372_036_854_775_808.0 => x as u64 as i64,
                    _ => crate::ops::kernel::float_to_i64(x),
                };
                to.wrap(whole) as u64
            }
        }
    }
}

#[inline]
fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

/// A floating point type of at most eight bits.
struct Small {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    /// The meaning of its codes of all ones.
    special: Special,
}

#[derive(PartialEq)]
enum Special {
    /// Infinities and NaNs, as IEEE has them.
    Ieee,
    /// The last code of each sign is a NaN.
    LastNan,
    /// The code of minus zero is the only NaN.
    MinusZeroNan,
    /// All codes are numbers.
    None,
}

impl Small {
    fn of(code: DTypeCode) -> Small {
        let (exponent, mantissa, bias, special) = match code {
            DTypeCode::E5M2Float => (5, 2, 15, Special::Ieee),
            DTypeCode::E3M4Float => (3, 4, 3, Special::Ieee),
            DTypeCode::E4M3InfFloat => (4, 3, 7, Special::Ieee),
            DTypeCode::E4M3B11Float => (4, 3, 11, Special::MinusZeroNan),
            DTypeCode::E4M3UzFloat => (4, 3, 8, Special::MinusZeroNan),
            DTypeCode::E5M2UzFloat => (5, 2, 16, Special::MinusZeroNan),
            DTypeCode::E8M0Float => (8, 0, 127, Special::LastNan),
            DTypeCode::E2M3Float => (2, 3, 1, Special::None),
            DTypeCode::E3M2Float => (3, 2, 3, Special::None),
            DTypeCode::E2M1Float => (2, 1, 1, Special::None),
            _ => (4, 3, 7, Special::LastNan),
        };
        Small { exponent, mantissa, bias, special }
    }

    fn value(&self, code: u8) -> f64 {
        let code = u32::from(code);
        let (fraction, scale) = (code & ((1 << self.mantissa) - 1), f64::from(1 << self.mantissa));
        if self.mantissa == 0 {
            return if code == 0xff { f64::NAN } else { 2f64.powi(code as i32 - self.bias) };
        }
        let most = (1 << self.exponent) - 1;
        let exponent = code >> self.mantissa & most;
        let negative = code >> (self.mantissa + self.exponent) & 1 == 1;
        let size = match (exponent, &self.special) {
            (e, Special::Ieee) if e == most => match fraction {
                0 => f64::INFINITY,
                _ => f64::NAN,
            },
            (e, Special::LastNan) if e == most && fraction == (1 << self.mantissa) - 1 => f64::NAN,
            (0, Special::MinusZeroNan) if negative && fraction == 0 => f64::NAN,
            (0, _) => f64::from(fraction) / scale * 2f64.powi(1 - self.bias),
            (e, _) => (1.0 + f64::from(fraction) / scale) * 2f64.powi(e as i32 - self.bias),
        };
        if negative { -size } else { size }
    }

    /// Returns the code of the nearest number; of two equally near ones the even code. A number that is too large
    /// becomes the largest, or NaN or infinite where the type has that.
    fn code(&self, value: f64) -> u8 {
        let sign = if self.mantissa > 0 && value.is_sign_negative() { 1u8 << (self.mantissa + self.exponent) } else { 0 };
        let codes = if self.mantissa == 0 { 256u32 } else { 1 << (self.mantissa + self.exponent) };
        let (size, mut best, mut off) = (value.abs(), 0u8, f64::INFINITY);
        let mut nan = None;
        for code in 0..codes {
            let number = self.value(code as u8);
            if number.is_nan() {
                nan = nan.or(Some(code as u8));
                continue;
            }
            // Infinity counts as the number that would follow the largest.
            let number = if number.is_infinite() { 2f64.powi(self.bias + 1) } else { number };
            let distance = (size - number).abs();
            if distance < off || (distance == off && code % 2 == 0) {
                (best, off) = (code as u8, distance);
            }
        }
        if value.is_nan() {
            let minus_zero = 1u8 << (self.mantissa + self.exponent).min(7);
            return nan.unwrap_or(if self.special == Special::MinusZeroNan { minus_zero } else { 0 });
        }
        if self.special == Special::MinusZeroNan && best == 0 { 0 } else { best | sign }
    }
}

/// A piece of memory.
pub(super) struct Memory {
    pub(super) bytes: Vec<u8>,
    /// A flag for each byte; empty where nothing is recorded.
    pub(super) flags: Vec<u8>,
    /// True if anything was stored in it.
    pub(super) stored: bool,
    /// The buffer of the program that it was allocated for.
    pub(super) buffer: u32,
}

/// All memory of a run. The first piece is empty, so that a pointer of zero points nowhere.
pub(super) struct Heap {
    pub(super) pieces: Vec<Memory>,
}

/// An invalid access.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// It lies outside of the memory, which has this many bytes.
    Outside(usize),
    /// It reads memory that was never written.
    Nothing,
    /// The pointer is null.
    Null,
}

impl Heap {
    pub(super) fn new() -> Heap {
        Heap { pieces: vec![Memory { bytes: Vec::new(), flags: Vec::new(), stored: false, buffer: 0 }] }
    }

    /// Adds memory; returns a pointer to its beginning.
    pub(super) fn add(&mut self, memory: Memory) -> u64 {
        self.pieces.push(memory);
        ((self.pieces.len() - 1) as u64) << 40
    }

    pub(super) fn piece_mut(&mut self, pointer: u64) -> Option<&mut Memory> {
        self.pieces.get_mut((pointer >> 40) as usize).filter(|_| pointer >> 40 != 0)
    }

    /// Loads the element `place` elements behind a pointer.
    #[inline]
    pub(super) fn load(&mut self, kind: Kind, pointer: u64, place: i64) -> Result<u64, Fault> {
        let size = kind.bytes();
        let memory = self.pieces.get_mut((pointer >> 40) as usize).ok_or(Fault::Null)?;
        let at = (pointer & PLACE) as i64 + place.wrapping_mul(size as i64);
        let outside = if pointer >> 40 == 0 { Fault::Null } else { Fault::Outside(memory.bytes.len()) };
        let at = usize::try_from(at).map_err(|_| outside)?;
        let bytes = at.checked_add(size).and_then(|end| memory.bytes.get(at..end)).ok_or(outside)?;
        let value = kind.decode(bytes);
        if let Some(flags) = memory.flags.get_mut(at..at + size) {
            if flags[0] & WRITTEN == 0 {
                return Err(Fault::Nothing);
            }
            flags.iter_mut().for_each(|flag| *flag |= READ);
        }
        Ok(value)
    }

    #[inline]
    pub(super) fn store(&mut self, kind: Kind, pointer: u64, place: i64, value: u64) -> Result<(), Fault> {
        let size = kind.bytes();
        let memory = self.pieces.get_mut((pointer >> 40) as usize).ok_or(Fault::Null)?;
        let at = (pointer & PLACE) as i64 + place.wrapping_mul(size as i64);
        let outside = if pointer >> 40 == 0 { Fault::Null } else { Fault::Outside(memory.bytes.len()) };
        let at = usize::try_from(at).map_err(|_| outside)?;
        let end = at.checked_add(size).ok_or(outside)?;
        kind.encode(value, memory.bytes.get_mut(at..end).ok_or(outside)?);
        memory.stored = true;
        if let Some(flags) = memory.flags.get_mut(at..end) {
            flags.iter_mut().for_each(|flag| *flag |= WRITTEN | STORED);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_are_what_their_formats_say() {
        // OCP 8-bit Floating Point Specification, table 2: the largest, and the smallest subnormal.
        let e4m3 = Small::of(DTypeCode::E4M3Float);
        assert_eq!((e4m3.value(0x7e), e4m3.value(0x01), e4m3.value(0xb8)), (448.0, 2f64.powi(-9), -1.0));
        let e5m2 = Small::of(DTypeCode::E5M2Float);
        assert_eq!((e5m2.value(0x7b), e5m2.value(0x7c), e5m2.value(0x01)), (57344.0, f64::INFINITY, 2f64.powi(-16)));
        for code in 0..=255u8 {
            for small in [&e4m3, &e5m2] {
                let value = small.value(code);
                assert!(value.is_nan() || small.code(value) == code, "{code}");
            }
        }
        // A tie goes to the even code: 1.0625 lies between 1 (0x38) and 1.125 (0x39).
        assert_eq!(e4m3.code(1.0625), 0x38);
    }

    #[test]
    fn what_was_not_written_cannot_be_read() {
        let mut heap = Heap::new();
        let pointer = heap.add(Memory { bytes: vec![0; 8], flags: vec![0; 8], stored: false, buffer: 0 });
        assert!(matches!(heap.load(Kind::F32, pointer, 1), Err(Fault::Nothing)));
        assert!(heap.store(Kind::F32, pointer, 1, 2.5f64.to_bits()).is_ok());
        assert_eq!(heap.load(Kind::F32, pointer, 1).map(f64::from_bits).ok(), Some(2.5));
        assert!(matches!(heap.load(Kind::F32, pointer, 2), Err(Fault::Outside(8))));
        assert!(matches!(heap.load(Kind::F32, pointer, -1), Err(Fault::Outside(8))));
        assert!(matches!(heap.load(Kind::F32, 0, 0), Err(Fault::Null)));
    }
}
