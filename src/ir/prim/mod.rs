//! Programs on single elements (TVM's TIR): scalar expressions, buffers, statements, `PrimFunc`.
//!
//! Scalar expressions are interned: where two are equal, nothing depends on whether they are one or two. They are also
//! the arithmetic in shapes. Buffers, blocks, statements and functions are arenas like the rest of the program; a
//! statement's children are older than itself.

mod stmt;

pub use stmt::{
    AttrNode, Block, Buffer, BufferLayout, For, ForKind, IterKind, IterVar, PrimFunc, PrimParam, Region, Stmt, StmtId,
};

use super::Name;
use super::attrs::{AttrsId, Double};
use super::id::Id;
use super::ty::{DType, Symbol};

/// Id of an interned [`PrimExpr`].
pub type PrimId = Id<PrimExpr>;

/// A scalar expression, or one of a vector (TVM's `PrimExpr`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrimExpr {
    /// An integer or truth value; of unsigned 64 bits its bits.
    Int {
        /// The number.
        value: i64,
        /// Its type.
        dtype: DType,
    },
    /// A floating point number.
    Float {
        /// The number.
        value: Double,
        /// Its type.
        dtype: DType,
    },
    /// A string.
    Str(Id<Name>),
    /// `?`: Relay's unknown extent.
    Any,
    /// A variable.
    Var(Id<Symbol>),
    /// `a op b`
    Binary {
        /// The operator.
        op: PrimOp,
        /// Left operand.
        a: PrimId,
        /// Right operand.
        b: PrimId,
    },
    /// `not a`
    Not(PrimId),
    /// `T.Cast("float32", value)`
    Cast {
        /// The new type.
        dtype: DType,
        /// The operand.
        value: PrimId,
    },
    /// `T.Select(cond, then, other)`: all three are evaluated.
    Select {
        /// The condition.
        cond: PrimId,
        /// Value when true.
        then: PrimId,
        /// Value when false.
        other: PrimId,
    },
    /// `T.exp(x)`, `T.if_then_else(c, a, b)`, `T.call_extern("int32", "f", x)`
    Call {
        /// The intrinsic, as TVM names it without `tirx.`; a function of the module has `@` before its name.
        op: Id<Name>,
        /// Arguments.
        args: Box<[PrimId]>,
        /// Type of the result.
        dtype: DType,
    },
    /// `A[i, j]`
    Load {
        /// The buffer.
        buffer: Id<Buffer>,
        /// The index along each axis.
        indices: Box<[PrimId]>,
    },
    /// `A.data`: the pointer behind a buffer.
    Data(Id<Buffer>),
    /// `A`: a buffer as an argument.
    Buffer(Id<Buffer>),
    /// `T.Ramp(base, stride, lanes)`
    Ramp {
        /// The first lane.
        base: PrimId,
        /// The difference between neighbouring lanes.
        stride: PrimId,
        /// The number of lanes, as in [`DType::lanes`].
        lanes: u16,
    },
    /// `T.Broadcast(value, lanes)`
    Broadcast {
        /// Every lane.
        value: PrimId,
        /// The number of lanes, as in [`DType::lanes`].
        lanes: u16,
    },
    /// `T.Shuffle([a, b], [0, 1])`: some lanes of vectors that stand one behind the other.
    Shuffle {
        /// The vectors.
        vectors: Box<[PrimId]>,
        /// The indices of the chosen lanes.
        indices: Box<[PrimId]>,
    },
    /// `T.Let(body, where={var: value})`
    Let {
        /// The variable in scope in `body`.
        var: Id<Symbol>,
        /// Its value.
        value: PrimId,
        /// The result.
        body: PrimId,
    },
    /// `T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])`: how two are made one, as an attribute says. Nothing in it is
    /// free.
    Reducer(Box<Reducer>),
    /// An object with named fields: `T.target({"kind": "llvm"})` has the key `Target`; as the last argument of a call
    /// it holds the other properties of the call, `launch_params=[...]`.
    Attrs(AttrsId),
}

/// Combines two values, or two tuples of them, into one (TVM's `CommReducer`); all lists are equally long.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reducer {
    /// Variables for the old values.
    pub lhs: Box<[Id<Symbol>]>,
    /// Variables for the added values.
    pub rhs: Box<[Id<Symbol>]>,
    /// The combined values.
    pub results: Box<[PrimId]>,
    /// The identity elements of the combination.
    pub identities: Box<[PrimId]>,
}

/// Operations on two operands, named as TVM's nodes: `tirx.Add` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrimOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient: of integers rounded towards zero.
    Div,
    /// Remainder of [`PrimOp::Div`].
    Mod,
    /// Quotient rounded down.
    FloorDiv,
    /// Remainder of [`PrimOp::FloorDiv`].
    FloorMod,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Equality.
    Eq,
    /// The opposite of [`PrimOp::Eq`].
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Both.
    And,
    /// At least one.
    Or,
}

impl PrimOp {
    /// TVM's type keys, in the order of the declaration.
    const KEYS: [&'static str; 17] = [
        "tir.Add",
        "tir.Sub",
        "tir.Mul",
        "tir.Div",
        "tir.Mod",
        "tir.FloorDiv",
        "tir.FloorMod",
        "tir.Min",
        "tir.Max",
        "tir.EQ",
        "tir.NE",
        "tir.LT",
        "tir.LE",
        "tir.GT",
        "tir.GE",
        "tir.And",
        "tir.Or",
    ];

    /// All of them, in the order of the declaration.
    pub const ALL: [PrimOp; 17] = [
        PrimOp::Add,
        PrimOp::Sub,
        PrimOp::Mul,
        PrimOp::Div,
        PrimOp::Mod,
        PrimOp::FloorDiv,
        PrimOp::FloorMod,
        PrimOp::Min,
        PrimOp::Max,
        PrimOp::Eq,
        PrimOp::Ne,
        PrimOp::Lt,
        PrimOp::Le,
        PrimOp::Gt,
        PrimOp::Ge,
        PrimOp::And,
        PrimOp::Or,
    ];

    /// Returns TVM's type key (of 0.19; later ones begin with `tirx.`): `tir.Add`.
    pub fn key(self) -> &'static str {
        PrimOp::KEYS[self as usize]
    }

    /// Returns the name of TVM's node: `Add`.
    pub fn name(self) -> &'static str {
        &self.key()["tir.".len()..]
    }

    /// Returns the operation of a node's name.
    pub fn named(name: &str) -> Option<PrimOp> {
        PrimOp::ALL.into_iter().find(|op| op.name() == name)
    }

    /// True if the result is a truth value.
    pub fn is_logic(self) -> bool {
        self >= PrimOp::Eq
    }

    /// Returns the comparison with its sides exchanged; any other operation is itself.
    pub fn mirrored(self) -> PrimOp {
        match self {
            PrimOp::Lt => PrimOp::Gt,
            PrimOp::Le => PrimOp::Ge,
            PrimOp::Gt => PrimOp::Lt,
            PrimOp::Ge => PrimOp::Le,
            op => op,
        }
    }

    /// Returns the operation on two known integers of 64 bits; nothing where it is undefined or the result does not
    /// fit. Truth values are 0 and 1.
    pub fn fold(self, x: i64, y: i64) -> Option<i64> {
        let floor_div = || {
            let q = x.checked_div(y)?;
            Some(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
        };
        let truth = |b: bool| Some(i64::from(b));
        match self {
            PrimOp::Add => x.checked_add(y),
            PrimOp::Sub => x.checked_sub(y),
            PrimOp::Mul => x.checked_mul(y),
            PrimOp::Div => x.checked_div(y),
            PrimOp::Mod => x.checked_rem(y),
            PrimOp::FloorDiv => floor_div(),
            PrimOp::FloorMod => floor_div().map(|q| x - q * y),
            PrimOp::Min => Some(x.min(y)),
            PrimOp::Max => Some(x.max(y)),
            PrimOp::Eq => truth(x == y),
            PrimOp::Ne => truth(x != y),
            PrimOp::Lt => truth(x < y),
            PrimOp::Le => truth(x <= y),
            PrimOp::Gt => truth(x > y),
            PrimOp::Ge => truth(x >= y),
            PrimOp::And => truth(x != 0 && y != 0),
            PrimOp::Or => truth(x != 0 || y != 0),
        }
    }
}

impl PrimExpr {
    /// Calls `visit` with each operand, in order.
    pub fn for_each_child(&self, visit: &mut dyn FnMut(PrimId)) {
        match self {
            PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Str(_) => {}
            PrimExpr::Any | PrimExpr::Var(_) | PrimExpr::Data(_) | PrimExpr::Buffer(_) => {}
            PrimExpr::Reducer(_) | PrimExpr::Attrs(_) => {}
            PrimExpr::Shuffle { vectors, indices } => vectors.iter().chain(indices).copied().for_each(visit),
            PrimExpr::Binary { a, b, .. } => [*a, *b].into_iter().for_each(visit),
            PrimExpr::Not(value) | PrimExpr::Cast { value, .. } | PrimExpr::Broadcast { value, .. } => visit(*value),
            PrimExpr::Select { cond, then, other } => [*cond, *then, *other].into_iter().for_each(visit),
            PrimExpr::Call { args, .. } | PrimExpr::Load { indices: args, .. } => args.iter().copied().for_each(visit),
            PrimExpr::Ramp { base, stride, .. } => [*base, *stride].into_iter().for_each(visit),
            PrimExpr::Let { value, body, .. } => [*value, *body].into_iter().for_each(visit),
        }
    }

    /// Makes the same expression over other operands, which `f` returns for the old ones in order.
    pub fn over(&self, f: &mut dyn FnMut(PrimId) -> PrimId) -> PrimExpr {
        let mut all = |list: &[PrimId]| list.iter().map(|id| f(*id)).collect();
        match *self {
            PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Str(_) => self.clone(),
            PrimExpr::Any | PrimExpr::Var(_) | PrimExpr::Data(_) | PrimExpr::Buffer(_) => self.clone(),
            PrimExpr::Reducer(_) | PrimExpr::Attrs(_) => self.clone(),
            PrimExpr::Shuffle { ref vectors, ref indices } => {
                let vectors = all(vectors);
                PrimExpr::Shuffle { vectors, indices: all(indices) }
            }
            PrimExpr::Call { op, ref args, dtype } => PrimExpr::Call { op, args: all(args), dtype },
            PrimExpr::Load { buffer, ref indices } => PrimExpr::Load { buffer, indices: all(indices) },
            PrimExpr::Binary { op, a, b } => PrimExpr::Binary { op, a: f(a), b: f(b) },
            PrimExpr::Not(value) => PrimExpr::Not(f(value)),
            PrimExpr::Cast { dtype, value } => PrimExpr::Cast { dtype, value: f(value) },
            PrimExpr::Broadcast { value, lanes } => PrimExpr::Broadcast { value: f(value), lanes },
            PrimExpr::Select { cond, then, other } => PrimExpr::Select { cond: f(cond), then: f(then), other: f(other) },
            PrimExpr::Ramp { base, stride, lanes } => PrimExpr::Ramp { base: f(base), stride: f(stride), lanes },
            PrimExpr::Let { var, value, body } => PrimExpr::Let { var, value: f(value), body: f(body) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_the_name_of_their_node() {
        assert_eq!(PrimOp::named("FloorMod"), Some(PrimOp::FloorMod));
        assert!(PrimOp::ALL.iter().all(|op| PrimOp::named(op.name()) == Some(*op)));
    }

    #[test]
    fn quotients_round_as_their_names_say() {
        assert_eq!([PrimOp::FloorDiv, PrimOp::Div].map(|op| op.fold(-7, 2)), [Some(-4), Some(-3)]);
        assert_eq!([PrimOp::FloorMod, PrimOp::Mod].map(|op| op.fold(-7, 2)), [Some(1), Some(-1)]);
        assert_eq!(PrimOp::FloorMod.fold(1, 0), None);
        assert_eq!(PrimOp::Div.fold(i64::MIN, -1), None);
    }
}
