//! Buffers, statements and functions of TIR.

use super::PrimId;
use crate::ir::Name;
use crate::ir::attrs::AttrsId;
use crate::ir::id::{Id, List};
use crate::ir::ty::{DType, Symbol, TypeId};

/// Id of a [`Stmt`].
pub type StmtId = Id<Stmt>;

/// A piece of memory with a shape. Buffers have identity: two equal ones are two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Name hint.
    pub name: Id<Name>,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Box<[PrimId]>,
    /// Distances between neighbours along each axis, where they are not those of a packed buffer.
    pub strides: Box<[PrimId]>,
    /// The offset of the first element, if given; a variable of the buffer's own when it is not declared elsewhere.
    pub elem_offset: Option<PrimId>,
    /// A divisor of `elem_offset`; 1 by default.
    pub offset_factor: u32,
    /// The kind of memory: `global`, `shared`, `local`.
    pub scope: Id<Name>,
    /// Alignment in bytes; 64 by default.
    pub align: u32,
    /// The pointer, where it is a variable of its own (`data=p`).
    pub data: Option<PrimId>,
    /// The declared order of its elements.
    pub layout: BufferLayout,
}

impl Buffer {
    /// Makes a packed buffer with defaults for the rest.
    pub fn new(name: Id<Name>, dtype: DType, shape: Box<[PrimId]>, scope: Id<Name>) -> Buffer {
        Buffer {
            name,
            dtype,
            shape,
            strides: [].into(),
            elem_offset: None,
            offset_factor: 1,
            scope,
            align: 64,
            data: None,
            layout: BufferLayout::Unsaid,
        }
    }
}

/// The order of a buffer's elements, as the buffer says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BufferLayout {
    /// No declared order, as in functions that are `s_tir`; elsewhere it is written `layout=None`.
    #[default]
    Unsaid,
    /// One row behind the other (TVM's default `TileLayout`), as in functions that are not `s_tir`. One element in it is a
    /// scalar variable: see [`super::super::Store::is_scalar`].
    Rows,
    /// That of the buffer whose memory it uses: `A.view(4, 4)`.
    Parent,
}

/// Part of a buffer: for each axis where it begins and how far it goes; no extent is one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The buffer.
    pub buffer: Id<Buffer>,
    /// Beginning and extent along each axis.
    pub ranges: Box<[(PrimId, Option<PrimId>)]>,
}

/// The execution order of a loop's iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForKind {
    /// One after the other.
    Serial,
    /// `T.parallel`
    Parallel,
    /// `T.vectorized`
    Vectorized,
    /// `T.unroll`
    Unrolled,
    /// `T.thread_binding(n, thread="threadIdx.x")`
    Thread(Id<Name>),
}

impl ForKind {
    /// Returns TVM's word for it: `serial`, `unroll`.
    pub fn word(self) -> &'static str {
        match self {
            ForKind::Serial => "serial",
            ForKind::Parallel => "parallel",
            ForKind::Vectorized => "vectorized",
            ForKind::Unrolled => "unroll",
            ForKind::Thread(_) => "thread_binding",
        }
    }
}

/// The head of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct For {
    /// The variable.
    pub var: Id<Symbol>,
    /// Its first value.
    pub min: PrimId,
    /// The number of iterations.
    pub extent: PrimId,
    /// The increment of the variable, if not 1.
    pub step: Option<PrimId>,
    /// The execution order of the iterations.
    pub kind: ForKind,
    /// Hints for later passes.
    pub annotations: Option<AttrsId>,
}

/// The kind of iteration of a block's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IterKind {
    /// `S`: iterations are independent.
    Spatial,
    /// `R`: iterations are summed up.
    Reduce,
    /// Iterations have an order.
    Scan,
    /// Nothing is known.
    Opaque,
}

/// A variable of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterVar {
    /// The variable.
    pub var: Id<Symbol>,
    /// The kind of iteration.
    pub kind: IterKind,
    /// Its first value.
    pub min: PrimId,
    /// The number of values.
    pub extent: PrimId,
    /// The value bound to it outside of the block; none in a block that is not realized.
    pub value: Option<PrimId>,
}

/// A block of computation with its reads and writes (TVM's `SBlockRealize` and `SBlock`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name.
    pub name: Id<Name>,
    /// Its variables.
    pub iters: Box<[IterVar]>,
    /// The condition under which it runs; none means always.
    pub predicate: Option<PrimId>,
    /// The regions that it reads.
    pub reads: Box<[Region]>,
    /// The regions that it writes.
    pub writes: Box<[Region]>,
    /// Buffers that live in it.
    pub allocs: Box<[Id<Buffer>]>,
    /// Buffers that are parts of others.
    pub matches: Box<[(Id<Buffer>, Region)]>,
    /// Hints for later passes.
    pub annotations: Option<AttrsId>,
    /// The statement before the first iteration of a reduction.
    pub init: Option<StmtId>,
    /// The computation.
    pub body: StmtId,
    /// True if it stands without bindings of its variables (`no_realize=True`).
    pub bare: bool,
}

impl Block {
    /// A block around a statement, without variables, regions and buffers.
    pub fn around(name: Id<Name>, body: StmtId) -> Block {
        Block {
            name,
            iters: [].into(),
            predicate: None,
            reads: [].into(),
            writes: [].into(),
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        }
    }
}

/// The node that an [`Stmt::Attr`] annotates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttrNode {
    /// An expression, often a pointer or 0.
    Prim(PrimId),
    /// Nothing: `T.attr({"key": value})`.
    Nothing,
    /// An index of a thread: `T.launch_thread("threadIdx.x", n)`.
    Thread {
        /// The variable.
        var: Id<Symbol>,
        /// `threadIdx.x`
        tag: Id<Name>,
    },
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// One after the other.
    Seq(List<Stmt>),
    /// A loop.
    For(For, StmtId),
    /// A block.
    Block(Id<Block>),
    /// `A[i, j] = value`
    Store {
        /// The buffer.
        buffer: Id<Buffer>,
        /// The index along each axis.
        indices: Box<[PrimId]>,
        /// The stored value.
        value: PrimId,
    },
    /// `if cond: then else: other`
    If {
        /// Truth value.
        cond: PrimId,
        /// The statement for true.
        then: StmtId,
        /// The statement for false.
        other: Option<StmtId>,
    },
    /// `while cond: body`
    While {
        /// Truth value.
        cond: PrimId,
        /// The repeated statement.
        body: StmtId,
    },
    /// `x: T.let[T.int32] = value`: in scope in the following statements.
    Bind {
        /// The variable.
        var: Id<Symbol>,
        /// Its value.
        value: PrimId,
    },
    /// `with T.attr(node, "key", value): body`
    Attr {
        /// The annotated node.
        node: AttrNode,
        /// The name of the attribute.
        key: Id<Name>,
        /// The value.
        value: PrimId,
        /// The annotated statement.
        body: StmtId,
    },
    /// `A = T.alloc_buffer(..., annotations={...})`: in scope in the following statements.
    Alloc(Id<Buffer>, Option<AttrsId>),
    /// `A = T.decl_buffer(...)`: in scope in the following statements.
    Declare(Id<Buffer>),
    /// `assert cond, ("RuntimeError", ["message"])`
    Assert {
        /// Truth value.
        cond: PrimId,
        /// The kind of error.
        kind: Id<Name>,
        /// The parts of the message.
        parts: Box<[Id<Name>]>,
    },
    /// An expression for its effect.
    Evaluate(PrimId),
    /// `return value`
    Return(PrimId),
    /// `break`
    Break,
    /// `continue`
    Continue,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrimParam {
    /// A scalar or a pointer.
    Var(Id<Symbol>),
    /// A buffer.
    Buffer(Id<Buffer>),
}

/// A function on scalars and buffers (TVM's `PrimFunc`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimFunc {
    /// Parameters.
    pub params: Box<[PrimParam]>,
    /// Type of the result; nothing is returned where there is none.
    pub ret: Option<TypeId>,
    /// `DictAttrs`; `global_symbol` and `s_tir` stand here too.
    pub attrs: Option<AttrsId>,
    /// The body.
    pub body: StmtId,
}

impl Stmt {
    /// Returns the statements directly inside, except those of a sequence and of a block.
    pub fn nested(&self) -> [Option<StmtId>; 2] {
        match *self {
            Stmt::For(_, body) | Stmt::While { body, .. } | Stmt::Attr { body, .. } => [Some(body), None],
            Stmt::If { then, other, .. } => [Some(then), other],
            _ => [None, None],
        }
    }
}
