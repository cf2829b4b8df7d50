//! Tests that findings of passes have a place in the program as it was opened, whatever passes did to it since.

use passlab::diag::{Diagnostic, Severity, render};
use passlab::ir::{ExprId, Module, Store};
use passlab::ops::build::{arg, call, is_call};
use passlab::pass::manager::{Pass, Row, Runner};
use passlab::pass::trace::{Outcome, Trace};
use passlab::pass::user::UserRun;
use passlab::pass::{PassContext, PassInfo};
use passlab::passes;
use passlab::session::{Session, document, open};
use std::rc::Rc;

const SOURCE: &str = "#[version = \"0.0.5\"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 5), float32]) {
  %0 = nn.relu(%x);
  (%0, tanh(%w))
}
";

/// Returns the source text at a finding.
fn at<'s>(source: &'s str, found: &Diagnostic) -> &'s str {
    found.span.map_or("", |span| &source[span.start as usize..span.end as usize])
}

#[test]
fn a_type_error_in_what_a_pass_made_names_the_code_it_was_made_from() {
    let store = &mut Store::new();
    let opened = open(store, SOURCE);
    assert!(opened.is_ok(), "{:?}", opened.diagnostics);
    // Adds a matrix to another one that it does not fit, where there was a relu.
    let run = |_: &mut Runner, store: &mut Store, _: &Module, function: ExprId| {
        let params = store.as_function(function).expect("a function").params;
        let (x, w) = (store.item(params, 0), store.item(params, 1));
        let uses = [store.use_var(x), store.use_var(w)];
        let mut pass = Wrong(uses);
        Ok(passlab::ir::rewrite::rewrite(store, function, &mut pass))
    };
    let info = PassInfo { name: "Wrong".into(), ..PassInfo::default() };
    let rows = [Row { pass: Pass::user(info, UserRun::Function(Rc::new(run))), enabled: true }];
    let mut runner = Runner::new(passes::ALL, || 0.0, Trace::new(opened.module));
    runner.enter(PassContext::default(), vec![]).expect("no instruments");
    runner.run_rows(store, &rows, 0, true);
    let failures = runner.trace.failures();
    assert!(failures.iter().any(|found| at(SOURCE, found) == "nn.relu(%x)"), "{failures:?}");
    let text = render(&failures, "a.relay", SOURCE);
    assert!(text.contains(" --> a.relay:3:8\n  |\n3 |   %0 = nn.relu(%x);\n  |        ^^^^^^^^^^^\n"), "{text}");
}

struct Wrong([ExprId; 2]);

impl passlab::ir::rewrite::ExprMutator for Wrong {
    fn rule(&self) -> &'static str {
        "relu to nonsense"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if is_call(store, post, "nn.relu") && arg(store, post, 0) == self.0[0] { call(store, "add", &self.0) } else { post }
    }
}

#[test]
fn warnings_are_kept_with_the_step_and_do_not_fail_it() {
    let mut session = Session::new(|| 0.0);
    let source = SOURCE.replace("tanh", "sin");
    let document = document(&source, "FoldConstant, ToMixedPrecision", PassContext::default()).expect("a document");
    assert!(session.run(&document, true) && session.trace().is_complete());
    let step = session.trace().steps.iter().find(|s| s.name == "ToMixedPrecision").expect("it ran");
    let [warning] = &step.reported[..] else { panic!("{:?}", step.reported) };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.message, "Op \"sin\" not registered FTVMMixedPrecisionConversionType appears 1 times in graph.");
    assert_eq!(at(&source, warning), "sin(%w)");
    let told = session.trace().reported().next().expect("one");
    assert_eq!(told.notes, ["reported by ToMixedPrecision"]);
}

#[test]
fn a_failing_pass_may_give_advice_beside_its_error() {
    let mut session = Session::new(|| 0.0);
    let document = document(SOURCE, "EtaExpand", PassContext::default()).expect("a document");
    assert!(session.run(&document, true) && !session.trace().is_complete());
    let step = &session.trace().steps[0];
    assert!(matches!(&step.outcome, Outcome::Failed(found) if found[0].code == "relay-eta-expand"));
    assert_eq!(step.reported[0].severity, Severity::Help);
}

#[test]
fn a_wrong_configuration_is_told_for_every_key() {
    let mut session = Session::new(|| 0.0);
    let mut document = document(SOURCE, "", PassContext::default()).expect("a document");
    document.context.config.insert("relay.FuseOps.max_depth".into(), passlab::pass::Literal::None);
    document.context.config.insert("relay.Nosuch".into(), passlab::pass::Literal::Int(1));
    assert!(!session.run(&document, true));
    let notes: Vec<&String> = session.problems().iter().flat_map(|found| &found.notes).collect();
    assert_eq!(notes, ["in the configuration: relay.FuseOps.max_depth", "in the configuration: relay.Nosuch"]);
}
