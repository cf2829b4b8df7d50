//! Every version that a pass makes is a program by the rules of its dialect, and its text is read as that program. Tests of
//! passes, files and TVM's cases ask for that.

use crate::ir::{Dialect, Module, Store};
use crate::pass::trace::Trace;
use crate::print::{self, PrintOptions};
use crate::{parse, verify};

/// Results of passes that break the rules, or are read as another program, in TVM too.
const AS_IN_TVM: &[(&str, &str)] = &[
    // A variable that the part behind the lifted one gives back is bound in the lifted one.
    ("LiftTransformParams", "relax-unbound-var"),
    ("PartitionTransformParams", "relax-unbound-var"),
    // They run behind RemovePurityChecking; tests run them alone.
    ("KillAfterLastUse", "relax-purity"),
    ("LowerRuntimeBuiltin", "relax-purity"),
    ("VMShapeLower", "relax-purity"),
    // The last of several calls says which shapes a function gets.
    ("SpecializePrimFuncBasedOnCallSite", "relax-call-tir"),
    // Attributes of a loop stand around it and name its variable.
    ("s_tir.LowerOpaqueBlock", "undefined variable"),
    // Attributes of a fragment stand around its allocation.
    ("s_tir.InferFragment", "no longer in-scope"),
    // The call that exchanges values names loops over threads, which stand outside of its block.
    ("s_tir.LowerCrossThreadReduction", "is defined outside of any block"),
    // The reader writes the two arguments of a barrier that are left out.
    ("s_tir.LowerThreadAllreduce", "tvm_storage_sync"),
    ("s_tir.ThreadSync", "tvm_storage_sync"),
];

/// Returns the first step of a trace that was given a program by the rules and made what is none, with the reason.
pub fn ill_formed(store: &mut Store, trace: &Trace) -> Option<String> {
    let why: Vec<Option<String>> = trace.versions.iter().map(|module| broken(store, module)).collect();
    trace.steps.iter().filter(|step| why[step.before].is_none()).find_map(|step| {
        let why = why[step.after].as_ref()?;
        let as_in_tvm = AS_IN_TVM.iter().any(|(pass, words)| *pass == step.name && why.contains(words));
        (!as_in_tvm)
            .then(|| format!("{} made what is no program: {why}\n{}", step.name, text(store, &trace.versions[step.after])))
    })
}

/// Asserts that there is none.
#[cfg(test)]
pub(crate) fn verified(store: &mut Store, trace: &Trace) {
    if let Some(why) = ill_formed(store, trace) {
        panic!("{why}");
    }
}

fn broken(store: &mut Store, module: &Module) -> Option<String> {
    if let Some(found) = verify::verify(store, module).into_iter().find(|found| found.is_error()) {
        return Some(format!("[{}] {}", found.code, found.message));
    }
    let text = text(store, module);
    let fresh = &mut Store::new();
    let parsed = parse::parse(fresh, &text);
    if let Some(found) = parsed.diagnostics.iter().find(|found| found.is_error()) {
        return Some(format!("its text is not read: [{}] {}", found.code, found.message));
    }
    let again = self::text(fresh, &parsed.program.module);
    let differs = text.lines().zip(again.lines()).find(|(a, b)| a != b);
    differs.map(|(a, b)| format!("its text is read as another program: {a} becomes {b}"))
}

/// The text with everything that a reader needs. Types of Relay are comments, which inference writes.
fn text(store: &Store, module: &Module) -> String {
    print::module(store, module, &PrintOptions { types: module.dialect() != Dialect::Relay, ..PrintOptions::default() })
}
