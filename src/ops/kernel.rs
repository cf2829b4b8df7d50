//! Evaluation kernels: what an operator computes.

use crate::ir::{AttrsId, Store, Tensor, TypeId};

/// Why an operator could not be evaluated, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(pub String);

impl EvalError {
    /// An error with that sentence.
    pub fn new(message: impl Into<String>) -> EvalError {
        EvalError(message.into())
    }
}

/// What a kernel sees besides its inputs.
pub struct KernelCx<'a> {
    /// The session's memory, to read attributes and types.
    pub store: &'a Store,
    /// Attributes of the call.
    pub attrs: Option<AttrsId>,
    /// Type of the result as inferred. Extents may be unknown; then the inputs decide.
    pub out_type: TypeId,
}

/// Computes an operator. Inputs that are tuples come flattened in order; the result has one
/// tensor, or one for each field when the operator yields a tuple. Every input has a value.
pub type Kernel = fn(&KernelCx<'_>, &[Tensor]) -> Result<Vec<Tensor>, EvalError>;
