//! Instruments: what watches passes run (TVM's `PassInstrument`).

use super::spec::{PassError, PassInfo};
use crate::diag::Diagnostic;
use crate::ir::{Module, Store};
use crate::print::{self, PrintOptions};
use crate::verify;

/// Watches passes. Every hook does nothing by default.
///
/// The order, as TVM has it for a list of instruments:
///
/// ```text
/// enter_pass_ctx of each, in order       a failure exits those entered already, the last one first,
///                                        empties the list, and the context is not entered
/// for each pass that runs:
///     should_run of each                 all are asked, whatever the others say; not asked
///                                        for passes that the context requires
///     run_before_pass of each            only when all agree
///         the pass, with the passes nested in it
///     run_after_pass of each             not after a failure of the pass or of a hook
/// exit_pass_ctx of each, in order        after the context is left; a failure skips the rest
///                                        and empties the list
/// ```
pub trait Instrument {
    /// Its name.
    fn name(&self) -> &str;

    /// The context it belongs to is entered.
    fn enter_pass_ctx(&mut self) -> Result<(), PassError> {
        Ok(())
    }

    /// The context it belongs to is left.
    fn exit_pass_ctx(&mut self) -> Result<(), PassError> {
        Ok(())
    }

    /// Whether the pass may run. Not asked for passes the context requires.
    fn should_run(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<bool, PassError> {
        let _ = (store, module, info);
        Ok(true)
    }

    /// A pass is about to run. What is returned is logged.
    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }

    /// A pass has run and made `module`. What is returned is logged.
    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }
}

/// Names of the instruments that can be switched on. Timing is always measured; `PassTiming` logs it.
pub static BUILT_IN: &[&str] = &["PassTiming", "PrintBefore", "PrintAfter", "VerifyEach"];

/// The instrument of that name, where it needs hooks.
pub fn built_in(name: &str) -> Option<Box<dyn Instrument>> {
    match name {
        "PrintBefore" => Some(Box::new(PrintBefore)),
        "PrintAfter" => Some(Box::new(PrintAfter)),
        "VerifyEach" => Some(Box::new(VerifyEach)),
        _ => None,
    }
}

/// TVM's `str(module)`: no header, no metadata section.
fn module_text(store: &Store, module: &Module) -> String {
    print::module(store, module, &PrintOptions { header: false, metadata: false, ..PrintOptions::default() })
}

/// TVM's notation for a PassInfo.
pub fn describe(info: &PassInfo) -> String {
    let required: String = info.required.iter().map(|name| format!("{name}, ")).collect();
    let required = if required.is_empty() { "[]".to_owned() } else { format!("[\n{required}]") };
    format!("The meta data of the pass - pass name: {}, opt_level: {}, required passes: {required}\n", info.name, info.opt_level)
}

/// TVM's `PrintBeforeAll`.
struct PrintBefore;

impl Instrument for PrintBefore {
    fn name(&self) -> &str {
        "PrintBefore"
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        Ok(Some(format!("Before Running Pass: {}\n{}", describe(info), module_text(store, module))))
    }
}

/// TVM's `PrintAfterAll`.
struct PrintAfter;

impl Instrument for PrintAfter {
    fn name(&self) -> &str {
        "PrintAfter"
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        Ok(Some(format!("After Running Pass: {}\n{}", describe(info), module_text(store, module))))
    }
}

/// Fails the pass whose result is not a well-formed program.
struct VerifyEach;

impl Instrument for VerifyEach {
    fn name(&self) -> &str {
        "VerifyEach"
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let found: Vec<Diagnostic> = verify::verify(store, module).into_iter().filter(Diagnostic::is_error).collect();
        if found.is_empty() {
            return Ok(None);
        }
        let blame = format!("{} left an ill-formed program", info.name);
        Err(found.into_iter().map(|d| d.with_note(blame.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_info_prints_as_in_tvm() {
        let mut info = PassInfo { name: "FuseOps".into(), opt_level: 0, required: vec![] };
        assert_eq!(describe(&info), "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: []\n");
        info.required.push("InferType".into());
        assert_eq!(
            describe(&info),
            "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: [\nInferType, ]\n"
        );
    }
}
