//! The syntax tree: a text before its names are resolved.
//!
//! Nodes stand in flat pools, children before parents; an [`Id`] or a [`List`] is a place in the pool of its type, read
//! with the methods of [`Tree`]. Names, numbers and strings are places in the text; their values are read on demand
//! ([`Tree::name`], [`Tree::int`], [`Tree::string`]).
//!
//! Depth: blocks nest at most [`MAX_BLOCKS`](super::MAX_BLOCKS) deep and expressions [`MAX_DEPTH`](super::MAX_DEPTH),
//! so both may be walked by recursion, *except* along [`Expr::Binary`]'s `left`, which is as long as the text's `a + b
//! + c + ...`.

use super::value;
use crate::diag::Span;
use crate::ir::{Id, List, PrimOp};
use std::borrow::Cow;

/// An expression.
#[derive(Clone, Copy, Debug)]
pub enum Expr {
    /// `x`
    Name,
    /// `12`, `0x1f`, `1_000`
    Int,
    /// `1.5`, `1e-5`
    Float,
    /// `"text"`; also several that stand one behind the other.
    Str,
    /// `True`
    True,
    /// `False`
    False,
    /// `None`
    None,
    /// `...`
    Ellipsis,
    /// `value.name`
    Attribute { value: Id<Expr>, name: Span },
    /// `callee(args)`
    Call { callee: Id<Expr>, args: List<Arg> },
    /// `value[items]`. `a[(1, 2)]` has one item, a tuple, which means the same as two.
    Subscript { value: Id<Expr>, items: List<Id<Expr>> },
    /// `lower:upper:step` inside of a subscript.
    Slice { lower: Option<Id<Expr>>, upper: Option<Id<Expr>>, step: Option<Id<Expr>> },
    /// `(a, b)`, `()`, and `a, b` where a tuple may stand without parentheses.
    Tuple(List<Id<Expr>>),
    /// `[a, b]`
    List(List<Id<Expr>>),
    /// `{k: v}`: keys and values in turn.
    Dict(List<Id<Expr>>),
    /// `-a`
    Unary { op: Unary, value: Id<Expr> },
    /// `a + b`, comparisons, `a and b`. Longer chains lean to the left, and `a < b < c` is
    /// `a < b and b < c` with one `b`.
    Binary { op: Binary, left: Id<Expr>, right: Id<Expr> },
    /// `then if cond else other`
    If { cond: Id<Expr>, then: Id<Expr>, other: Id<Expr> },
    /// `lambda x, y: body`
    Lambda { params: List<Param>, body: Id<Expr> },
    /// `*value` in a tuple or list.
    Starred(Id<Expr>),
}

/// Operators before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Pos,
    Invert,
    Not,
}

/// Operators between operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    In,
    NotIn,
    Is,
    IsNot,
    And,
    Or,
}

impl Binary {
    /// Returns the operator on scalars that it is, if there is one.
    pub fn prim_op(self) -> Option<PrimOp> {
        Some(match self {
            Binary::Add => PrimOp::Add,
            Binary::Sub => PrimOp::Sub,
            Binary::Mul => PrimOp::Mul,
            Binary::Div => PrimOp::Div,
            Binary::FloorDiv => PrimOp::FloorDiv,
            Binary::Mod => PrimOp::FloorMod,
            Binary::Lt => PrimOp::Lt,
            Binary::Le => PrimOp::Le,
            Binary::Gt => PrimOp::Gt,
            Binary::Ge => PrimOp::Ge,
            Binary::Eq => PrimOp::Eq,
            Binary::Ne => PrimOp::Ne,
            Binary::And => PrimOp::And,
            Binary::Or => PrimOp::Or,
            _ => return None,
        })
    }
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The place of `name` in `name=value`; empty without one.
    pub(super) name: Span,
    /// The number of stars before it: `*value`, `**value`.
    pub stars: u8,
    /// The argument.
    pub value: Id<Expr>,
}

impl Arg {
    /// Makes an argument without a name.
    pub fn positional(value: Id<Expr>) -> Arg {
        Arg { name: Span { start: 0, end: 0 }, stars: 0, value }
    }

    /// Returns the place of `name` in `name=value`.
    pub fn name(&self) -> Option<Span> {
        (self.name.start < self.name.end).then_some(self.name)
    }
}

/// A statement with its place. The place of one with a block is that of its head.
#[derive(Clone, Copy, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

/// The kind of a statement.
#[derive(Clone, Copy, Debug)]
pub enum StmtKind {
    /// `target = value`
    Assign {
        target: Id<Expr>,
        value: Id<Expr>,
    },
    /// `target: annotation = value`
    Annotated {
        target: Id<Expr>,
        annotation: Id<Expr>,
        value: Option<Id<Expr>>,
    },
    /// `target += value`
    Augmented {
        target: Id<Expr>,
        op: Binary,
        value: Id<Expr>,
    },
    /// `value`
    Expr(Id<Expr>),
    Return(Option<Id<Expr>>),
    Pass,
    Break,
    Continue,
    /// `assert cond, message`
    Assert {
        cond: Id<Expr>,
        message: Option<Id<Expr>>,
    },
    /// `with a as b, c:`
    With {
        items: List<WithItem>,
        body: List<Stmt>,
    },
    /// `for target in iter:`
    For {
        target: Id<Expr>,
        iter: Id<Expr>,
        body: List<Stmt>,
    },
    While {
        cond: Id<Expr>,
        body: List<Stmt>,
    },
    /// `if`, `elif` ..., `else`, which is empty where there is none.
    If {
        arms: List<Arm>,
        other: List<Stmt>,
    },
    Def(Id<Def>),
    Class(Id<Class>),
    /// `from module import names` or `import names`
    Import {
        module: Span,
        names: List<Imported>,
    },
    /// A statement with a reported error. Marks the block as incomplete.
    Broken,
}

/// `if cond:` or `elif cond:` with its block.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub cond: Id<Expr>,
    pub body: List<Stmt>,
}

/// `context as target`
#[derive(Clone, Copy, Debug)]
pub struct WithItem {
    pub context: Id<Expr>,
    pub target: Option<Id<Expr>>,
}

/// `name as alias`; the alias is the name itself where none is written.
#[derive(Clone, Copy, Debug)]
pub struct Imported {
    pub name: Span,
    pub alias: Span,
}

/// A parameter of a function or lambda, or a type parameter (`n` or `n: int`).
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: Span,
    /// The number of stars before it.
    pub stars: u8,
    pub annotation: Option<Id<Expr>>,
    pub default: Option<Id<Expr>>,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    pub name: Span,
    pub decorators: List<Id<Expr>>,
    pub type_params: List<Param>,
    pub params: List<Param>,
    pub ret: Option<Id<Expr>>,
    pub body: List<Stmt>,
    /// True if a part of it has a reported error.
    pub broken: bool,
    /// From its first decorator to the end of its body.
    pub span: Span,
    /// Its expressions, by the first index and the one behind the last.
    pub exprs: (u32, u32),
}

impl Def {
    /// Stands for a signature with an error.
    pub(super) const EMPTY: Def = Def {
        name: Span { start: 0, end: 0 },
        decorators: List::EMPTY,
        type_params: List::EMPTY,
        params: List::EMPTY,
        ret: None,
        body: List::EMPTY,
        broken: false,
        span: Span { start: 0, end: 0 },
        exprs: (0, 0),
    };
}

/// A class.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    pub name: Span,
    pub decorators: List<Id<Expr>>,
    pub bases: List<Arg>,
    pub body: List<Stmt>,
}

/// The pools of a tree and the text they are about.
#[derive(Debug, Default)]
pub struct Tree<'s> {
    pub source: &'s str,
    /// The statements of the file.
    pub top: List<Stmt>,
    /// Comments that begin a line: the header and `# Metadata omitted`.
    pub comments: Vec<Span>,
    pub(super) exprs: Vec<Expr>,
    pub(super) spans: Vec<Span>,
    /// Of each expression, how deep it is, the left sides of binary operators not counted.
    pub(super) depths: Vec<u16>,
    pub(super) items: Vec<Id<Expr>>,
    pub(super) args: Vec<Arg>,
    pub(super) params: Vec<Param>,
    pub(super) stmts: Vec<Stmt>,
    pub(super) arms: Vec<Arm>,
    pub(super) with_items: Vec<WithItem>,
    pub(super) imports: Vec<Imported>,
    pub(super) defs: Vec<Def>,
    pub(super) classes: Vec<Class>,
    /// The functions that a reader takes for macros, once it has asked.
    pub macros: std::cell::OnceCell<Vec<Id<Def>>>,
    /// True if the whole source is of an older TVM, once a reader has asked.
    pub older: std::cell::OnceCell<bool>,
}

impl<'s> Tree<'s> {
    pub fn expr(&self, id: Id<Expr>) -> Expr {
        self.exprs[id.index()]
    }

    /// Returns the place of an expression.
    pub fn span(&self, id: Id<Expr>) -> Span {
        self.spans[id.index()]
    }

    /// Returns the number of expressions: all ids are below.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    pub fn items(&self, list: List<Id<Expr>>) -> &[Id<Expr>] {
        &self.items[list.range()]
    }

    pub fn args(&self, list: List<Arg>) -> &[Arg] {
        &self.args[list.range()]
    }

    pub fn params(&self, list: List<Param>) -> &[Param] {
        &self.params[list.range()]
    }

    pub fn stmts(&self, list: List<Stmt>) -> &[Stmt] {
        &self.stmts[list.range()]
    }

    pub fn arms(&self, list: List<Arm>) -> &[Arm] {
        &self.arms[list.range()]
    }

    pub fn with_items(&self, list: List<WithItem>) -> &[WithItem] {
        &self.with_items[list.range()]
    }

    pub fn imports(&self, list: List<Imported>) -> &[Imported] {
        &self.imports[list.range()]
    }

    /// Returns all functions, those inside of others too.
    pub fn def_ids(&self) -> impl Iterator<Item = Id<Def>> + use<> {
        (0..self.defs.len()).map(Id::from_index)
    }

    pub fn def(&self, id: Id<Def>) -> &Def {
        &self.defs[id.index()]
    }

    pub fn class(&self, id: Id<Class>) -> &Class {
        &self.classes[id.index()]
    }

    /// Returns the text of a place.
    pub fn text(&self, span: Span) -> &'s str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Returns the name, when the expression is one.
    pub fn name(&self, id: Id<Expr>) -> Option<&'s str> {
        matches!(self.expr(id), Expr::Name).then(|| self.text(self.span(id)))
    }

    /// Returns `R.nn.relu`, when the expression is names with dots between; as written, which in practice has no
    /// blanks.
    pub fn dotted(&self, id: Id<Expr>) -> Option<&'s str> {
        let mut at = id;
        while let Expr::Attribute { value, .. } = self.expr(at) {
            at = value;
        }
        // Parentheses around a part of it would be part of the text.
        let plain = matches!(self.expr(at), Expr::Name) && self.span(at).start == self.span(id).start;
        plain.then(|| self.text(self.span(id)))
    }

    /// Returns the value of a whole number, also of one with a sign. Nothing when it is beyond 128 bits.
    pub fn int(&self, id: Id<Expr>) -> Option<i128> {
        match self.expr(id) {
            Expr::Int => value::int(self.text(self.span(id))),
            Expr::Unary { op: Unary::Neg, value } => self.int(value).map(|v| -v),
            _ => None,
        }
    }

    /// Returns the value of a floating point number, also of one with a sign.
    pub fn float(&self, id: Id<Expr>) -> Option<f64> {
        match self.expr(id) {
            Expr::Float => value::float(self.text(self.span(id))),
            Expr::Unary { op: Unary::Neg, value } => self.float(value).map(|v| -v),
            _ => None,
        }
    }

    /// Returns the value of a string. Unknown escapes stand for themselves, as in Python.
    pub fn string(&self, id: Id<Expr>) -> Option<Cow<'s, str>> {
        matches!(self.expr(id), Expr::Str).then(|| value::string(self.text(self.span(id))))
    }

    /// Returns the value of `True` or `False`.
    pub fn bool(&self, id: Id<Expr>) -> Option<bool> {
        match self.expr(id) {
            Expr::True => Some(true),
            Expr::False => Some(false),
            _ => None,
        }
    }
}
