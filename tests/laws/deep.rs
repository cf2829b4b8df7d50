//! A chain of 100,000 calls goes through everything: no stack overflow, and cost that grows with the
//! program and not faster.

use crate::{opened, run};
use passlab::eval::{self, EvalOptions};
use passlab::ir::Store;
use passlab::pass::trace::Trace;
use passlab::print::{self, PrintOptions};
use passlab::session::seeded_args;
use std::fmt::Write;

const DEPTH: usize = 100_000;

fn graph_chain(n: usize) -> String {
    let mut text = String::from("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = negative(%x);\n");
    for i in 1..n {
        let _ = writeln!(text, "  %{i} = negative(%{});", i - 1);
    }
    let _ = writeln!(text, "  %{}\n}}", n - 1);
    text
}

fn let_chain(n: usize) -> String {
    let mut text = String::from("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  let %v0 = negative(%x);\n");
    for i in 1..n {
        let _ = writeln!(text, "  let %v{i} = negative(%v{});", i - 1);
    }
    let _ = writeln!(text, "  %v{}\n}}", n - 1);
    text
}

/// Runs on a small stack, so that recursion over the program cannot hide in a large one.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(work).expect("a thread starts");
    thread.join().expect("it neither panics nor overflows");
}

fn through_everything(source: String) {
    on_a_small_stack(move || {
        let mut store = Store::new();
        let module = opened(&mut store, &source).module;
        let text = print::module(&store, &module, &PrintOptions::default());
        assert!(text.len() > source.len());
        let args = seeded_args(&mut store, &module, "main", 1).expect("one tensor");
        eval::eval_function(&mut store, &module, "main", &args, EvalOptions::default()).expect("it runs");
        let chain = store.n_exprs();
        for pass in passlab::passes::ALL
            .iter()
            .filter(|p| p.dialects.contains(&passlab::ir::Dialect::Relay))
            .filter(|p| p.params.iter().all(|p| !p.default.is_empty()))
            // TVM has no gradients of first order of bindings.
            .filter(|p| !(p.name == "FirstOrderGradient" && source.contains("let ")))
        {
            // TVM's EtaExpand refuses to run with both of its flags off, which are its defaults.
            let call = if pass.name == "EtaExpand" { "EtaExpand(expand_constructor=True)" } else { pass.name };
            let trace = run(&mut store, Trace::new(module.clone()), call);
            passlab::diff::diff(&store, &trace.versions[0], trace.last());
        }
        assert!(store.n_exprs() < chain * 60, "{} nodes from {chain}", store.n_exprs());
    });
}

#[test]
fn a_chain_of_a_hundred_thousand_calls_goes_through_everything() {
    through_everything(graph_chain(DEPTH));
}

#[test]
fn a_chain_of_a_hundred_thousand_lets_goes_through_everything() {
    through_everything(let_chain(DEPTH));
}
