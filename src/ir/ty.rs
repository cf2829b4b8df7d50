//! The types of values. Interned, so equal types are equal ids.

use super::id::Id;
use super::prim::PrimId;
use super::{Name, Object, TypeVar, VarId};
use std::fmt;
use std::rc::Rc;

/// Id of an interned [`Type`].
pub type TypeId = Id<Type>;

/// A type: Relay's types, and Relax's struct info, lately called types too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `Tensor[(1, 3), float32]`; rank 0 is a scalar and prints as its dtype.
    Tensor {
        /// One entry per axis.
        shape: Rc<[Dim]>,
        /// Element type.
        dtype: DType,
    },
    /// `(A, B)`
    Tuple(Box<[TypeId]>),
    /// `fn [P](A) -> B`
    Func {
        /// Type parameters, bound in `params` and `ret`.
        type_params: Box<[Id<TypeVar>]>,
        /// Types of the arguments.
        params: Box<[TypeId]>,
        /// Type of the result.
        ret: TypeId,
    },
    /// `ref(A)`
    Ref(TypeId),
    /// A type parameter in scope.
    Var(Id<TypeVar>),
    /// The name of a type definition (TVM's GlobalTypeVar).
    Global(Id<Name>),
    /// `List[A]` (TVM's TypeCall); also without arguments, `Storage[]`.
    Apply {
        /// The applied type, nearly always a [`Type::Global`].
        head: TypeId,
        /// Type arguments.
        args: Box<[TypeId]>,
    },
    /// Not known yet (TVM's IncompleteType). The number is its identity.
    Hole(u32),
    /// `R.Any`: any value (once `R.Object`).
    Any,
    /// `T.int64`: a scalar that is no tensor.
    Prim(DType),
    /// `R.Shape([n, 4])`, `R.Shape(ndim=2)`: a shape as a value.
    Shape(Extents),
    /// `R.Tensor(ndim=2)`: a tensor of which not all is known. One of which everything is known is a
    /// [`Type::Tensor`]; see [`super::Store::tensor_like`].
    PartialTensor(TensorInfo),
    /// `R.Callable((A, B), R, True)`: a function with these arguments.
    Callable {
        /// Types of the arguments; unknown for an opaque function.
        params: Option<Box<[TypeId]>>,
        /// Type of the result.
        ret: TypeId,
        /// True if a call has no side effects.
        pure: bool,
    },
    /// `R.PackedFunc`
    PackedFunc,
    /// `I.StringType()`
    Str,
    /// `R.DTensor(...)`: a tensor spread over a mesh of devices.
    Distributed {
        /// The tensor.
        tensor: TypeId,
        /// The mesh of the module.
        mesh: Id<Object>,
        /// The distribution of its axes: `S[0], R`.
        placement: Id<Name>,
    },
}

/// The known part of the extents of a tensor or shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extents {
    /// Nothing, not even how many there are.
    Unknown,
    /// Only how many there are.
    Rank(u32),
    /// Each of them.
    Known(Rc<[Dim]>),
    /// The value of a variable that holds a shape.
    Var(VarId),
}

/// The known properties of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorInfo {
    /// Its shape.
    pub extents: Extents,
    /// Element type, if known.
    pub dtype: Option<DType>,
    /// The device it is on: `llvm:0:global`.
    pub vdevice: Option<Id<Object>>,
}

impl TensorInfo {
    /// A tensor of which nothing is known.
    pub const UNKNOWN: TensorInfo = TensorInfo { extents: Extents::Unknown, dtype: None, vdevice: None };
}

/// The extent of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A known extent. TVM tells `10` (32 bits) from `10i64`, so the width is kept.
    Int {
        /// The extent.
        value: i64,
        /// Width of the integer that holds it: 32 or 64, rarely another.
        bits: u8,
    },
    /// `?`: any extent.
    Any,
    /// A symbolic extent (`tir.Var`), compared by identity.
    Symbol(Id<Symbol>),
    /// Arithmetic over symbolic extents: never a plain number, variable or `?`.
    Expr(PrimId),
}

/// A variable that holds a scalar, such as a symbolic extent (`tir.Var` or `tir.SizeVar`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name.
    pub name: Id<Name>,
    /// Integer type.
    pub dtype: DType,
    /// True if it is known to be non-negative (`tir.SizeVar`).
    pub size: bool,
}

impl Dim {
    /// Makes a known extent in TVM's usual 32 bit integer.
    pub const fn int(value: i64) -> Dim {
        Dim::Int { value, bits: 32 }
    }

    /// Returns the extent, if it is known.
    pub fn known(self) -> Option<i64> {
        match self {
            Dim::Int { value, .. } => Some(value),
            Dim::Any | Dim::Symbol(_) | Dim::Expr(_) => None,
        }
    }
}

/// The family a scalar type belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DTypeCode {
    /// Signed integer.
    Int = 0,
    /// Unsigned integer; `bool` is `uint1`.
    UInt = 1,
    /// IEEE float.
    Float = 2,
    /// Opaque pointer.
    Handle = 3,
    /// Brain float.
    BFloat = 4,
    /// 8 bit float, 4 exponent bits, no infinity: `float8_e4m3fn`.
    E4M3Float = 6,
    /// 8 bit float, 5 exponent bits: `float8_e5m2`.
    E5M2Float = 7,
    /// `float8_e3m4`
    E3M4Float = 8,
    /// `float8_e4m3`, which has infinities.
    E4M3InfFloat = 9,
    /// `float8_e4m3b11fnuz`
    E4M3B11Float = 10,
    /// `float8_e4m3fnuz`
    E4M3UzFloat = 11,
    /// `float8_e5m2fnuz`
    E5M2UzFloat = 12,
    /// `float8_e8m0fnu`: powers of two.
    E8M0Float = 13,
    /// `float6_e2m3fn`
    E2M3Float = 14,
    /// `float6_e3m2fn`
    E3M2Float = 15,
    /// `float4_e2m1fn`
    E2M1Float = 16,
    /// `uint1`: one bit, which TVM 0.27 tells from `bool`. Only vectors of it are met: masks of lanes.
    Bit = 17,
}

/// Small floating point numbers: their names in TVM 0.27, and their codes in DLPack.
const SMALL_FLOATS: [(DTypeCode, u8, u8, &str); 11] = [
    (DTypeCode::E3M4Float, 8, 7, "float8_e3m4"),
    (DTypeCode::E4M3InfFloat, 8, 8, "float8_e4m3"),
    (DTypeCode::E4M3B11Float, 8, 9, "float8_e4m3b11fnuz"),
    (DTypeCode::E4M3Float, 8, 10, "float8_e4m3fn"),
    (DTypeCode::E4M3UzFloat, 8, 11, "float8_e4m3fnuz"),
    (DTypeCode::E5M2Float, 8, 12, "float8_e5m2"),
    (DTypeCode::E5M2UzFloat, 8, 13, "float8_e5m2fnuz"),
    (DTypeCode::E8M0Float, 8, 14, "float8_e8m0fnu"),
    (DTypeCode::E2M3Float, 6, 15, "float6_e2m3fn"),
    (DTypeCode::E3M2Float, 6, 16, "float6_e3m2fn"),
    (DTypeCode::E2M1Float, 4, 17, "float4_e2m1fn"),
];

impl DTypeCode {
    /// Returns the code of DLPack, as TVM 0.27 writes it. Truth values have one of their own there: 6, with 8 bits.
    pub fn dlpack(self) -> u8 {
        match self {
            DTypeCode::Bit => DTypeCode::UInt as u8,
            _ => SMALL_FLOATS.iter().find(|(code, ..)| *code == self).map_or(self as u8, |found| found.2),
        }
    }

    /// Returns the family of a code of DLPack; `bool` counts as an unsigned integer.
    pub fn of_dlpack(code: u8) -> Option<DTypeCode> {
        Some(match code {
            0 => DTypeCode::Int,
            1 | 6 => DTypeCode::UInt,
            2 => DTypeCode::Float,
            3 => DTypeCode::Handle,
            4 => DTypeCode::BFloat,
            _ => SMALL_FLOATS.iter().find(|found| found.2 == code)?.0,
        })
    }
}

/// The type of one tensor element, as DLPack describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType {
    /// Family.
    pub code: DTypeCode,
    /// Bits of one lane. Of a pointer to typed elements see [`super::Store::pointer`].
    pub bits: u8,
    /// Vector lanes, 1 for scalars; with [`DType::SCALABLE`] a multiple of the machine's `T.vscale()`.
    pub lanes: u16,
}

impl DType {
    /// `float32`
    pub const F32: DType = DType::new(DTypeCode::Float, 32);
    /// `float64`
    pub const F64: DType = DType::new(DTypeCode::Float, 64);
    /// `float16`
    pub const F16: DType = DType::new(DTypeCode::Float, 16);
    /// `int64`
    pub const I64: DType = DType::new(DTypeCode::Int, 64);
    /// `int32`
    pub const I32: DType = DType::new(DTypeCode::Int, 32);
    /// `int16`
    pub const I16: DType = DType::new(DTypeCode::Int, 16);
    /// `int8`
    pub const I8: DType = DType::new(DTypeCode::Int, 8);
    /// `uint8`
    pub const U8: DType = DType::new(DTypeCode::UInt, 8);
    /// `bool`
    pub const BOOL: DType = DType::new(DTypeCode::UInt, 1);
    /// `void`: no value.
    pub const VOID: DType = DType::new(DTypeCode::Handle, 0);
    /// A pointer to nothing in particular: `T.handle`.
    pub const HANDLE: DType = DType::new(DTypeCode::Handle, 64);
    /// The mark in `lanes` of a vector whose length is known when it runs: so many times `T.vscale()`.
    pub const SCALABLE: u16 = 1 << 15;

    /// Makes a scalar type.
    pub const fn new(code: DTypeCode, bits: u8) -> DType {
        DType { code, bits, lanes: 1 }
    }

    /// Returns the type of one lane.
    pub fn element(self) -> DType {
        DType { lanes: 1, ..self }
    }

    /// True if its length is a multiple of `T.vscale()`.
    pub fn is_scalable(self) -> bool {
        self.lanes & DType::SCALABLE != 0
    }

    /// Returns the bytes that one element takes in memory.
    pub fn bytes(self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }

    /// True if it is `float*`, `bfloat*` or one of the small floats.
    pub fn is_float(self) -> bool {
        !matches!(self.code, DTypeCode::Int | DTypeCode::UInt | DTypeCode::Handle | DTypeCode::Bit)
    }

    /// Reads TVM's notation: `float32`, `int8x4`, `bool`, `handle`, `bfloat16`, `float8_e4m3fn`, `float32xvscalex4`.
    pub fn parse(text: &str) -> Option<DType> {
        let (element, lanes) = match text.split_once('x') {
            None => (text, 1),
            Some((element, lanes)) => {
                let factor = lanes.strip_prefix("vscalex");
                let number: u16 = factor.unwrap_or(lanes).parse().ok().filter(|n| (1..DType::SCALABLE).contains(n))?;
                (element, if factor.is_some() { number | DType::SCALABLE } else { number })
            }
        };
        let scalar = match element {
            "bool" => DType::BOOL,
            "uint1" if lanes != 1 => DType::new(DTypeCode::Bit, 1),
            "handle" => DType::HANDLE,
            "void" => DType::VOID,
            "e4m3_float8" => DType::new(DTypeCode::E4M3Float, 8),
            "e5m2_float8" => DType::new(DTypeCode::E5M2Float, 8),
            // TVM reads a family without a width as its usual one.
            "int" => DType::I32,
            "uint" => DType::new(DTypeCode::UInt, 32),
            "float" => DType::F32,
            _ => match SMALL_FLOATS.iter().find(|small| small.3 == element) {
                Some((code, bits, ..)) => DType::new(*code, *bits),
                None => {
                    let families = [
                        ("uint", DTypeCode::UInt),
                        ("int", DTypeCode::Int),
                        ("float", DTypeCode::Float),
                        ("bfloat", DTypeCode::BFloat),
                    ];
                    let mut families = families.iter();
                    let (code, bits) =
                        families.find_map(|&(prefix, code)| element.strip_prefix(prefix).map(|bits| (code, bits)))?;
                    // TVM reads `int0`, too, of which there is no number.
                    DType::new(code, bits.parse().ok().filter(|bits| *bits > 0)?)
                }
            },
        };
        Some(DType { lanes, ..scalar })
    }

    /// Returns the name that TVM 0.19 had for it, where that is another one.
    pub fn relay_name(self) -> String {
        match self.code {
            DTypeCode::E4M3Float => "e4m3_float8".to_owned(),
            DTypeCode::E5M2Float => "e5m2_float8".to_owned(),
            DTypeCode::UInt if self.bits == 1 && self.lanes != 1 => format!("uint1x{}", self.lanes),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            DTypeCode::UInt if self.bits == 1 => f.write_str("bool")?,
            DTypeCode::Handle if self.bits == 0 => f.write_str("void")?,
            DTypeCode::Handle => return f.write_str("handle"),
            DTypeCode::Int => write!(f, "int{}", self.bits)?,
            DTypeCode::UInt | DTypeCode::Bit => write!(f, "uint{}", self.bits)?,
            DTypeCode::Float => write!(f, "float{}", self.bits)?,
            DTypeCode::BFloat => write!(f, "bfloat{}", self.bits)?,
            code => f.write_str(SMALL_FLOATS.iter().find(|small| small.0 == code).map_or("float", |small| small.3))?,
        }
        match self.lanes & !DType::SCALABLE {
            factor if self.is_scalable() => write!(f, "xvscalex{factor}"),
            1 => Ok(()),
            lanes => write!(f, "x{lanes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_read_what_they_print() {
        let today = ["float8_e4m3fn", "float4_e2m1fnx8", "float32xvscalex4", "uint1x4", "boolx4", "void"];
        for text in ["float32", "int8x4", "bool", "handle", "bfloat16", "uint16"].into_iter().chain(today) {
            assert_eq!(DType::parse(text).map(|d| d.to_string()).as_deref(), Some(text));
        }
        for text in ["flout32", "int8x", "int8x99999", "float32xvscalex", "float8_e9m9", "xvscalex4", "int0", "uint0x4", "int8x0"]
        {
            assert_eq!(DType::parse(text), None, "{text}");
        }
        assert_eq!(DType::parse("e5m2_float8").map(DType::relay_name).as_deref(), Some("e5m2_float8"));
        assert!(SMALL_FLOATS.iter().all(|small| DTypeCode::of_dlpack(small.0.dlpack()) == Some(small.0)));
    }
}
