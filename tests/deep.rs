//! Tests that programs 100,000 calls, bindings, statements or operators deep pass every stage on a small stack, at a
//! cost that grows with the program and not faster. Costs are counted in nodes, since a clock in a test is not to be
//! trusted.
//!
//! Not part of a plain `cargo test`: unoptimised this takes minutes. `cargo xtask test deep` runs it over the engine of the
//! page, in Node; `cargo test --release --test deep` natively.

use passlab::diag::Diagnostic;
use passlab::diff::diff;
use passlab::eval::{self, EvalOptions};
use passlab::infer::infer_module;
use passlab::ir::{Dialect, Module, Store};
use passlab::pass::manager::{Registry, Row, Runner, resolve_in};
use passlab::pass::trace::Trace;
use passlab::pass::{PassContext, PassSpec, call::parse_calls};
use passlab::passes;
use passlab::print::{self, Naming, PrintOptions};
use passlab::session::{open, seeded_args};
use passlab::verify::verify;
use std::fmt::Write;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const DEPTH: usize = 100_000;

/// The stack for all of it natively: a quarter of that of a worker in a browser, which Node has, too.
#[cfg(not(target_arch = "wasm32"))]
const STACK: usize = 256 << 10;

/// Nodes that all passes of a dialect together may make for each node of the program, were each to rebuild it all a few times.
const NODES_MADE: usize = 100;

/// Makes a text of `DEPTH` lines, each over the one before.
fn chain(head: &str, line: impl Fn(usize) -> String, tail: &str) -> String {
    let mut text = String::from(head);
    for i in 1..DEPTH {
        let _ = writeln!(text, "{}", line(i));
    }
    text + tail
}

fn relay(first: &str, line: impl Fn(usize) -> String, last: &str) -> String {
    chain(
        &format!("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {{\n  {first}\n"),
        line,
        &format!("  {last}\n}}\n"),
    )
}

const RELAX_HEAD: &str = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    \
    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n";

const TIR_HEAD: &str = "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n    \
    @T.prim_func\n    def main(A: T.Buffer((2,), \"float32\"), B: T.Buffer((2,), \"float32\")):\n";

/// Passes that look for a function `main` of Relax.
const WANT_A_FUNCTION_OF_RELAX: &[&str] = &["MergeCompositeFunctions", "SplitLayoutRewritePreproc"];

/// Returns the passes over a program of a dialect that need no arguments.
fn passes_of(dialect: Dialect) -> impl Iterator<Item = &'static PassSpec> {
    passes::ALL
        .iter()
        .copied()
        .filter(move |pass| pass.dialects.contains(&dialect))
        .filter(|pass| pass.params.iter().all(|param| !param.default.is_empty()))
}

/// Opens, prints, runs and passes through every pass; passes of `refused` end in an error, as in TVM, or leave a program that
/// is ill-formed.
fn through_everything(source: String, refused: &'static [&'static str]) {
    #[cfg(target_arch = "wasm32")]
    on_this_stack(&source, refused);
    #[cfg(not(target_arch = "wasm32"))]
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || on_this_stack(&source, refused))
        .expect("a thread starts")
        .join()
        .expect("it neither panics nor overflows");
}

fn on_this_stack(source: &str, refused: &[&str]) {
    let mut store = Store::new();
    let opened = open(&mut store, source);
    assert!(opened.is_ok(), "{:?}", opened.diagnostics.first());
    let module = opened.module;
    let text = print::module(&store, &module, &PrintOptions::default());
    assert!(text.len() + 200 > source.len(), "{} bytes of {}", text.len(), source.len());
    // Arguments are made up for functions of Relay and Relax.
    if let Ok(args) = seeded_args(&mut store, &module, "main", 1) {
        eval::eval_function(&mut store, &module, "main", &args, EvalOptions::default()).expect("it runs");
    }
    let size = store.n_nodes();
    let (mut n_passes, mut failed) = (0, Vec::new());
    let (mut n_unchanged, mut n_changed) = (0, 0);
    for pass in passes_of(module.dialect()) {
        // TVM's EtaExpand refuses to run with both of its flags off, which are its defaults.
        let call = if pass.name == "EtaExpand" { "EtaExpand(expand_constructor=True)" } else { pass.name };
        let trace = run(&mut store, Trace::new(module.clone()), call);
        let unchanged = trace.versions.len() == 1;
        if !trace.is_complete() || !unchanged && !is_well_formed(&mut store, trace.last()) {
            failed.push(pass.name);
        }
        // Half of the time would go into diffs, which differ in what they say and not in how deep they go: of programs that
        // a pass left as they are one is made, of others each third.
        let alike = if unchanged { &mut n_unchanged } else { &mut n_changed };
        if *alike == 0 || !unchanged && *alike % 3 == 0 {
            diff(&store, &Naming::of(&store, &trace.versions), &trace.versions[0], trace.last());
        }
        *alike += 1;
        n_passes += 1;
    }
    let made = store.n_nodes();
    assert_eq!(failed, refused);
    assert!(n_passes > 10 && made < size * NODES_MADE, "{made} nodes from {size}");
}

fn is_well_formed(store: &mut Store, module: &Module) -> bool {
    !verify(store, module).iter().any(Diagnostic::is_error) && infer_module(store, module).is_ok()
}

/// Runs a call directly. The instrument VerifyEach would verify the same program before each call.
fn run(store: &mut Store, trace: Trace, call: &str) -> Trace {
    let context = PassContext { opt_level: 4, ..PassContext::default() };
    let registry = Registry::from(passes::ALL).of(trace.last().dialect());
    let calls = parse_calls(call).expect("a call");
    let rows: Vec<Row> =
        calls.iter().map(|call| Row { pass: resolve_in(&registry, call).expect("it exists"), enabled: true }).collect();
    let mut runner = Runner::new(registry, || 0.0, trace);
    runner.enter(context, Vec::new()).expect("no instrument refuses");
    runner.run_rows(store, &rows, 0, true);
    runner.trace
}

#[test]
fn calls_of_relay_in_a_graph() {
    let line = |i| format!("  %{i} = negative(%{});", i - 1);
    // There is no continuation.
    through_everything(relay("%0 = negative(%x);", line, &format!("%{}", DEPTH - 1)), &["UnCPS"]);
}

#[test]
fn bindings_of_relay() {
    let line = |i| format!("  let %v{i} = negative(%v{});", i - 1);
    // TVM has no gradients of first order of bindings; there is no continuation; nothing is placed on a device.
    let refused = &["FirstOrderGradient", "UnCPS", "ManifestAlloc"];
    through_everything(relay("let %v0 = negative(%x);", line, &format!("%v{}", DEPTH - 1)), refused);
}

#[test]
fn bindings_of_relax_in_a_dataflow_block() {
    let head = format!("{RELAX_HEAD}        with R.dataflow():\n            lv0 = R.negative(x)\n");
    let tail = format!("            gv = R.negative(lv{})\n            R.output(gv)\n        return gv\n", DEPTH - 1);
    let source = chain(&head, |i| format!("            lv{i} = R.negative(lv{})", i - 1), &tail);
    // Calls with effects have no place in the block; calls are not lowered yet; nothing scalar is returned.
    through_everything(source, &["LazySetOutput", "KillAfterLastUse", "VMShapeLower"]);
}

#[test]
fn bindings_of_relax_outside_of_dataflow_blocks() {
    let head = format!("{RELAX_HEAD}        gv0 = R.negative(x)\n");
    let tail = format!("        return gv{}\n", DEPTH - 1);
    let source = chain(&head, |i| format!("        gv{i} = R.negative(gv{})", i - 1), &tail);
    through_everything(source, &["KillAfterLastUse", "VMShapeLower"]);
}

#[test]
fn statements_of_tir() {
    let source = chain(TIR_HEAD, |_| "        B[0] = B[0] + A[0]".to_owned(), "        B[1] = A[1]\n");
    through_everything(source, WANT_A_FUNCTION_OF_RELAX);
}

#[test]
fn operators_of_tir() {
    let sum = chain("", |_| " + A[0]".to_owned(), "").replace('\n', "");
    through_everything(format!("{TIR_HEAD}        B[0] = A[1]{sum}\n"), WANT_A_FUNCTION_OF_RELAX);
}
