//! Every sentence about instruments and contexts, held by the sequence of calls that is observed. The
//! expectations are TVM's behaviour (`src/ir/transform.cc`, `tests/python/relay/test_pass_instrument.py` is
//! where TVM says the same).

use passlab::diag::Diagnostic;
use passlab::ir::{Module, Store};
use passlab::pass::call::parse_calls;
use passlab::pass::instrument::{self, Instrument};
use passlab::pass::manager::{Pass, Row, Runner, resolve};
use passlab::pass::trace::{LogKind, Outcome, Trace};
use passlab::pass::user::UserRun;
use passlab::pass::{PassContext, PassError, PassInfo};
use passlab::passes;
use passlab::session::{Session, document, open};
use std::rc::Rc;

/// Answers as configured; the trace has its calls.
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
    runner.override_instruments(runner.current_scope(), boxed(&[probe("new")])).expect("they are replaced");
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
    let steps: Vec<(&str, usize, &str)> =
        trace.steps.iter().map(|s| (s.name.as_str(), s.depth, s.outcome_words().0.word())).collect();
    assert_eq!(
        steps,
        [("sequential", 0, "unchanged"), ("FastMath", 1, "skipped"), ("InferType", 1, "unchanged"), ("sequential", 0, "skipped"),]
    );
}

/// Makes a module pass that does nothing, or throws.
fn user_pass(name: &str, throws: bool) -> Row {
    let run = move |_: &mut Runner, _: &mut Store, module: &Module| match throws {
        true => Err(vec![Diagnostic::error("probe", "the pass failed", None)]),
        false => Ok(module.clone()),
    };
    let info = PassInfo { name: name.into(), opt_level: 2, ..PassInfo::default() };
    Row { pass: Pass::user(info, UserRun::Module(Rc::new(run))), enabled: true }
}

fn called(runner: &Runner) -> Vec<&str> {
    runner.trace.calls().collect()
}

#[test]
fn two_passes_and_two_instruments_in_turn() {
    // TVM's test_instrument_call_sequence.
    let store = &mut Store::new();
    let mut runner = runner(store);
    runner.enter(level(2), boxed(&[probe("%1"), probe("%2")])).expect("they enter");
    runner.run_rows(store, &[user_pass("one", false), user_pass("two", false)], 0, true);
    runner.exit().expect("they exit");
    let mut expected = vec!["%1.enter_pass_ctx()".to_owned(), "%2.enter_pass_ctx()".to_owned()];
    for pass in ["one", "two"] {
        for hook in ["should_run", "run_before_pass", "run_after_pass"] {
            expected.extend(["%1", "%2"].map(|probe| format!("{probe}.{hook}({pass})")));
        }
    }
    expected.extend(["%1.exit_pass_ctx()".to_owned(), "%2.exit_pass_ctx()".to_owned()]);
    assert_eq!(called(&runner), expected);
}

#[test]
fn after_a_pass_that_throws_no_hook_follows_but_exit() {
    // TVM's test_pass_exception.
    let store = &mut Store::new();
    let mut runner = runner(store);
    runner.enter(level(2), boxed(&[probe("a")])).expect("it enters");
    runner.run_rows(store, &[user_pass("broken", true), user_pass("next", false)], 0, true);
    runner.exit().expect("it exits");
    let expected = ["a.enter_pass_ctx()", "a.should_run(broken)", "a.run_before_pass(broken)", "a.exit_pass_ctx()"];
    assert_eq!(called(&runner), expected);
    let failed: Vec<&str> = runner.trace.log.iter().filter(|e| e.kind == LogKind::Failed).map(|e| e.text.as_str()).collect();
    assert_eq!(failed, ["broken failed: the pass failed"]);
    assert_eq!(runner.trace.steps[1].outcome, Outcome::NotReached);
}

#[test]
fn a_failing_should_run_asks_no_further_and_runs_nothing() {
    let a = Probe { fails_in: "should_run", ..probe("a") };
    let (calls, trace) = observe(level(2), &[a, probe("b")], "InferType");
    let expected =
        ["a.enter_pass_ctx()", "b.enter_pass_ctx()", "a.should_run(InferType)", "a.exit_pass_ctx()", "b.exit_pass_ctx()"];
    assert_eq!(calls, expected);
    assert!(matches!(trace.steps[0].outcome, Outcome::Failed(_)));
}

#[test]
fn a_failing_after_skips_the_others_and_the_version_before_stands() {
    let a = Probe { fails_in: "after", ..probe("a") };
    let (calls, trace) = observe(level(4), &[a, probe("b")], "Sequential([FastMath()])");
    let after: Vec<&String> = calls.iter().filter(|c| c.contains("run_after_pass")).collect();
    // The hook of the required InferType fails first; no enclosing step goes on.
    assert_eq!(after, ["a.run_after_pass(InferType)"]);
    assert!(trace.steps.iter().all(|step| matches!(step.outcome, Outcome::Failed(_)) && !step.changed()));
    assert_eq!(calls[calls.len() - 2..], ["a.exit_pass_ctx()", "b.exit_pass_ctx()"]);
}

#[test]
fn a_context_whose_enter_fails_has_no_instruments_and_is_not_current() {
    let mut runner = runner(&mut Store::new());
    let broken = Probe { fails_in: "enter", ..probe("b") };
    assert!(runner.enter(level(0), boxed(&[probe("a"), broken.clone(), probe("c")])).is_err());
    assert_eq!(called(&runner), ["a.enter_pass_ctx()", "b.enter_pass_ctx()", "a.exit_pass_ctx()"]);
    assert_eq!(runner.current().opt_level, 2);
    // On the default context too: TVM's test_enter_pass_ctx_exception_global.
    assert!(runner.override_instruments(runner.current_scope(), boxed(&[broken])).is_err());
    runner.override_instruments(runner.current_scope(), vec![]).expect("nothing is left to exit");
    assert_eq!(called(&runner).len(), 4, "the broken one was entered and never exited");
}

#[test]
fn a_failing_exit_empties_the_list_and_the_new_instruments_are_not_entered() {
    // TVM's test_exit_pass_ctx_exception and test_exit_pass_ctx_exception_global.
    let store = &mut Store::new();
    let mut runner = runner(store);
    let broken = Probe { fails_in: "exit", ..probe("b") };
    runner.override_instruments(runner.current_scope(), boxed(&[probe("a"), broken, probe("c")])).expect("they enter");
    assert!(runner.override_instruments(runner.current_scope(), boxed(&[probe("new")])).is_err());
    let entered = ["a.enter_pass_ctx()", "b.enter_pass_ctx()", "c.enter_pass_ctx()"];
    assert_eq!(called(&runner), [&entered[..], &["a.exit_pass_ctx()", "b.exit_pass_ctx()"]].concat());
    runner.run_rows(store, &rows("InferType"), 0, true);
    assert_eq!(called(&runner).len(), 5, "nobody watches any more");
}

#[test]
fn only_the_instruments_of_the_innermost_context_watch() {
    let store = &mut Store::new();
    let mut runner = runner(store);
    runner.enter(level(2), boxed(&[probe("outer")])).expect("it enters");
    runner.enter(level(2), boxed(&[probe("inner")])).expect("it enters");
    runner.run_rows(store, &[user_pass("p", false)], 0, true);
    runner.exit().expect("it exits");
    runner.exit().expect("it exits");
    let expected = [
        "outer.enter_pass_ctx()",
        "inner.enter_pass_ctx()",
        "inner.should_run(p)",
        "inner.run_before_pass(p)",
        "inner.run_after_pass(p)",
        "inner.exit_pass_ctx()",
        "outer.exit_pass_ctx()",
    ];
    assert_eq!(called(&runner), expected);
}

#[test]
fn passes_that_the_context_leaves_out_are_not_shown_to_instruments() {
    let context = PassContext { disabled: vec!["InferType".into()], ..level(1) };
    let (calls, _) = observe(context, &[probe("a")], "InferType, FoldConstant");
    assert_eq!(calls, ["a.enter_pass_ctx()", "a.exit_pass_ctx()"]);
}

#[test]
fn passes_that_another_one_requires_are_asked_about_and_may_be_refused() {
    let a = Probe { refuses: "InferType", ..probe("a") };
    let (calls, trace) = observe(level(4), &[a], "FastMath");
    let asked: Vec<&String> = calls.iter().filter(|c| c.contains("should_run")).collect();
    assert_eq!(asked, ["a.should_run(InferType)", "a.should_run(FastMath)", "a.should_run(InferType)"]);
    let outcomes: Vec<(&str, &str)> = trace.steps.iter().map(|s| (s.name.as_str(), s.outcome_words().0.word())).collect();
    assert_eq!(outcomes, [("InferType", "skipped"), ("FastMath", "unchanged"), ("InferType", "skipped")]);
    let refusals = trace.log.iter().filter(|e| e.kind == LogKind::Refused).count();
    assert_eq!(refusals, 2);
}

#[test]
fn a_sequential_has_its_requirements_met_only_as_a_child_and_they_are_not_resolved_further() {
    let list = "Sequential([], required=[\"InferType\", \"InferType\"])";
    let names = |direct: bool| {
        let store = &mut Store::new();
        let mut runner = runner(store);
        runner.run_rows(store, &rows(list), 0, direct);
        runner.trace.steps.iter().map(|s| s.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["InferType", "InferType", "sequential"], "each time, never once for both");
    assert_eq!(names(true), ["sequential"]);
}

#[test]
fn function_passes_leave_functions_of_others_alone() {
    let source = "#[version = \"0.0.5\"]
def @a(%x: Tensor[(2), float32]) { tanh(%x) }
def @b(%x: Tensor[(2), float32], Compiler=\"other\") { tanh(%x) }
def @c(%x: Tensor[(2), float32], Extern=1) { tanh(%x) }
def @d(%x: Tensor[(2), float32], SkipOptimization=1) { tanh(%x) }
def @e(%x: Tensor[(2), float32], SkipOptimization=0) { tanh(%x) }
";
    let mut session = Session::new(|| 0.0);
    let document = document(source, "FastMath", level(4)).expect("a document");
    assert!(session.run(&document, false), "{:?}", session.problems());
    let last = session.trace().steps.last().expect("a step").after;
    let text = session.text(last, passlab::print::Numbering::Exact).expect("a text");
    let fast: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("def @"))
        .zip(text.lines().filter(|l| l.contains("tanh(")))
        .filter(|(_, body)| body.contains("fast_tanh"))
        .filter_map(|(head, _)| head.get(5..6))
        .collect();
    assert_eq!(fast, ["a", "e"]);
}

/// Makes a session that ran a list over a small program with instruments on.
fn instrumented(list: &str, instruments: &[&str]) -> Session {
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  tanh(add(%x, add(1f, 1f)))\n}\n";
    let mut document = document(source, list, level(4)).expect("a document");
    document.instruments = instruments.iter().map(|call| (*call).to_owned()).collect();
    let mut session = Session::new(clock);
    assert!(session.run(&document, false), "{:?}", session.problems());
    session
}

/// Advances by ten microseconds at each call.
fn clock() -> f64 {
    thread_local!(static NOW: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    NOW.with(|now| {
        now.set(now.get() + 10);
        f64::from(now.get())
    })
}

fn printed(session: &Session) -> Vec<&str> {
    session.trace().log.iter().filter(|e| e.kind == LogKind::Printed).map(|e| e.text.as_str()).collect()
}

#[test]
fn the_timing_is_tvms_tree_rendered_before_the_context_is_left() {
    let session = instrumented("FoldConstant, PrintIR", &["PassTimingInstrument"]);
    let tree = "FoldConstant: 30us [20us] (75.00%; 75.00%)\n\tInferType: 10us [10us] (25.00%; 33.33%)\n\
                PrintIR: 10us [10us] (25.00%; 25.00%)\n";
    assert_eq!(printed(&session).last(), Some(&tree));
    let end = session.trace().log.last().map(|e| e.text.as_str());
    assert_eq!(end, Some("PassTimingInstrument.exit_pass_ctx()"));
}

#[test]
fn programs_are_printed_around_passes_of_these_names() {
    let session = instrumented("FoldConstant", &["PassPrintingInstrument([\"FoldConstant\"], [\"InferType\"])"]);
    let heads: Vec<&str> = printed(&session).iter().filter_map(|text| text.lines().next()).collect();
    assert_eq!(heads, ["Print IR before: FoldConstant", "Print IR after: InferType"]);
    let session = instrumented("InferType", &["PrintBeforeAll", "PrintAfterAll"]);
    let about = "The meta data of the pass - pass name: InferType, opt_level: 0, required passes: []\n\ndef @main";
    let texts = printed(&session);
    assert!(texts[0].starts_with(&format!("Before Running Pass: {about}")), "{}", texts[0]);
    assert!(texts[1].starts_with(&format!("After Running Pass: {about}")), "{}", texts[1]);
}

#[test]
fn dumped_files_are_numbered_in_the_order_passes_end() {
    let session = instrumented("FastMath", &["DumpIR(\"here\")"]);
    let files = session.dump();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["here/000_InferType.relay", "here/001_InferType.relay", "here/002_FastMath.relay"]);
    assert!(files[0].1.contains(" tanh(") && files[2].1.contains("fast_tanh("));
}

#[test]
fn statistics_and_rewrites_are_told_for_the_pass_that_made_them() {
    let session = instrumented("FoldConstant, FastMath", &["OpStatistics", "RewriteLog"]);
    let told: Vec<&str> = printed(&session).into_iter().filter(|text| !text.starts_with("InferType")).collect();
    assert_eq!(
        told,
        [
            "FoldConstant: 3:16 add becomes Constant (constant folded)",
            "FoldConstant: 3 operator calls before, 2 after\n  add: 2 -> 1",
            "FastMath: 3:3 tanh becomes fast_tanh (exact function to fast approximation)",
            "FastMath: 2 operator calls before, 2 after\n  fast_tanh: 0 -> 1\n  tanh: 1 -> 0",
        ]
    );
}

#[test]
fn a_pass_that_leaves_nonsense_is_blamed_for_it() {
    let store = &mut Store::new();
    let opened = open(store, "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { nn.relu(%x) }");
    let mut broken = opened.module.clone();
    let main = store.name("main");
    let function = opened.module.function(main).expect("@main");
    let relu = store.as_function(function).expect("a function").body;
    broken.set_function(main, relu);
    let mut verify = instrument::resolve("VerifyEach", "").expect("it is built in");
    let info = |name: &str| PassInfo { name: name.into(), ..PassInfo::default() };
    verify.run_before_pass(store, &opened.module, &info("Outer")).expect("all is well yet");
    // The inner pass gets the module as the outer one has made it so far.
    let found = verify.run_before_pass(store, &broken, &info("Inner")).expect_err("it is broken");
    assert!(found[0].notes.contains(&"Outer left an ill-formed program".to_owned()), "{found:?}");
}

#[test]
fn with_instruments_on_an_edit_runs_everything_again() {
    let mut session = instrumented("FoldConstant", &["DumpIR"]);
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  tanh(add(%x, add(1f, 1f)))\n}\n";
    let mut document = document(source, "FoldConstant, InferType", level(4)).expect("a document");
    document.instruments = vec!["DumpIR".to_owned()];
    assert!(session.run(&document, false));
    let names: Vec<String> = session.dump().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["dump/000_InferType.relay", "dump/001_FoldConstant.relay", "dump/002_InferType.relay"]);
    let first = session.trace().log.first().map(|e| e.text.as_str());
    assert_eq!(first, Some("DumpIR.enter_pass_ctx()"));
    document.instruments.clear();
    assert!(session.run(&document, false) && session.trace().log.is_empty());
}

#[test]
fn a_required_pass_is_named_as_its_factory_is_registered() {
    let last = |required: &str| {
        let (_, trace) = observe(level(2), &[], &format!("Sequential([InferType()], required=[\"{required}\"])"));
        trace.steps.last().map(|s| (s.name.clone(), s.outcome_words().1)).expect("a step")
    };
    for name in ["InferType", "relay._transform.InferType"] {
        assert_eq!(last(name).1, "", "{name}");
    }
    let refused = "Cannot use CombineParallelConv2d to create the pass".to_owned();
    assert_eq!(last("CombineParallelConv2d"), ("sequential".to_owned(), refused));
    assert!(last("FuseOps").1.starts_with("FuseOps expects 1 arguments, but 0 were provided"));
}
