//! Dataflow patterns (TVM's `tvm.relax.dpl` and `tvm.relay.dataflow_pattern`): patterns of expressions, and their matches.
//!
//! - [`Patterns`]: patterns, made bottom up. [`Pat`] names one of them; the same one in two places has to match the same
//!   expression.
//! - [`Matcher`]: matches an expression with a pattern, and returns the match of each part. Variables are followed to
//!   their values.
//! - [`Context`]: several patterns and the uses between them, matched in a block of bindings by [`match_graph`].
//!
//! ```
//! use passlab::ir::{Expr, Store};
//! use passlab::pattern::{Matcher, Patterns};
//!
//! let store = &mut Store::new();
//! let text = "@I.ir_module
//! class Module:
//!     @R.function
//!     def main(x: R.Tensor((2,), dtype=\"float32\")):
//!         y = R.exp(R.abs(x))
//!         return y
//! ";
//! let module = passlab::parse::parse(store, text).program.module;
//! let Expr::Function(main) = store.expr(module.functions()[0].1) else { panic!("a function") };
//! let Expr::Seq { blocks, .. } = store.expr(store.function(main).body) else { panic!("a sequence") };
//! let exp = store.bindings(blocks).last().unwrap().value;
//!
//! let mut patterns = Patterns::new();
//! let any = patterns.wildcard();
//! let abs = patterns.call_op("abs", &[any]);
//! let pattern = patterns.call_op("exp", &[abs]);
//! let bound = store.bindings(blocks).map(|binding| (binding.var, binding.value)).collect();
//! let found = Matcher::new(&patterns, &bound).matches(store, pattern, exp).unwrap();
//! assert!(matches!(store.expr(found.get(any).unwrap()), Expr::Var(_)));
//! ```
//!
//! Matching recurses along the pattern and never along the program. Sources: `src/relax/ir/dataflow_pattern.cc`,
//! `dataflow_matcher.cc`, `dataflow_block_rewriter.cc`; for Relay `src/relay/ir/dataflow_matcher.cc`.

mod graph;
mod matcher;
mod rare;

pub use graph::{Context, Edge, match_graph};
pub use matcher::{Bound, Matcher, Matches};

use crate::ir::{AttrValue, DType, Dim, ExprId, Id, OpId, TypeId};
use crate::ops::{self, OpPattern};
use std::sync::OnceLock;

/// A pattern of [`Patterns`].
pub type Pat = Id<Pattern>;

/// The form of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Anything.
    Wildcard,
    /// A variable, of this name where one is given.
    Var(Option<String>),
    /// A variable of a dataflow block.
    DataflowVar(Option<String>),
    /// A function of the module whose name contains this.
    Global(String),
    /// A linked function, of this name where one is given.
    Extern(Option<String>),
    /// A constant tensor.
    Constant,
    /// An operator.
    Op(OpId),
    /// An operator that is fused like this (`has_attr` of `TOpPattern`).
    OpKind(OpPattern),
    /// An expression that is structurally equal to this.
    Expr(ExprId),
    /// A call. Sums and products match with their operands swapped too.
    Call {
        /// The pattern of the callee.
        callee: Pat,
        /// Arguments.
        args: Vec<Pat>,
        /// True if more arguments may follow.
        more: bool,
    },
    /// One call or more of an operator, each over the first argument of the one before, down to what `end` matches: a
    /// pattern that contains itself, in TVM.
    Chain {
        /// The operator.
        op: OpId,
        /// The pattern below the last call.
        end: Pat,
    },
    /// A function.
    Function {
        /// Its parameters; any where none are given.
        params: Option<Vec<Pat>>,
        /// Its body.
        body: Pat,
    },
    /// A tuple of these fields.
    Tuple(Vec<Pat>),
    /// A tuple of these fields in any order.
    UnorderedTuple(Vec<Pat>),
    /// A field of a tuple.
    TupleGetItem {
        /// The tuple.
        tuple: Pat,
        /// The index of the field; any if `None`.
        index: Option<u32>,
    },
    /// One of two, the first preferred.
    Or(Pat, Pat),
    /// Both.
    And(Pat, Pat),
    /// Anything else.
    Not(Pat),
    /// With these attributes, of a call or function.
    Attrs(Pat, Vec<(String, AttrValue)>),
    /// With a type that fits.
    Type(Pat, TypeId),
    /// A tensor with this shape.
    Shape(Pat, Vec<Dim>),
    /// A tensor with this element type.
    DType(Pat, DType),
    /// `R.shape` of these extents.
    Extents(Vec<Dim>),
}

/// Patterns, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    nodes: Vec<Pattern>,
    given_up: OnceLock<()>,
}

/// The reason of a match that was given up.
pub const TOO_MANY_STEPS: &str = "takes too many steps to match here: TVM tries every order of operands, too";

impl Patterns {
    /// Makes an empty table of patterns.
    pub fn new() -> Patterns {
        Patterns::default()
    }

    /// Adds a pattern.
    pub fn add(&mut self, pattern: Pattern) -> Pat {
        self.nodes.push(pattern);
        Id::from_index(self.nodes.len() - 1)
    }

    /// Returns the pattern of an id.
    pub fn get(&self, pat: Pat) -> &Pattern {
        &self.nodes[pat.index()]
    }

    /// True if a match of one of them was given up: that it was not found says nothing, and the user is told [`TOO_MANY_STEPS`].
    pub fn gave_up(&self) -> bool {
        self.given_up.get().is_some()
    }

    fn give_up(&self) {
        self.given_up.get_or_init(|| ());
    }

    /// Returns the number of patterns.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a pattern that matches anything.
    pub fn wildcard(&mut self) -> Pat {
        self.add(Pattern::Wildcard)
    }

    /// Adds a pattern of a constant tensor (`is_const`).
    pub fn constant(&mut self) -> Pat {
        self.add(Pattern::Constant)
    }

    /// Adds a pattern of the operator with that name (`is_op`) in Relax, without `relax.`. An unknown name matches no operator.
    pub fn op(&mut self, name: &str) -> Pat {
        match ops::lookup_relax(name) {
            Some(op) => self.add(Pattern::Op(op)),
            None => {
                let any = self.wildcard();
                self.add(Pattern::Not(any))
            }
        }
    }

    /// Adds a pattern of a call with these arguments.
    pub fn call(&mut self, callee: Pat, args: &[Pat]) -> Pat {
        self.add(Pattern::Call { callee, args: args.to_vec(), more: false })
    }

    /// Adds a pattern of a call of the operator of that name.
    pub fn call_op(&mut self, name: &str, args: &[Pat]) -> Pat {
        let op = self.op(name);
        self.call(op, args)
    }

    /// Adds a pattern of a call of the operator of that name with at least these arguments.
    pub fn call_op_with_more(&mut self, name: &str, args: &[Pat]) -> Pat {
        let callee = self.op(name);
        self.add(Pattern::Call { callee, args: args.to_vec(), more: true })
    }

    /// Adds a pattern of a tuple of these fields.
    pub fn tuple(&mut self, fields: &[Pat]) -> Pat {
        self.add(Pattern::Tuple(fields.to_vec()))
    }

    /// Adds a pattern of a field of a tuple.
    pub fn item(&mut self, tuple: Pat, index: Option<u32>) -> Pat {
        self.add(Pattern::TupleGetItem { tuple, index })
    }

    /// Adds a pattern of one of these, the first that matches.
    pub fn either(&mut self, first: Pat, second: Pat) -> Pat {
        self.add(Pattern::Or(first, second))
    }

    /// Copies a pattern; the copy may match another expression.
    pub fn duplicate(&mut self, pat: Pat) -> Pat {
        let copy = self.get(pat).clone();
        self.add(copy)
    }
}

#[cfg(test)]
mod tests;
