//! Runs passes of TIR over texts, for their tests.

use crate::infer::relax::infer_module;
use crate::ir::{Dialect, Module, Store};
use crate::pass::PassContext;
use crate::pass::call::{parse_calls, parse_literal};
use crate::pass::manager::{Registry, Row, Runner, resolve_in};
use crate::pass::trace::Trace;
use crate::passes::verified::verified;
use crate::print::{self, PrintOptions};
use crate::{parse, passes};

fn read(store: &mut Store, source: &str) -> Module {
    let parsed = parse::parse(store, source);
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}\n{source}", parsed.diagnostics);
    let Some(func) = parsed.program.expr else {
        return infer_module(store, &parsed.program.module).unwrap_or_else(|found| panic!("{found:?}\n{source}"));
    };
    let mut module = Module::of(Dialect::Relax);
    let name = store.name("f");
    module.set_function(name, func);
    module
}

fn runner(store: &mut Store, context: PassContext, source: &str, calls: &str) -> Runner {
    let module = read(store, source);
    let registry = Registry::from(passes::ALL).of(Dialect::Relax);
    let calls = parse_calls(calls).expect("calls");
    let rows: Vec<Row> =
        calls.iter().map(|call| Row { pass: resolve_in(&registry, call).expect("a pass"), enabled: true }).collect();
    let mut runner = Runner::new(registry, || 0.0, Trace::new(module));
    runner.enter(context, Vec::new()).expect("nothing refuses");
    runner.run_rows(store, &rows, 0, true);
    verified(store, &runner.trace);
    runner
}

/// Runs passes on a program or a single function, which is then called `f`, and returns the text.
pub(crate) fn after(source: &str, calls: &str) -> String {
    after_with(source, calls, &[])
}

/// Runs [`after`] with keys of the configuration and their values as literals of Python.
pub(crate) fn after_with(source: &str, calls: &str, config: &[(&str, &str)]) -> String {
    let config = config.iter().map(|(key, value)| ((*key).to_owned(), parse_literal(value).expect("a literal"))).collect();
    let store = &mut Store::new();
    let runner = runner(store, PassContext { config, ..PassContext::default() }, source, calls);
    assert!(runner.trace.is_complete(), "{:?}", runner.trace.failures());
    print::module(store, runner.trace.last(), &PrintOptions::default())
}

/// Returns the first line of the error.
pub(crate) fn error(source: &str, calls: &str) -> String {
    let store = &mut Store::new();
    let runner = runner(store, PassContext::default(), source, calls);
    runner.trace.failures().first().map(|found| found.message.clone()).unwrap_or_default()
}

/// Asserts that passes change nothing: the program that comes out is the one that went in.
pub(crate) fn unchanged(source: &str, calls: &str) {
    let store = &mut Store::new();
    let runner = runner(store, PassContext::default(), source, calls);
    assert!(runner.trace.is_complete(), "{:?}", runner.trace.failures());
    let changed = runner.trace.last() != &runner.trace.versions[0];
    assert!(!changed, "{}", print::module(store, runner.trace.last(), &PrintOptions::default()));
}
