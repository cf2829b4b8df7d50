//! A pass as it is declared: one static per pass, listed in `passes::ALL`.

use super::context::PassCx;
use crate::diag::Diagnostic;
use crate::ir::{Dialect, ExprId, Module};

/// The description of a pass for disabled lists, required lists, instruments and the opt level (TVM's `PassInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassInfo {
    /// TVM's name, which is not always that of the factory: `CombineParallelConv2d`.
    pub name: String,
    /// The level from which a `Sequential` runs it.
    pub opt_level: i64,
    /// Names of the passes a `Sequential` runs right before it.
    pub required: Vec<String>,
    /// True if Relax's tuning records its decisions itself. No pass of Relay does.
    pub traceable: bool,
}

/// A literal of the call notation, as in Python.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of Python's literals")]
pub enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

/// One parameter of a pass factory, with TVM's name.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name.
    pub name: &'static str,
    /// Default as a Python literal; empty when it must be given.
    pub default: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
}

impl Param {
    /// True if it takes all arguments without a name, as a list: one whose name begins with `*`.
    pub fn is_rest(&self) -> bool {
        self.name.starts_with('*')
    }
}

/// Returns a text of the explanation of a pass. In the engine of the page only the call above an example is left of it: the
/// rest would be a tenth of a pass's weight, and is needed only by those who open it. `cargo xtask build` writes all of them
/// to `www/pkg/docs.json`, from where the page loads them.
pub const fn explained(text: &'static str) -> &'static str {
    if cfg!(all(target_arch = "wasm32", not(test))) { comment_above(text) } else { text }
}

/// Returns the comment in the first line of an example; empty where there is none.
const fn comment_above(text: &'static str) -> &'static str {
    if !matches!(text.as_bytes(), [b'#', b' ', ..] | [b'/', b'/', b' ', ..]) {
        return "";
    }
    let mut end = 0;
    while end < text.len() && text.as_bytes()[end] != b'\n' {
        end += 1;
    }
    text.split_at(end).0
}

/// The arguments of a pass call: every parameter of its spec, in order, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Args(pub Vec<(&'static str, Literal)>);

impl Args {
    /// Returns the argument called `name`.
    pub fn get(&self, name: &str) -> &Literal {
        &self.0.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("the spec has no parameter `{name}`")).1
    }

    /// Returns an integer argument; truth values count as 0 and 1, anything else as 0.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Literal::Int(i) => *i,
            Literal::Bool(b) => i64::from(*b),
            _ => 0,
        }
    }

    /// Returns a truth value; integers count as in Python.
    pub fn bool(&self, name: &str) -> bool {
        self.int(name) != 0
    }

    /// Returns a string argument, if it is one.
    pub fn str(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Literal::Str(s) => Some(s),
            _ => None,
        }
    }
}

/// The error of a failed pass: findings with TVM's words.
pub type PassError = Vec<Diagnostic>;

/// The function that runs a pass.
#[derive(Clone, Copy)]
pub enum Run {
    /// On the whole module.
    Module(fn(&mut PassCx<'_>, &Module, &Args) -> Result<Module, PassError>),
    /// On each function: of Relay, that may be optimised, and InferType follows, as in TVM; of Relax, on all. Gets the
    /// module for reference and the function; returns the new function.
    Function(fn(&mut PassCx<'_>, &Module, ExprId, &Args) -> Result<ExprId, PassError>),
    /// On each function of TIR. Gets the module for reference and the function; returns the new function, or nothing
    /// when it is to be left out.
    PrimFunc(fn(&mut PassCx<'_>, &Module, ExprId, &Args) -> Result<Option<ExprId>, PassError>),
    /// The pass is a list of passes.
    Sequential(fn(&Args) -> Vec<Part>),
}

/// One of the passes that a [`Run::Sequential`] runs.
#[derive(Clone)]
pub enum Part {
    /// Another pass, in call notation.
    Call(String),
    /// One that exists only here. It gets the arguments of the whole.
    Inner(&'static Inner),
}

impl Part {
    /// Makes another pass, in call notation.
    pub fn call(text: impl Into<String>) -> Part {
        Part::Call(text.into())
    }
}

/// A part of a pass that instruments and lists of disabled passes see, and that no factory of TVM makes.
pub struct Inner {
    /// `PassInfo.name`.
    pub info_name: &'static str,
    /// `PassInfo.opt_level`.
    pub opt_level: i64,
    /// The function that runs it.
    pub run: Run,
}

crate::words! {
    /// The unit that a pass works on.
    pub enum PassKind {
        /// The module.
        Module = "module",
        /// Each function of Relay or Relax.
        Function = "function",
        /// Each function of TIR.
        PrimFunc = "primfunc",
        /// Each dataflow block of Relax.
        DataflowBlock = "dataflowblock",
        /// The module, by running other passes.
        Sequential = "sequential",
    }
}

impl Run {
    /// Returns the unit that the pass works on.
    pub fn kind(&self) -> PassKind {
        match self {
            Run::Module(_) => PassKind::Module,
            Run::Function(_) => PassKind::Function,
            Run::PrimFunc(_) => PassKind::PrimFunc,
            Run::Sequential(_) => PassKind::Sequential,
        }
    }
}

/// The dialects of a pass of Relay.
pub const RELAY: &[Dialect] = &[Dialect::Relay];
/// The dialects of a pass of Relax.
pub const RELAX: &[Dialect] = &[Dialect::Relax];
/// The dialects of a pass over functions of TIR.
pub const TIR: &[Dialect] = &[Dialect::Tir];
/// The dialects of a pass that does not look into functions.
pub const BOTH: &[Dialect] = &[Dialect::Relay, Dialect::Relax];

/// The declaration of a pass: its names, its opt level and its function.
#[derive(Clone, Copy)]
pub struct PassSpec {
    /// Name of TVM's factory function: `CombineParallelConv2D`. This is how it is written in lists.
    pub name: &'static str,
    /// `PassInfo.name`. A parameter in braces stands for its argument.
    pub info_name: &'static str,
    /// The dialects of the programs that it works on. Both dialects may have a pass of one name.
    pub dialects: &'static [Dialect],
    /// `PassInfo.opt_level`.
    pub opt_level: i64,
    /// `PassInfo.required`.
    pub required: &'static [&'static str],
    /// Parameters of the factory.
    pub params: &'static [Param],
    /// Configuration keys that it reads.
    pub config: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
    /// The patterns that it looks for, its preconditions, known divergences. Markdown paragraphs.
    pub doc: &'static str,
    /// A program before it; empty for passes whose effect is not visible. When the pass needs arguments, its first line
    /// is a comment with the call.
    pub example_before: &'static str,
    /// The same program after it, as it prints without type comments.
    pub example_after: &'static str,
    /// The function that runs it.
    pub run: Run,
}

impl PassSpec {
    /// Returns the call that a new row of a list begins with: that of the example if the pass requires arguments, else its
    /// name.
    pub fn example_call(&self) -> &'static str {
        let call = comment_above(self.example_before).trim_start_matches(['#', '/', ' ']);
        if call.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('(')) { call } else { self.name }
    }

    /// True if it is for programs of a dialect. Functions of TIR stand in programs of Relax.
    pub fn works_on(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect) || dialect == Dialect::Relax && self.dialects.contains(&Dialect::Tir)
    }
}
