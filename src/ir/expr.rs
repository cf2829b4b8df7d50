//! Expressions and their parts. All of it is flat data: children are ids.
//!
//! One type serves both dialects. `verify` decides which nodes a dialect allows where; see [`super::Dialect`].

use super::attrs::AttrsId;
use super::id::{Id, List};
use super::prim::PrimFunc;
use super::prim::{PrimId, StmtId};
use super::tensor::Tensor;
use super::ty::{DType, Dim, Symbol, TypeId};
use super::{AttrValue, Name};

/// Id of an [`Expr`]. Equal ids correspond to equal pointers in TVM.
pub type ExprId = Id<Expr>;
/// Id of a [`Var`]: the variable itself, not its name.
pub type VarId = Id<Var>;
/// Id of a [`Pattern`].
pub type PatternId = Id<Pattern>;
/// Id of a [`Ctor`].
pub type CtorId = Id<Ctor>;
/// Id of an [`Adt`].
pub type AdtId = Id<Adt>;

/// An operator: its row in `ops::ALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u16);

/// A node of the program. Never changed after it is made; its children are older than itself.
#[derive(Clone, Copy, Debug)]
pub enum Expr {
    /// Use of a variable. One node for a variable, so that equal ids have TVM's meaning.
    Var(VarId),
    /// Reference to a global function, by name. One node for a name.
    Global(Id<Name>),
    /// An operator. One node for an operator.
    Op(OpId),
    /// A constructor of an algebraic data type. One node for a constructor.
    Ctor(CtorId),
    /// A tensor known at compile time.
    Constant(Id<Tensor>),
    /// `(a, b)`
    Tuple(List<Expr>),
    /// `%t.0`
    TupleGetItem {
        /// The tuple.
        tuple: ExprId,
        /// The index of the field, from 0.
        index: u32,
    },
    /// `callee(args, attrs)`
    Call {
        /// An operator, global, constructor or any expression of function type.
        callee: ExprId,
        /// Arguments.
        args: List<Expr>,
        /// Attributes and type arguments.
        info: Option<Id<CallInfo>>,
    },
    /// `let %var = value; body`
    Let {
        /// The bound variable; in scope in `value` too if that is a function.
        var: VarId,
        /// Its value.
        value: ExprId,
        /// The expression in the scope of the variable.
        body: ExprId,
    },
    /// `if (cond) { then } else { other }`
    If {
        /// Scalar truth value.
        cond: ExprId,
        /// Value when true.
        then: ExprId,
        /// Value when false.
        other: ExprId,
    },
    /// A function literal, or the value of a global.
    Function(Id<Function>),
    /// `match (data) { pattern => body, }`
    Match {
        /// The matched value.
        data: ExprId,
        /// Arms in order.
        clauses: List<Clause>,
        /// True if the arms must be exhaustive: `match`, not `match?`.
        complete: bool,
    },
    /// `ref(value)`
    RefCreate(ExprId),
    /// `ref_read(reference)`
    RefRead(ExprId),
    /// `ref_write(reference, value)`
    RefWrite {
        /// The reference.
        reference: ExprId,
        /// The value it gets.
        value: ExprId,
    },
    /// Blocks of bindings, then a result (Relax's `SeqExpr`): the body of a function or a branch.
    Seq {
        /// Blocks in order.
        blocks: List<BindingBlock>,
        /// The result.
        body: ExprId,
    },
    /// `R.shape([n, 4])`: a shape as a value.
    Shape(Id<Dims>),
    /// A scalar as a value: `n + 1`, `T.float32(0.5)`. A variable of the program that holds one is an
    /// [`Expr::Var`].
    Prim(PrimId),
    /// `R.str("text")`
    Str(Id<Name>),
    /// `R.dtype("float32")`
    DataType(DType),
    /// `R.ExternFunc("symbol")`: a function that is linked in.
    Extern(Id<Name>),
    /// A function on scalars and buffers, which stands in a module beside the others.
    PrimFunc(Id<PrimFunc>),
    /// A statement of a function of TIR. Nothing refers to it as an expression: it is the statement's place among the
    /// nodes that have origins, lines and histories.
    Stmt(StmtId),
}

/// Extents in a row. Interned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dims(pub Box<[Dim]>);

/// One statement of a block of bindings (Relax's `VarBinding` and `MatchCast`).
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The bound variable.
    pub var: VarId,
    /// Its value.
    pub value: ExprId,
    /// `R.match_cast(value, type)`: the type that the value is checked against when it runs; symbolic
    /// extents in it are defined here.
    pub cast: Option<TypeId>,
}

/// Bindings that belong together (Relax's `BindingBlock` and `DataflowBlock`).
#[derive(Clone, Copy, Debug)]
pub struct BindingBlock {
    /// Bindings in order.
    pub bindings: List<Binding>,
    /// `with R.dataflow():`, where nothing has side effects or branches.
    pub dataflow: bool,
}

/// The properties of a call besides callee and arguments. Interned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallInfo {
    /// Attributes; null and a default set are different things.
    pub attrs: Option<AttrsId>,
    /// Type arguments of a call to a polymorphic function or constructor. Not kept for operators,
    /// where TVM's printer and equality do not look at them.
    pub type_args: Box<[TypeId]>,
}

/// A call, with its parts at hand. See [`super::Store::call`].
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The callee.
    pub callee: ExprId,
    /// Arguments.
    pub args: List<Expr>,
    /// Attributes.
    pub attrs: Option<AttrsId>,
    /// Attributes and type arguments together, for rebuilding.
    pub info: Option<Id<CallInfo>>,
}

/// A variable. Another type annotation makes another variable, as in TVM; both share their `vid`.
#[derive(Clone, Debug)]
pub struct Var {
    /// Name hint, not unique.
    pub name: Id<Name>,
    /// The first variable of this identity: itself, unless it was made from another by
    /// changing its annotation.
    pub vid: VarId,
    /// Type written in the program or filled in by InferType.
    pub annotation: Option<TypeId>,
    /// Type that InferType found (TVM's `checked_type`); prints as `/* ty=... */`.
    pub ty: Option<TypeId>,
    /// `{virtual_device=meta[VirtualDevice][0]}`
    pub device: Option<Id<super::Object>>,
    /// Visible in its own block of bindings only (Relax's `DataflowVar`).
    pub dataflow: bool,
    /// The symbolic extent that this variable is, when it holds a scalar: Relax lets a parameter
    /// `n: T.int64` stand in shapes.
    pub symbol: Option<Id<Symbol>>,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Parameters.
    pub params: List<Var>,
    /// Type parameters.
    pub type_params: List<TypeVar>,
    /// Result type, if written or inferred.
    pub ret: Option<TypeId>,
    /// Body.
    pub body: ExprId,
    /// `DictAttrs`, such as `Primitive=1`.
    pub attrs: Option<AttrsId>,
    /// `virtual_device=meta[VirtualDevice][0]`
    pub device: Option<Id<super::Object>>,
    /// True if it has no side effects. Only Relax writes it down, Relay's functions say `true`.
    pub pure: bool,
}

/// One arm of a match.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    /// The pattern to match.
    pub pattern: PatternId,
    /// Its value.
    pub body: ExprId,
}

/// The pattern of an arm of a match, with the variables that it binds.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// `_`
    Wildcard,
    /// `%x`
    Var(VarId),
    /// `Cons(p, q)`
    Ctor {
        /// The constructor.
        ctor: CtorId,
        /// Patterns of its fields.
        fields: List<Pattern>,
    },
    /// `(p, q)`
    Tuple(List<Pattern>),
}

/// A type parameter.
#[derive(Clone, Copy, Debug)]
pub struct TypeVar {
    /// Name.
    pub name: Id<Name>,
}

/// An algebraic data type (TVM's TypeData).
#[derive(Clone, Debug)]
pub struct Adt {
    /// Name.
    pub name: Id<Name>,
    /// Type parameters.
    pub type_params: Box<[Id<TypeVar>]>,
    /// Constructors in order; none for an `extern type`.
    pub ctors: Box<[CtorId]>,
    /// Declared by `extern type`.
    pub is_extern: bool,
}

/// A constructor of an algebraic data type.
#[derive(Clone, Debug)]
pub struct Ctor {
    /// Name.
    pub name: Id<Name>,
    /// Types of its fields.
    pub inputs: Box<[TypeId]>,
    /// Name of the type it belongs to.
    pub adt: Id<Name>,
    /// Its place among the constructors of that type.
    pub tag: u32,
}

/// An object of the metadata section that has no other form in the program, kept as it was read
/// (`VirtualDevice`, `runtime.BoxInt`, `Executor`). Compared by content, printed by identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// TVM's type key.
    pub key: Id<Name>,
    /// Named fields.
    pub fields: Box<[(Id<Name>, AttrValue)]>,
    /// Elements, for arrays.
    pub items: Box<[AttrValue]>,
    /// The value of a type that is written as a string: `runtime.BoxInt`, `runtime.String`.
    pub repr: Option<Box<str>>,
}

crate::words! {
    /// The kind of a node, without its contents. The words are TVM's names of the classes.
    pub enum ExprKind {
        /// A variable.
        Var = "Var",
        /// A function of the module, by name.
        Global = "GlobalVar",
        /// An operator.
        Op = "Op",
        /// A constructor of a data type.
        Ctor = "Constructor",
        /// A tensor.
        Constant = "Constant",
        /// A tuple.
        Tuple = "Tuple",
        /// A field of a tuple.
        TupleGetItem = "TupleGetItem",
        /// A call.
        Call = "Call",
        /// A binding of Relay.
        Let = "Let",
        /// A branch.
        If = "If",
        /// A function.
        Function = "Function",
        /// A match of Relay.
        Match = "Match",
        /// A new reference.
        RefCreate = "RefCreate",
        /// The value of a reference.
        RefRead = "RefRead",
        /// A write to a reference.
        RefWrite = "RefWrite",
        /// Blocks of bindings and their result.
        Seq = "SeqExpr",
        /// A shape.
        Shape = "ShapeExpr",
        /// A scalar.
        Prim = "PrimValue",
        /// A string.
        Str = "StringImm",
        /// An element type.
        DataType = "DataTypeImm",
        /// A function of the runtime.
        Extern = "ExternFunc",
        /// A tensor program.
        PrimFunc = "PrimFunc",
        /// A statement of a tensor program.
        Stmt = "Stmt",
    }
}

impl Expr {
    /// Returns the kind of the node, without its contents.
    pub fn kind(&self) -> ExprKind {
        match self {
            Expr::Var(_) => ExprKind::Var,
            Expr::Global(_) => ExprKind::Global,
            Expr::Op(_) => ExprKind::Op,
            Expr::Ctor(_) => ExprKind::Ctor,
            Expr::Constant(_) => ExprKind::Constant,
            Expr::Tuple(_) => ExprKind::Tuple,
            Expr::TupleGetItem { .. } => ExprKind::TupleGetItem,
            Expr::Call { .. } => ExprKind::Call,
            Expr::Let { .. } => ExprKind::Let,
            Expr::If { .. } => ExprKind::If,
            Expr::Function(_) => ExprKind::Function,
            Expr::Match { .. } => ExprKind::Match,
            Expr::RefCreate(_) => ExprKind::RefCreate,
            Expr::RefRead(_) => ExprKind::RefRead,
            Expr::RefWrite { .. } => ExprKind::RefWrite,
            Expr::Seq { .. } => ExprKind::Seq,
            Expr::Shape(_) => ExprKind::Shape,
            Expr::Prim(_) => ExprKind::Prim,
            Expr::Str(_) => ExprKind::Str,
            Expr::DataType(_) => ExprKind::DataType,
            Expr::Extern(_) => ExprKind::Extern,
            Expr::PrimFunc(_) => ExprKind::PrimFunc,
            Expr::Stmt(_) => ExprKind::Stmt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_twenty_bytes_and_an_optional_id_four() {
        assert_eq!(std::mem::size_of::<Expr>(), 20);
        assert_eq!(std::mem::size_of::<Option<ExprId>>(), 4);
    }
}
