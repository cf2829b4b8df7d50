//! The context passes run in.

use super::config::{self, Config};
use super::spec::{Literal, PassError};
use super::trace::Stage;
use crate::diag::DiagnosticContext;
use crate::ir::{Module, Store};

/// TVM's `PassContext`, as far as it is data: instruments belong to the runner that enters it. The fields for Relax's
/// tuning (`trace_stack`, `make_traceable`, `num_evals`, `tuning_api_database`) are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct PassContext {
    /// Passes of a higher level do not run inside a `Sequential`.
    pub opt_level: i64,
    /// Passes that run at any opt level.
    pub required: Vec<String>,
    /// Passes that do not run inside a `Sequential`, even when required.
    pub disabled: Vec<String>,
    /// Configuration, validated against the registry.
    pub config: Config,
}

impl Default for PassContext {
    fn default() -> Self {
        PassContext { opt_level: 2, required: Vec::new(), disabled: Vec::new(), config: Config::default() }
    }
}

/// Runs a list of passes, in call notation, inside of a pass.
pub type RunNested<'a> = dyn FnMut(&mut Store, &str, &Module) -> Result<Module, PassError> + 'a;

/// The arguments of a running pass.
pub struct PassCx<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// The context it runs in.
    pub context: &'a PassContext,
    /// Collects its findings. A pass that reported an error has failed.
    pub diagnostics: &'a mut DiagnosticContext,
    pub(super) printed: &'a mut Vec<String>,
    /// The stages of the pass, which become steps inside of its own.
    pub stages: &'a mut Vec<Stage>,
    pub(super) nested: &'a mut RunNested<'a>,
}

impl PassCx<'_> {
    /// Runs other passes on `module`, visible to instruments and as nested steps.
    pub fn run(&mut self, calls: &str, module: &Module) -> Result<Module, PassError> {
        (self.nested)(self.store, calls, module)
    }

    /// Prints a text into the log of the run.
    pub fn print(&mut self, text: String) {
        self.printed.push(text);
    }

    /// Returns a key of the configuration for passes over TIR, which earlier versions of TVM called `tir.X`.
    pub fn config_tir(&self, key: &str) -> Option<&Literal> {
        let earlier =
            |base: &str| self.context.config.get(&format!("tir.{}", if base == "StmtSimplify" { "Simplify" } else { base }));
        let base = key.strip_prefix("s_tir.").or_else(|| key.strip_prefix("tirx."));
        self.context.config.get(key).or_else(|| earlier(base?))
    }

    /// Returns a field of a key of the configuration that holds an object; its default if it is not set.
    pub fn config_field(&self, key: &str, field: &str) -> i64 {
        let given = match self.config_tir(key) {
            Some(Literal::Dict(entries)) => entries.iter().find(|(name, _)| matches!(name, Literal::Str(name) if name == field)),
            _ => None,
        };
        match given {
            Some((_, Literal::Int(i))) => *i,
            Some((_, Literal::Bool(b))) => i64::from(*b),
            _ => config::field_default(key, field),
        }
    }

    /// True if a key of the configuration for passes over TIR is set and true.
    pub fn config_flag(&self, key: &str) -> bool {
        matches!(self.config_tir(key), Some(Literal::Bool(true)) | Some(Literal::Int(1..)))
    }

    /// Returns an integer of the configuration.
    pub fn config_int(&self, key: &str, default: i64) -> i64 {
        match self.context.config.get(key) {
            Some(Literal::Int(i)) => *i,
            Some(Literal::Bool(b)) => i64::from(*b),
            _ => default,
        }
    }
}
