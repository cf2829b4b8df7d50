//! The reasons for which indices are no independent sums of digits.

use crate::ir::PrimId;

/// A reason in TVM's words, with `{}` where an expression stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its words.
    pub text: &'static str,
    /// The expressions that it names.
    pub about: Vec<PrimId>,
}

impl Reason {
    /// Makes a reason that names expressions.
    pub fn about(text: &'static str, about: &[PrimId]) -> Reason {
        Reason { text, about: about.to_vec() }
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Reason {
        Reason { text, about: Vec::new() }
    }
}

/// A failure: its reasons, and the padding where the indices are sums of digits that depend on each other.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Each reason.
    pub reasons: Vec<Reason>,
    /// The condition of the added iterations, if they are known.
    pub padding: Option<PrimId>,
}

impl From<Vec<Reason>> for Failure {
    fn from(reasons: Vec<Reason>) -> Failure {
        Failure { reasons, padding: None }
    }
}

impl From<&'static str> for Failure {
    fn from(text: &'static str) -> Failure {
        vec![Reason::from(text)].into()
    }
}
