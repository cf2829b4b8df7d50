//! Laws that hold for every program: checked on programs made up from a seed, on those of the page, and
//! on TVM's networks where they are at hand.

#[path = "../beside/mod.rs"]
mod beside;
mod every_pass;
mod lowered;
mod mutate;
mod partial;

use passlab::check::relay::{self, Shape};
use passlab::eval::Value;
use passlab::ir::{DType, Store, equal};
use passlab::pass::PassContext;
use passlab::pass::manager::{Registry, Row, Runner, resolve, resolve_in};
use passlab::pass::trace::Trace;
use passlab::pass::{call::parse_calls, instrument};
use passlab::passes;
use passlab::print::{self, PrintOptions};
use passlab::session::{Opened, open};

const SEEDS: std::ops::Range<u64> = 0..40;

/// Makes a made-up program of any kind.
fn program(seed: u64) -> String {
    relay::program(seed, Shape { smooth: true, pure: seed.is_multiple_of(2), first_order: seed.is_multiple_of(4) })
}

fn opened(store: &mut Store, source: &str) -> Opened {
    let opened = open(store, source);
    assert!(opened.is_ok(), "{:?}\n{source}", opened.diagnostics);
    opened
}

/// Runs calls directly, every step verified.
fn run(store: &mut Store, trace: Trace, calls: &str) -> Trace {
    let context = PassContext { opt_level: 4, ..PassContext::default() };
    let instruments = vec![instrument::resolve("VerifyEach", "").expect("it is built in")];
    let calls = parse_calls(calls).expect("the list is well formed");
    let registry = Registry::from(passes::ALL).of(trace.last().dialect());
    let rows: Vec<Row> =
        calls.iter().map(|c| Row { pass: resolve_in(&registry, c).expect("the pass exists"), enabled: true }).collect();
    let mut runner = Runner::new(registry, || 0.0, trace);
    runner.enter(context, instruments).expect("VerifyEach enters");
    runner.run_rows(store, &rows, 0, true);
    assert!(runner.trace.is_complete(), "{calls:?}: {:?}", runner.trace.failures());
    runner.trace
}

#[test]
fn a_printed_program_is_read_back_and_printed_the_same() {
    for seed in SEEDS {
        let mut store = Store::new();
        let first = opened(&mut store, &program(seed));
        let text = print::module(&store, &first.module, &PrintOptions::default());
        let second = opened(&mut store, &text);
        let options = equal::EqualOptions { map_free_vars: false, scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
        assert_eq!(equal::modules(&store, &first.module, &second.module, options), Ok(()), "seed {seed}\n{text}");
        assert_eq!(print::module(&store, &second.module, &PrintOptions::default()), text, "seed {seed}");
    }
}

#[test]
fn a_pass_stopped_after_k_rewrites_and_run_again_gives_what_it_gives_at_once() {
    for seed in SEEDS {
        for call in ["SimplifyInference()", "FoldConstant()", "CanonicalizeOps()", "FastMath()"] {
            let mut store = Store::new();
            let module = opened(&mut store, &program(seed)).module;
            let whole = run(&mut store, Trace::new(module.clone()), call).last().clone();
            for fuel in 0..3 {
                store.log.fuel = Some(fuel);
                let part = run(&mut store, Trace::new(module.clone()), call).last().clone();
                store.log.fuel = None;
                let rest = run(&mut store, Trace::new(part), call).last().clone();
                let options = equal::EqualOptions { scalar_tolerance: true, ..equal::EqualOptions::TEXTS };
                assert_eq!(equal::modules(&store, &whole, &rest, options), Ok(()), "seed {seed}, {call}, fuel {fuel}");
            }
        }
    }
}

#[test]
fn a_pass_that_is_run_twice_changes_nothing_the_second_time() {
    for seed in SEEDS {
        for call in ["InferType()", "SimplifyInference()", "FoldConstant()", "DeadCodeElimination()", "CanonicalizeOps()"] {
            let mut store = Store::new();
            let module = opened(&mut store, &program(seed)).module;
            let once = run(&mut store, Trace::new(module), call).last().clone();
            let twice = run(&mut store, Trace::new(once.clone()), call).last().clone();
            assert_eq!(once, twice, "seed {seed}, {call}: the same roots are expected");
        }
    }
}

#[test]
fn tvms_networks_go_through_every_opt_level_with_each_step_verified() {
    let Some(folder) = beside::beside("corpus/relay") else { return };
    for file in std::fs::read_dir(folder).expect("the folder can be read").flatten() {
        let source = std::fs::read_to_string(file.path()).expect("it can be read");
        for level in 0..=4 {
            let mut store = Store::new();
            let module = opened(&mut store, &source).module;
            let calls = passes::pipeline("relay.build").expect("it exists").calls().join(", ");
            let context = PassContext { opt_level: level, ..PassContext::default() };
            let rows: Vec<Row> = parse_calls(&calls)
                .expect("well formed")
                .iter()
                .map(|c| Row { pass: resolve(passes::ALL, c).expect("listed as available"), enabled: true })
                .collect();
            let instruments = vec![instrument::resolve("VerifyEach", "").expect("built in")];
            let mut runner = Runner::new(passes::ALL, || 0.0, Trace::new(module));
            runner.enter(context, instruments).expect("VerifyEach enters");
            runner.run_rows(&mut store, &rows, 0, false);
            let failures = runner.trace.failures();
            assert!(runner.trace.is_complete(), "{} at O{level}: {failures:?}", file.path().display());
        }
    }
}

/// True if equal to within the error of another order of float operations.
fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(a), Value::Tuple(b)) => {
            a.items().len() == b.items().len() && a.items().iter().zip(b.items()).all(|(a, b)| close(a, b))
        }
        (Value::Tensor(a), Value::Tensor(b)) if a.dtype == DType::F32 && b.dtype == DType::F32 => {
            let floats = |t: &passlab::ir::Tensor| -> Vec<f32> {
                let data = t.data.as_ref().expect("results have values");
                data.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
            };
            let near =
                |x: f32, y: f32| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs()));
            a.shape == b.shape && floats(a).iter().zip(floats(b)).all(|(x, y)| near(*x, y))
        }
        (Value::Tensor(a), Value::Tensor(b)) => a == b,
        _ => false,
    }
}
