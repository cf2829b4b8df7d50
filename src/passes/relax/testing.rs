//! Runs passes of Relax over texts, for their tests.

use crate::print::{self, PrintOptions};

/// What a call of a pass makes of a program, as text.
pub(super) fn after(source: &str, call: &str) -> String {
    let mut store = crate::ir::Store::new();
    let opened = crate::session::open(&mut store, source);
    assert!(opened.is_ok(), "{:?}", opened.diagnostics);
    let document = crate::session::document(source, call, crate::pass::PassContext::default()).expect("the call is one");
    let mut session = crate::session::Session::new(|| 0.0);
    session.run(&document, true);
    assert!(session.is_ok(), "{:?}", session.problems());
    let trace = session.trace();
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let last = trace.steps.last().map_or(0, |step| step.after);
    session.text(last, print::Numbering::Exact).unwrap_or_default()
}

#[test]
fn every_documented_example_is_what_the_pass_makes_and_stays_when_it_runs_again() {
    for spec in crate::passes::ALL.iter().filter(|spec| !spec.dialects.contains(&crate::ir::Dialect::Relay)) {
        let mut store = crate::ir::Store::new();
        let wanted = crate::session::open(&mut store, spec.example_after);
        assert!(wanted.is_ok(), "{:?}", wanted.diagnostics);
        let wanted = print::module(&store, &wanted.module, &PrintOptions::default());
        let once = format!("{}()", spec.name);
        assert_eq!(after(spec.example_before, &once), wanted, "{}", spec.name);
        assert_eq!(after(spec.example_before, &format!("{once}, {once}")), wanted, "{} twice", spec.name);
    }
}
