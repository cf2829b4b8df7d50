//! Instruments, which watch passes run (TVM's `PassInstrument`).

use super::built_in;
use super::call::{PassCall, bind, parse_calls};
use super::spec::{Args, Param, PassError, PassInfo};
use crate::diag::Diagnostic;
use crate::ir::{Module, Store};

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
///
/// A failing hook or pass is thrown at once: no further hook of that pass is called, and the contexts are left.
pub trait Instrument {
    /// Returns its name: that of its class, in TVM.
    fn name(&self) -> &str;

    /// Called when its context is entered.
    fn enter_pass_ctx(&mut self) -> Result<(), PassError> {
        Ok(())
    }

    /// Called when its context is left.
    fn exit_pass_ctx(&mut self) -> Result<(), PassError> {
        Ok(())
    }

    /// True if the pass may run. Not asked for passes the context requires.
    fn should_run(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<bool, PassError> {
        let _ = (store, module, info);
        Ok(true)
    }

    /// Called before a pass runs. The result is logged.
    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }

    /// Called after a pass has run and made `module`. The result is logged.
    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }
}

/// An instrument as it is declared.
pub struct InstrumentSpec {
    /// Name, that of TVM's class where TVM has it.
    pub name: &'static str,
    /// The parameters, as TVM names them.
    pub params: &'static [Param],
    /// Its effect, in a sentence or two.
    pub doc: &'static str,
    /// Makes one. The text is the program as it was opened, which places refer to.
    pub make: fn(&Args, &str) -> Box<dyn Instrument>,
}

/// Returns the spec of an instrument. Early links have `PassTiming`, `PrintBefore` and `PrintAfter`.
pub fn lookup(name: &str) -> Option<&'static InstrumentSpec> {
    let name = match name {
        "PassTiming" => "PassTimingInstrument",
        "PrintBefore" => "PrintBeforeAll",
        "PrintAfter" => "PrintAfterAll",
        name => name,
    };
    built_in::ALL.iter().find(|spec| spec.name == name)
}

/// Makes an instrument from its call, `PassPrintingInstrument([], ["FuseOps"])`, for a program.
pub fn resolve(call: &str, source: &str) -> Result<Box<dyn Instrument>, Diagnostic> {
    let calls = parse_calls(call).map_err(|e| e.with_note(format!("in the instrument `{call}`")))?;
    let [call] = calls.as_slice() else {
        return Err(Diagnostic::error("pass-syntax", format!("`{call}` is not one instrument"), None));
    };
    let Some(spec) = lookup(&call.name) else {
        let error = Diagnostic::error("pass-instrument", format!("there is no instrument called `{}`", call.name), None);
        let names: Vec<&str> = built_in::ALL.iter().map(|spec| spec.name).collect();
        return Err(error.with_note(format!("there are {}", names.join(", "))));
    };
    Ok((spec.make)(&bind(spec.params, &PassCall { name: spec.name.to_owned(), args: call.args.clone() })?, source))
}

/// Returns TVM's notation for a PassInfo.
pub fn describe(info: &PassInfo) -> String {
    let required: String = info.required.iter().map(|name| format!("{name}, ")).collect();
    let required = if required.is_empty() { "[]".to_owned() } else { format!("[\n{required}]") };
    format!("The meta data of the pass - pass name: {}, opt_level: {}, required passes: {required}\n", info.name, info.opt_level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_info_prints_as_in_tvm() {
        let mut info = PassInfo { name: "FuseOps".into(), ..PassInfo::default() };
        assert_eq!(describe(&info), "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: []\n");
        info.required.push("InferType".into());
        assert_eq!(
            describe(&info),
            "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: [\nInferType, ]\n"
        );
    }

    #[test]
    fn instruments_are_called_like_passes() {
        let name = |call| resolve(call, "").map(|i| i.name().to_owned()).map_err(|e| e.message);
        assert_eq!(name("PassTiming"), Ok("PassTimingInstrument".into()));
        assert_eq!(name("PassPrintingInstrument([\"FuseOps\"], [])"), Ok("PassPrintingInstrument".into()));
        assert_eq!(name("Nosuch()"), Err("there is no instrument called `Nosuch`".into()));
        assert_eq!(name("VerifyEach(1)"), Err("VerifyEach takes no argument `number 1`".into()));
        assert_eq!(name("VerifyEach, DumpIR"), Err("`VerifyEach, DumpIR` is not one instrument".into()));
    }
}
