//! Instruments: what watches passes run (TVM's `PassInstrument`).

use super::spec::{PassError, PassInfo};
use crate::ir::{Module, Store};

/// Watches passes. Every hook does nothing by default.
///
/// For each pass that is not in the context's required list every instrument is asked `should_run`, whatever
/// the others said; when all agree, `before_pass` of each is called in order, the pass runs, and
/// `after_pass` of each is called in order. After a failure the remaining hooks are not called.
pub trait Instrument {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether the pass may run. Not asked for passes the context requires.
    fn should_run(&mut self, store: &Store, module: &Module, info: &PassInfo) -> Result<bool, PassError> {
        let _ = (store, module, info);
        Ok(true)
    }

    /// A pass is about to run. What is returned is logged.
    fn before_pass(&mut self, store: &Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }

    /// A pass has run and made `module`. What is returned is logged.
    fn after_pass(&mut self, store: &Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        let _ = (store, module, info);
        Ok(None)
    }
}

/// TVM's notation for a PassInfo.
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
        let mut info = PassInfo { name: "FuseOps".into(), opt_level: 0, required: vec![] };
        assert_eq!(describe(&info), "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: []\n");
        info.required.push("InferType".into());
        assert_eq!(
            describe(&info),
            "The meta data of the pass - pass name: FuseOps, opt_level: 0, required passes: [\nInferType, ]\n"
        );
    }
}
