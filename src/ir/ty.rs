//! Types: what an expression's value looks like. Interned, so equal types are equal ids.

use super::id::Id;
use super::prim::PrimId;
use super::{Name, Object, TypeVar, VarId};
use std::fmt;
use std::rc::Rc;

/// Id of an interned [`Type`].
pub type TypeId = Id<Type>;

/// A type: Relay's types, and what Relax calls struct info or, lately, types too.
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
        /// What is applied, nearly always a [`Type::Global`].
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
    /// `R.Callable((A, B), R, True)`: what can be called with these arguments.
    Callable {
        /// Types of the arguments; unknown for an opaque function.
        params: Option<Box<[TypeId]>>,
        /// Type of the result.
        ret: TypeId,
        /// Whether a call has no side effects.
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
        /// Where its axes go: `S[0], R`.
        placement: Id<Name>,
    },
}

/// What is known of the extents of a tensor or shape.
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

/// What is known of a tensor.
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
    /// Whether it is known to be non-negative (`tir.SizeVar`).
    pub size: bool,
}

impl Dim {
    /// A known extent in TVM's usual 32 bit integer.
    pub const fn int(value: i64) -> Dim {
        Dim::Int { value, bits: 32 }
    }

    /// The extent, if it is known.
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
    /// 8 bit float, 4 exponent bits.
    E4M3Float = 6,
    /// 8 bit float, 5 exponent bits.
    E5M2Float = 7,
}

/// The type of one tensor element, as DLPack describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType {
    /// Family.
    pub code: DTypeCode,
    /// Bits of one lane.
    pub bits: u8,
    /// Vector lanes, 1 for scalars.
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

    /// A scalar type.
    pub const fn new(code: DTypeCode, bits: u8) -> DType {
        DType { code, bits, lanes: 1 }
    }

    /// Bytes that one element takes in memory.
    pub fn bytes(self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }

    /// Whether it is `float*`, `bfloat*` or a float8.
    pub fn is_float(self) -> bool {
        !matches!(self.code, DTypeCode::Int | DTypeCode::UInt | DTypeCode::Handle)
    }

    /// Reads TVM's notation: `float32`, `int8x4`, `bool`, `handle`, `bfloat16`, `e4m3_float8`.
    pub fn parse(text: &str) -> Option<DType> {
        match text {
            "bool" => return Some(DType::BOOL),
            "handle" => return Some(DType::new(DTypeCode::Handle, 64)),
            "e4m3_float8" => return Some(DType::new(DTypeCode::E4M3Float, 8)),
            "e5m2_float8" => return Some(DType::new(DTypeCode::E5M2Float, 8)),
            // TVM reads a family without a width as its usual one.
            "int" => return Some(DType::I32),
            "uint" => return Some(DType::new(DTypeCode::UInt, 32)),
            "float" => return Some(DType::F32),
            _ => {}
        }
        let (code, rest) =
            [("uint", DTypeCode::UInt), ("int", DTypeCode::Int), ("float", DTypeCode::Float), ("bfloat", DTypeCode::BFloat)]
                .iter()
                .find_map(|&(prefix, code)| text.strip_prefix(prefix).map(|rest| (code, rest)))?;
        let (bits, lanes) = match rest.split_once('x') {
            Some((bits, lanes)) => (bits.parse().ok()?, lanes.parse().ok()?),
            None => (rest.parse().ok()?, 1),
        };
        Some(DType { code, bits, lanes })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.code {
            DTypeCode::UInt if self.bits == 1 && self.lanes == 1 => return f.write_str("bool"),
            DTypeCode::Handle => return f.write_str("handle"),
            DTypeCode::E4M3Float => return f.write_str("e4m3_float8"),
            DTypeCode::E5M2Float => return f.write_str("e5m2_float8"),
            DTypeCode::Int => "int",
            DTypeCode::UInt => "uint",
            DTypeCode::Float => "float",
            DTypeCode::BFloat => "bfloat",
        };
        write!(f, "{family}{}", self.bits)?;
        if self.lanes != 1 {
            write!(f, "x{}", self.lanes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_read_what_they_print() {
        for text in ["float32", "int8x4", "bool", "handle", "bfloat16", "e4m3_float8", "uint16"] {
            assert_eq!(DType::parse(text).map(|d| d.to_string()).as_deref(), Some(text));
        }
        assert_eq!(DType::parse("flout32"), None);
    }
}
