//! The program as data.
//!
//! A [`Store`] holds every node of every version of a session; a [`Module`] is one version: a few root ids. Nodes with
//! identity in TVM live in append-only arenas ([`Expr`], [`Var`], [`Function`], constants); those without are interned
//! ([`Type`], [`Attrs`], [`Name`], [`PrimExpr`]).
//!
//! Invariants, relied on everywhere:
//!
//! - I1: a node never changes after it is added, and neither does its inferred type.
//! - I2: every child is older (a smaller id) than its parent. So id order is a topological
//!   order, cycles cannot exist, and a scan over ids needs no recursion.
//! - I3: rebuilding a node over unchanged children gives the same id (TVM's `WithFields`).
//! - I4: in a well-formed version a variable is bound at most once. `verify` holds it.
//! - I5: ids mean something only with the store that made them.
//! - I6: a fact computed for a root id stays true for ever; caches need no invalidation.
//! - I7: a variable has one use node, and so have globals, operators and constructors. Equal ids
//!   mean what equal pointers mean in TVM: sharing is part of the program's meaning.
//! - No walk over program data uses the call stack. Types, patterns and statements of TIR nest at most as deep as the
//!   parser's limits on brackets and blocks and may be walked by recursion; scalar expressions, which may be chains of any length,
//!   may not.

mod attrs;
pub mod drive;
pub mod equal;
mod expr;
mod id;
mod intern;
mod map;
mod module;
mod origin;
mod prim;
pub mod rewrite;
mod show;
pub mod sort;
mod store;
mod tensor;
mod ty;
pub mod walk;

pub use attrs::{AttrValue, Attrs, AttrsId, Double};
pub use expr::{
    Adt, AdtId, Binding, BindingBlock, Call, CallInfo, Clause, Ctor, CtorId, Dims, Expr, ExprId, ExprKind, Function, Object,
    OpId, Pattern, PatternId, TypeVar, Var, VarId,
};
pub use id::{Id, IdMap, List};
pub use map::map_children;
pub use module::{Dialect, Module};
pub use origin::{Origin, Rewrite, RewriteId, RewriteLog};
pub use prim::{
    AttrNode, Block, Buffer, BufferLayout, For, ForKind, IterKind, IterVar, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam,
    Reducer, Region, Stmt, StmtId,
};
pub use show::{show_dim, show_relax_type, show_type};
pub use store::{Inferred, Kinds, MAX_TYPE_DEPTH, MAX_TYPE_SIZE, Mark, Mentions, Pointer, Store};
pub use tensor::Tensor;
pub use ty::{DType, DTypeCode, Dim, Extents, Symbol, TensorInfo, Type, TypeId};

/// An interned string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(pub Box<str>);
