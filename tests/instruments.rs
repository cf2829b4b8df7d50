//! Every sentence about instruments and contexts, held by the sequence of calls that is observed. The
//! expectations are TVM's behaviour (`src/ir/transform.cc`, `tests/python/relay/test_pass_instrument.py` is
//! where TVM says the same).

use passlab::diag::Diagnostic;
use passlab::ir::{Module, Store};
use passlab::pass::call::parse_calls;
use passlab::pass::instrument::Instrument;
use passlab::pass::manager::{Row, Runner, resolve};
use passlab::pass::trace::{Outcome, Trace};
use passlab::pass::{PassContext, PassError, PassInfo};
use passlab::passes;
use passlab::session::open;

/// Answers as it is told; what was called is in the trace.
#[derive(Default, Clone)]
struct Probe {
    name: &'static str,
    fails_in: &'static str,
    refuses: &'static str,
}

impl Probe {
    fn hook(&self, hook: &str) -> Result<(), PassError> {
        if self.fails_in == hook { Err(vec![Diagnostic::error("probe", format!("{} failed", self.name), None)]) } else { Ok(()) }
    }
}

impl Instrument for Probe {
    fn name(&self) -> &str {
        self.name
    }
    fn enter_pass_ctx(&mut self) -> Result<(), PassError> {
        self.hook("enter")
    }
    fn exit_pass_ctx(&mut self) -> Result<(), PassError> {
        self.hook("exit")
    }
    fn should_run(&mut self, _: &mut Store, _: &Module, info: &PassInfo) -> Result<bool, PassError> {
        self.hook("should_run")?;
        Ok(info.name != self.refuses)
    }
    fn run_before_pass(&mut self, _: &mut Store, _: &Module, _: &PassInfo) -> Result<Option<String>, PassError> {
        self.hook("before").map(|()| None)
    }
    fn run_after_pass(&mut self, _: &mut Store, _: &Module, _: &PassInfo) -> Result<Option<String>, PassError> {
        self.hook("after").map(|()| None)
    }
}

fn probe(name: &'static str) -> Probe {
    Probe { name, ..Probe::default() }
}

fn boxed(probes: &[Probe]) -> Vec<Box<dyn Instrument>> {
    probes.iter().map(|p| Box::new(p.clone()) as Box<dyn Instrument>).collect()
}

fn runner(store: &mut Store) -> Runner {
    let opened = open(store, "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { nn.relu(%x) }");
    assert!(opened.is_ok(), "{:?}", opened.diagnostics);
    Runner::new(passes::ALL, || 0.0, Trace::new(opened.module))
}

fn rows(list: &str) -> Vec<Row> {
    let calls = parse_calls(list).expect("a list");
    calls.iter().map(|c| Row { pass: resolve(passes::ALL, c).expect("a pass"), enabled: true }).collect()
}

/// Runs a list in a context with these instruments and returns the calls, in short.
fn observe(context: PassContext, probes: &[Probe], list: &str) -> (Vec<String>, Trace) {
    let store = &mut Store::new();
    let mut runner = runner(store);
    if runner.enter(context, boxed(probes)).is_ok() {
        runner.run_rows(store, &rows(list), 0, false);
    }
    let _ = runner.exit();
    (runner.trace.calls().map(str::to_owned).collect(), runner.trace)
}

fn level(opt_level: i64) -> PassContext {
    PassContext { opt_level, ..PassContext::default() }
}

#[test]
fn hooks_are_called_in_list_order_around_the_pass() {
    let (calls, _) = observe(level(2), &[probe("a"), probe("b")], "InferType");
    assert_eq!(
        calls,
        [
            "a.enter_pass_ctx()",
            "b.enter_pass_ctx()",
            "a.should_run(InferType)",
            "b.should_run(InferType)",
            "a.run_before_pass(InferType)",
            "b.run_before_pass(InferType)",
            "a.run_after_pass(InferType)",
            "b.run_after_pass(InferType)",
            "a.exit_pass_ctx()",
            "b.exit_pass_ctx()",
        ]
    );
}

#[test]
fn all_are_asked_even_when_the_first_refuses_and_then_nothing_runs() {
    let a = Probe { refuses: "FoldConstant", ..probe("a") };
    let (calls, trace) = observe(level(2), &[a, probe("b")], "FoldConstant");
    let about: Vec<&String> = calls.iter().filter(|c| c.contains("FoldConstant")).collect();
    assert_eq!(about, ["a.should_run(FoldConstant)", "b.should_run(FoldConstant)"]);
    assert_eq!(trace.steps[0].outcome, Outcome::Skipped("refused by a".into()));
}

#[test]
fn required_passes_are_not_asked_about() {
    let a = Probe { refuses: "FoldConstant", ..probe("a") };
    let context = PassContext { required: vec!["FoldConstant".into()], ..level(0) };
    let (calls, trace) = observe(context, &[a], "FoldConstant");
    assert!(!calls.contains(&"a.should_run(FoldConstant)".to_owned()));
    assert!(calls.contains(&"a.run_before_pass(FoldConstant)".to_owned()));
    assert_eq!(trace.steps[0].outcome, Outcome::Ran);
}

#[test]
fn the_passes_nested_in_a_function_pass_are_seen_between_its_before_and_after() {
    let (calls, _) = observe(level(2), &[probe("a")], "FoldConstant");
    let inner: Vec<&str> = calls.iter().filter(|c| c.contains("run_")).map(String::as_str).collect();
    assert_eq!(
        inner,
        [
            "a.run_before_pass(FoldConstant)",
            "a.run_before_pass(InferType)",
            "a.run_after_pass(InferType)",
            "a.run_after_pass(FoldConstant)",
        ]
    );
}

#[test]
fn a_failing_enter_exits_those_entered_and_the_context_is_not_entered() {
    let c = Probe { fails_in: "enter", ..probe("c") };
    let (calls, trace) = observe(level(2), &[probe("a"), probe("b"), c], "InferType");
    let expected = ["a.enter_pass_ctx()", "b.enter_pass_ctx()", "c.enter_pass_ctx()", "b.exit_pass_ctx()", "a.exit_pass_ctx()"];
    assert_eq!(calls, expected);
    assert!(trace.steps.is_empty());
}

#[test]
fn a_failing_exit_skips_the_rest() {
    let a = Probe { fails_in: "exit", ..probe("a") };
    let (calls, _) = observe(level(2), &[a, probe("b")], "");
    assert_eq!(calls, ["a.enter_pass_ctx()", "b.enter_pass_ctx()", "a.exit_pass_ctx()"]);
}

#[test]
fn after_a_failing_hook_the_pass_does_not_run_and_contexts_are_still_left() {
    let a = Probe { fails_in: "before", ..probe("a") };
    let (calls, trace) = observe(level(2), &[a, probe("b")], "InferType, FoldConstant");
    assert_eq!(
        calls,
        [
            "a.enter_pass_ctx()",
            "b.enter_pass_ctx()",
            "a.should_run(InferType)",
            "b.should_run(InferType)",
            "a.run_before_pass(InferType)",
            "a.exit_pass_ctx()",
            "b.exit_pass_ctx()",
        ]
    );
    assert!(matches!(trace.steps[0].outcome, Outcome::Failed(_)));
    assert_eq!(trace.steps[1].outcome, Outcome::NotReached);
}

#[test]
fn instruments_are_replaced_by_exiting_the_old_and_entering_the_new() {
    let store = &mut Store::new();
    let mut runner = runner(store);
    runner.enter(level(2), boxed(&[probe("old")])).expect("it enters");
    runner.override_instruments(boxed(&[probe("new")])).expect("they are replaced");
    runner.run_rows(store, &rows("InferType"), 0, false);
    runner.exit().expect("it exits");
    let calls: Vec<&str> = runner.trace.calls().collect();
    assert_eq!(
        calls,
        [
            "old.enter_pass_ctx()",
            "old.exit_pass_ctx()",
            "new.enter_pass_ctx()",
            "new.should_run(InferType)",
            "new.run_before_pass(InferType)",
            "new.run_after_pass(InferType)",
            "new.exit_pass_ctx()",
        ]
    );
}

#[test]
fn the_current_context_is_the_innermost_and_the_default_is_never_left() {
    let mut runner = runner(&mut Store::new());
    assert_eq!(runner.current().opt_level, 2);
    runner.enter(level(3), vec![]).expect("no instruments");
    runner.enter(level(0), vec![]).expect("no instruments");
    assert_eq!(runner.current().opt_level, 0);
    runner.exit().expect("no instruments");
    assert_eq!(runner.current().opt_level, 3);
    runner.exit().expect("no instruments");
    runner.exit().expect("the default context stays");
    assert_eq!(runner.current().opt_level, 2);
}

#[test]
fn disabled_beats_required_which_beats_the_level() {
    let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<String>>();
    let context = PassContext {
        required: names(&["FastMath", "EliminateCommonSubexpr"]),
        disabled: names(&["EliminateCommonSubexpr", "InferType"]),
        ..level(0)
    };
    let (_, trace) = observe(context, &[], "FastMath, EliminateCommonSubexpr, FoldConstant");
    let listed: Vec<(&str, &Outcome)> =
        trace.steps.iter().filter(|s| s.parent.is_none()).map(|s| (s.name.as_str(), &s.outcome)).collect();
    let skipped = |why: &str| Outcome::Skipped(why.to_owned());
    // A pass that is required by another one runs before it, disabled or not.
    assert_eq!(
        listed,
        [
            ("InferType", &Outcome::Ran),
            ("FastMath", &Outcome::Ran),
            ("EliminateCommonSubexpr", &skipped("disabled")),
            ("FoldConstant", &skipped("needs opt level 2")),
        ]
    );
}

#[test]
fn a_pass_called_directly_runs_whatever_the_context_says() {
    let store = &mut Store::new();
    let mut runner = runner(store);
    let context = PassContext { disabled: vec!["FastMath".into()], ..level(0) };
    runner.enter(context, vec![]).expect("no instruments");
    runner.run_rows(store, &rows("FastMath"), 0, true);
    assert_eq!(runner.trace.steps[0].outcome, Outcome::Ran);
    assert_eq!(runner.trace.steps[0].name, "FastMath");
}

#[test]
fn a_sequential_is_gated_by_its_own_level_and_gates_its_children() {
    let (_, trace) =
        observe(level(1), &[], "Sequential([FastMath(), InferType()], opt_level=1), Sequential([InferType()], opt_level=2)");
    let steps: Vec<(&str, usize, &str)> = trace.steps.iter().map(|s| (s.name.as_str(), s.depth, s.outcome_words().0)).collect();
    assert_eq!(
        steps,
        [("sequential", 0, "unchanged"), ("FastMath", 1, "skipped"), ("InferType", 1, "unchanged"), ("sequential", 0, "skipped"),]
    );
}
