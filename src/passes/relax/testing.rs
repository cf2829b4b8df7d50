//! Runs passes of Relax over texts, for their tests.

use crate::infer::relax::infer_module;
use crate::ir::{Dialect, Module, Store};
use crate::pass::PassContext;
use crate::pass::call::parse_calls;
use crate::pass::manager::{Registry, Row, Runner, resolve_in};
use crate::pass::trace::Trace;
use crate::passes::verified::verified;
use crate::print::{self, PrintOptions};
use crate::{parse, passes};

fn read(store: &mut Store, source: &str) -> Module {
    let parsed = parse::parse(store, source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}\n{source}", parsed.diagnostics);
    infer_module(store, &parsed.program.module).unwrap_or_else(|found| panic!("{found:?}\n{source}"))
}

/// Runs calls of passes on a program and returns it as text.
pub(super) fn after(source: &str, calls: &str) -> String {
    after_in(PassContext::default(), source, calls)
}

/// Does the same as [`after`] in a context.
pub(super) fn after_in(context: PassContext, source: &str, calls: &str) -> String {
    let store = &mut Store::new();
    let module = read(store, source);
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let calls = parse_calls(calls).expect("calls");
    let rows: Vec<Row> =
        calls.iter().map(|call| Row { pass: resolve_in(&registry, call).expect("a pass"), enabled: true }).collect();
    let mut runner = Runner::new(registry, || 0.0, Trace::new(module));
    runner.enter(context, Vec::new()).expect("nothing refuses");
    runner.run_rows(store, &rows, 0, true);
    assert!(runner.trace.is_complete(), "{:?}", runner.trace.failures());
    verified(store, &runner.trace);
    // The search for the span of any node must end.
    for (_, function) in runner.trace.last().functions() {
        for id in crate::ir::walk::post_order(store, *function) {
            let _ = store.source_span(id);
        }
    }
    print::module(store, runner.trace.last(), &PrintOptions::default())
}

/// Passes that do their work anew in every run, as in TVM: marks, checks of parameters, another gradient, other parameters.
const NOT_AGAIN: &[&str] = &[
    "s_tir.DecorateDeviceScope",
    "Schedule",
    "VMShapeLower",
    "Gradient",
    "BindParams",
    "BindSymbolicVars",
    "BundleModelParams",
    "MergeCompositeFunctions",
    "LazyGetInput",
    "LazySetOutput",
    "LiftTransformParams",
    "s_tir.InstrumentProfileIntrinsics",
    "s_tir.LowerAutoCopy",
    "s_tir.RemoveWeightLayoutRewriteBlock",
];

#[test]
fn every_documented_example_is_what_the_pass_makes_and_stays_when_it_runs_again() {
    for spec in passes::ALL.iter().filter(|spec| !spec.dialects.contains(&Dialect::Relay) && !spec.example_before.is_empty()) {
        let store = &mut Store::new();
        let wanted = read(store, spec.example_after);
        let wanted = print::module(store, &wanted, &PrintOptions::default());
        let once = spec.example_call();
        let made = after(spec.example_before, once);
        // TVM prints barriers with one argument and reads them with three.
        let wanted = if made.ends_with(spec.example_after.trim_end()) { made.clone() } else { wanted };
        assert_eq!(made, wanted, "{}", spec.name);
        if !NOT_AGAIN.contains(&spec.name) {
            assert_eq!(after(spec.example_before, &format!("{once}, {once}")), wanted, "{} twice", spec.name);
        }
    }
}
