//! Every pass and pipeline on a program: none panics, leaves what is ill-formed, or changes what is computed.

use super::known::is_known;
use super::{Property, Reducer, Trust, bisect};
use crate::check::{relax, relay, tir};
use crate::parse::Options;
use crate::pass::{PassContext, PassSpec, call::parse_calls};
use crate::passes::{ALL, PIPELINES};
use crate::repro::{Document, DocumentRow};
use crate::session::Session;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A fault of a pass.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The call, or the name of the pipeline.
    pub call: String,
    /// `panic`, `verify`, `check` or `failed`.
    pub kind: &'static str,
    /// In which way.
    pub why: String,
    /// The smallest document found that shows it, where it could be made smaller.
    pub small: Option<Document>,
}

/// The passes that run before a pass in TVM's pipelines, where it is not for programs as they are written: those become
/// ill-formed in TVM, too.
const LEADS: &[(&str, &str)] = &[
    ("KillAfterLastUse()", "ToNonDataflow(), RemovePurityChecking()"),
    ("LazySetOutput()", "ToNonDataflow()"),
    ("LowerRuntimeBuiltin()", "ToNonDataflow(), RemovePurityChecking()"),
    ("CallTIRRewrite()", "ToNonDataflow(), RemovePurityChecking()"),
    ("VMShapeLower()", "ToNonDataflow(), RemovePurityChecking()"),
    ("s_tir.HoistExpression()", LOWERED),
    ("s_tir.HoistIfThenElse()", LOWERED),
    ("tirx.CommonSubexprElim()", LOWERED),
];

/// Blocks become loops.
const LOWERED: &str = "s_tir.LowerInitBlock(), s_tir.PlanAndUpdateBufferAllocationLocation(), s_tir.ConvertBlocksToOpaque(), \
                       s_tir.CompactBufferAllocation(), s_tir.LowerMatchBuffer(), s_tir.LowerOpaqueBlock()";

/// The passes of a program's dialect that need no arguments, and the pipelines.
fn lists(session: &Session) -> Vec<(String, String, i64)> {
    let dialect = session.dialect();
    let callable = |spec: &&&PassSpec| spec.works_on(dialect) && spec.params.iter().all(|param| !param.default.is_empty());
    let passes = ALL.iter().filter(callable).map(|spec| (format!("{}()", spec.name), format!("{}()", spec.name), 4));
    let pipelines = PIPELINES.iter().filter(|pipeline| pipeline.dialect == dialect);
    let pipelines = pipelines.map(|pipeline| (pipeline.name.to_owned(), pipeline.calls().join(", "), pipeline.opt_level));
    passes.chain(pipelines).collect()
}

/// A made-up program by its number: Relay, Relax and TIR in turn.
pub fn made_up(seed: u64) -> String {
    match seed % 3 {
        0 => relay::program(
            seed,
            relay::Shape { smooth: seed.is_multiple_of(2), pure: seed % 4 < 2, first_order: seed.is_multiple_of(5) },
        ),
        1 => relax::program(seed, seed.is_multiple_of(2)),
        _ => tir::program(seed),
    }
}

/// Runs what has `only` in its call on a program, and calls `heard` with what is wrong. The error says that it is no program.
pub fn sweep(source: &str, reading: &Options, only: &str, heard: &mut dyn FnMut(Finding)) -> Result<usize, String> {
    let mut session = Session::new(|| 0.0);
    let open = Document { source: source.to_owned(), reading: reading.clone(), ..Document::default() };
    if !session.run(&open, false) {
        return Err(session.problems().first().map_or(String::new(), |found| found.message.clone()));
    }
    let mut steps = 0;
    for (name, calls, opt_level) in lists(&session).into_iter().filter(|(name, ..)| name.contains(only)) {
        let lead = LEADS.iter().find(|(call, _)| *call == calls).map_or(String::new(), |(_, lead)| format!("{lead}, "));
        let calls = parse_calls(&(lead + &calls)).unwrap_or_default();
        let rows = calls.iter().map(|call| DocumentRow { call: call.to_string(), enabled: true }).collect();
        let context = PassContext { opt_level, ..PassContext::default() };
        let document = Document { rows, context, ..open.clone() };
        let found = catch_unwind(AssertUnwindSafe(|| tried(&document, &mut steps)));
        let found = found.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Some(Finding { call: String::new(), kind: "panic", why: text.unwrap_or_default(), small: None })
        });
        if let Some(found) = found {
            heard(Finding { call: name, ..found });
        }
    }
    Ok(steps)
}

fn tried(document: &Document, steps: &mut usize) -> Option<Finding> {
    let mut session = Session::new(|| 0.0);
    let finding = |kind, why: String| Some(Finding { call: String::new(), kind, why, small: None });
    if !session.run(document, false) {
        return finding("failed", session.problems().first().map_or(String::new(), |found| found.message.clone()));
    }
    *steps += session.trace().steps.len();
    // From a step on that TVM gets wrong, too, nothing counts.
    let mut last = usize::MAX;
    for property in [Property::Verify, Property::Check] {
        let Some(culprit) = bisect(&mut session, &mut Trust::default(), &property) else { continue };
        let kind = if matches!(property, Property::Check) { "check" } else { "verify" };
        let said = culprit.to_string();
        if is_known(&session, &culprit, kind) || culprit.step.is_some_and(|step| step >= last) {
            last = culprit.step.unwrap_or(last);
            continue;
        }
        let mut left = 400;
        let small = Reducer::new(&mut session, &property).map(|mut reducer| {
            reducer.finish(&mut |_| {
                left -= 1;
                left > 0
            });
            reducer.best
        });
        return Some(Finding { call: String::new(), kind, why: said, small });
    }
    let failure = session.trace().failures().first().map(|found| found.message.clone());
    failure.and_then(|why| finding("failed", why))
}
