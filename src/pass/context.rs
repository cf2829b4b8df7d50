//! The context passes run in.

use super::spec::Literal;
use crate::diag::Diagnostic;
use crate::ir::Store;
use std::collections::BTreeMap;

/// TVM's `PassContext`, as far as it is data.
#[derive(Clone, Debug, PartialEq)]
pub struct PassContext {
    /// Passes of a higher level do not run inside a `Sequential`.
    pub opt_level: i64,
    /// Passes that run whatever the level.
    pub required: Vec<String>,
    /// Passes that do not run inside a `Sequential`, even when required.
    pub disabled: Vec<String>,
    /// Configuration, validated against the registry.
    pub config: BTreeMap<String, Literal>,
}

impl Default for PassContext {
    fn default() -> Self {
        PassContext { opt_level: 2, required: Vec::new(), disabled: Vec::new(), config: BTreeMap::new() }
    }
}

/// What a running pass gets.
pub struct PassCx<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// The context it runs in.
    pub context: &'a PassContext,
    /// Findings that do not make the pass fail.
    pub diagnostics: Vec<Diagnostic>,
}

impl PassCx<'_> {
    /// An integer of the configuration.
    pub fn config_int(&self, key: &str, default: i64) -> i64 {
        match self.context.config.get(key) {
            Some(Literal::Int(i)) => *i,
            Some(Literal::Bool(b)) => i64::from(*b),
            _ => default,
        }
    }
}
