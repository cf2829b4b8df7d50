//! Properties of a run, and the first step after which one is lost.

use super::Trust;
use crate::check::step::Verdict;
use crate::diag::Diagnostic;
use crate::diff;
use crate::ir::Module;
use crate::pass::trace::{Outcome, Step};
use crate::print::{self, PrintOptions};
use crate::session::Session;
use crate::verify;
use std::cmp::Ordering;
use std::rc::Rc;

/// A predicate over the text of a program.
pub type Predicate = Rc<dyn Fn(&str) -> bool>;

/// A property of every version of a program, or of every step.
#[derive(Clone)]
pub enum Property {
    /// A step keeps what the program computes: `check`.
    Check,
    /// A version is well-formed: `verify`.
    Verify,
    /// No step fails, or reports something with this in it: `diagnostic`, `diagnostic:TEXT`.
    Diagnostic(String),
    /// The text of a version has this in it, or does not: `contains:TEXT`, `not:contains:TEXT`.
    Contains(String, bool),
    /// An operator is called so often: `count:nn.conv2d>=2`.
    Count(String, Ordering, bool, usize),
    /// It is so by the user's own judgement: `command:PROGRAM`, which the command line provides.
    Predicate(Predicate),
}

/// Comparisons as they are written; whether equality counts, too.
const COMPARISONS: [(&str, Ordering, bool); 5] = [
    (">=", Ordering::Greater, true),
    ("<=", Ordering::Less, true),
    ("=", Ordering::Equal, true),
    (">", Ordering::Greater, false),
    ("<", Ordering::Less, false),
];

impl Property {
    /// Reads a property as it is written. The error says what there is.
    pub fn parse(text: &str) -> Result<Property, Diagnostic> {
        let text = text.trim();
        let (word, rest) = text.split_once(':').map_or((text, ""), |(word, rest)| (word.trim(), rest));
        let (word, rest) = match (word, rest.split_once(':')) {
            ("not", Some(("contains", rest))) => ("not-contains", rest),
            _ => (word, rest),
        };
        let wrong = |message: String| {
            Err(Diagnostic::error("property", message, None).with_note(
                "there are `check`, `verify`, `diagnostic`, `diagnostic:TEXT`, `contains:TEXT`, `not:contains:TEXT` and `count:OP>=N`",
            ))
        };
        Ok(match word {
            "check" if rest.is_empty() => Property::Check,
            "verify" if rest.is_empty() => Property::Verify,
            "diagnostic" => Property::Diagnostic(rest.to_owned()),
            "contains" if !rest.is_empty() => Property::Contains(rest.to_owned(), true),
            "not-contains" if !rest.is_empty() => Property::Contains(rest.to_owned(), false),
            "count" => {
                let found = COMPARISONS.iter().find_map(|(sign, order, equal)| {
                    let (op, count) = rest.split_once(sign)?;
                    Some((op.trim_end_matches('=').trim(), *order, *equal, count.trim_start_matches('=').trim().parse().ok()?))
                });
                match found {
                    Some((op, order, equal, count)) if !op.is_empty() => Property::Count(op.to_owned(), order, equal, count),
                    _ => return wrong(format!("`{text}` is not written like `count:nn.conv2d>=2`")),
                }
            }
            _ => return wrong(format!("there is no property `{text}`")),
        })
    }

    /// True if it is about each version by itself.
    fn is_of_versions(&self) -> bool {
        !matches!(self, Property::Check | Property::Diagnostic(_))
    }

    /// The reason why a version does not have it, if it does not.
    fn lost_in(&self, session: &mut Session, module: &Module) -> Option<String> {
        let (store, _) = session.split();
        match self {
            Property::Check | Property::Diagnostic(_) => None,
            Property::Verify => verify::verify(store, module).into_iter().find(Diagnostic::is_error).map(|found| found.message),
            Property::Contains(text, wanted) => {
                let has = print::module(store, module, &PrintOptions::default()).contains(text.as_str());
                (has != *wanted).then(|| format!("the program {} `{text}`", if has { "has" } else { "has no" }))
            }
            Property::Count(op, order, equal, count) => {
                let name = op.trim_start_matches("R.").trim_start_matches("relax.");
                let of = |(known, _, count): &(&str, usize, usize)| if *known == name || *known == op { *count } else { 0 };
                let found: usize = diff::operators(store, module, module).iter().map(of).sum();
                let holds = found.cmp(count) == *order || (*equal && found == *count);
                (!holds).then(|| format!("`{op}` is called {found} times"))
            }
            Property::Predicate(holds) => {
                let text = print::module(store, module, &PrintOptions::default());
                (!holds(&text)).then(|| "the predicate does not hold".to_owned())
            }
        }
    }
}

/// The place where a property was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// Index of the step; none when the program did not have it before the first.
    pub step: Option<usize>,
    /// The step's id.
    pub id: String,
    /// The name of the pass.
    pub name: String,
    /// Its row of the list.
    pub row: usize,
    /// In which way.
    pub why: String,
    /// The first rewrite of the step, from 1, after which it is lost; none where the step has no rewrites, or it is lost without any.
    pub rewrite: Option<u32>,
    /// The rule of that rewrite, and what it rewrote.
    pub rule: String,
    /// The number of rewrites of the step.
    pub rewrites: usize,
}

impl std::fmt::Display for Culprit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.step.is_none() {
            return write!(f, "the program does not have it before any pass: {}", self.why);
        }
        write!(f, "{}", self.id)?;
        if let Some(rewrite) = self.rewrite {
            write!(f, ", rewrite {rewrite} of {} ({})", self.rewrites, self.rule)?;
        }
        write!(f, ": {}", self.why)
    }
}

/// The effect of a step between two versions, by itself.
struct Change {
    step: usize,
    before: usize,
    after: usize,
}

/// The changes of a run in their order, each with the innermost step that made it. That a pass has its result typed belongs to it.
fn changes(steps: &[Step]) -> Vec<Change> {
    // Steps that are open, each with the version that its own next change starts from.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut changes = Vec::new();
    let close = |open: &mut Vec<(usize, usize)>, changes: &mut Vec<Change>| {
        let Some((step, at)) = open.pop() else { return };
        let after = steps[step].after;
        if at != after {
            changes.push(Change { step, before: at, after });
        }
        if let Some(outer) = open.last_mut() {
            outer.1 = after;
        }
    };
    for (index, step) in steps.iter().enumerate() {
        if step.name == "InferType" && step.parent.is_some() {
            continue;
        }
        while open.len() > step.depth {
            close(&mut open, &mut changes);
        }
        if let Some((outer, at)) = open.last_mut()
            && *at != step.before
        {
            changes.push(Change { step: *outer, before: *at, after: step.before });
            *at = step.before;
        }
        open.push((index, step.before));
    }
    while !open.is_empty() {
        close(&mut open, &mut changes);
    }
    changes
}

/// The first step of the last run after which a property is lost, and the first of its rewrites. Nothing when it never is.
pub fn bisect(session: &mut Session, trust: &mut Trust, property: &Property) -> Option<Culprit> {
    let mut culprit = first_step(session, trust, property)?;
    if let Some(step) = culprit.step {
        first_rewrite(session, trust, property, step, &mut culprit);
    }
    Some(culprit)
}

/// The first step after which a property is lost.
pub fn first_step(session: &mut Session, trust: &mut Trust, property: &Property) -> Option<Culprit> {
    let culprit = |session: &Session, index: usize, why: String| {
        let step = &session.trace().steps[index];
        Culprit {
            step: Some(index),
            id: step.id.clone(),
            name: step.name.clone(),
            row: step.row,
            why,
            rewrite: None,
            rule: String::new(),
            rewrites: step.rewrites.len(),
        }
    };
    if let Property::Diagnostic(text) = property {
        // The innermost step that failed stands behind those that it is in.
        let steps = session.trace().steps.iter().enumerate();
        let mut found = steps.flat_map(|(index, step)| said(step).map(move |message| (index, step.depth, message)));
        let first = found.clone().find(|(.., message)| message.contains(text.as_str()))?;
        let inner = found.rfind(|(.., message)| *message == first.2).unwrap_or(first);
        return Some(culprit(session, inner.0, inner.2.to_owned()));
    }
    if property.is_of_versions() {
        let first = session.split().1.first()?.clone();
        if let Some(why) = property.lost_in(session, &first) {
            let unknown = Culprit { step: None, ..culprit_of_nothing(why) };
            return Some(unknown);
        }
    }
    for change in changes(&session.trace().steps) {
        let why = match property {
            Property::Check => match trust.check_versions(session, change.step, change.before, change.after).report.verdict {
                Verdict::Different(found) => Some(found.to_string()),
                _ => None,
            },
            _ => {
                let after = session.split().1[change.after].clone();
                property.lost_in(session, &after)
            }
        };
        if let Some(why) = why {
            return Some(culprit(session, change.step, why));
        }
    }
    None
}

fn culprit_of_nothing(why: String) -> Culprit {
    Culprit { step: None, id: String::new(), name: String::new(), row: 0, why, rewrite: None, rule: String::new(), rewrites: 0 }
}

/// The messages that a step failed with or reported.
fn said(step: &Step) -> impl DoubleEndedIterator<Item = &str> + Clone {
    let failed: &[Diagnostic] = if let Outcome::Failed(found) = &step.outcome { found } else { &[] };
    failed.iter().chain(&step.reported).map(|found| found.message.as_str())
}

/// Runs the step with more and more of its rewrites. That what is lost stays lost is taken for granted, and looked at in the end.
fn first_rewrite(session: &mut Session, trust: &mut Trust, property: &Property, step: usize, culprit: &mut Culprit) {
    let before = session.trace().steps[step].before;
    let mut lost_after = |session: &mut Session, fuel: u32| {
        let after = session.stopped_after(step, fuel).ok()?;
        let before = session.split().1[before].clone();
        Some(match property {
            Property::Check => {
                matches!(trust.check_modules(session, step, &before, &after).verdict, Verdict::Different(_))
            }
            Property::Diagnostic(_) => false,
            _ => property.lost_in(session, &after).is_some(),
        })
    };
    let (mut kept, mut lost) = (0, culprit.rewrites.min(u32::MAX as usize) as u32);
    if lost == 0 || lost_after(session, 0) != Some(false) || lost_after(session, lost) != Some(true) {
        return;
    }
    while lost - kept > 1 {
        let middle = kept + (lost - kept) / 2;
        match lost_after(session, middle) {
            Some(true) => lost = middle,
            Some(false) => kept = middle,
            None => return,
        }
    }
    culprit.rewrite = Some(lost);
    if let Some(rewrite) = session.rewrites(step).into_iter().nth(lost as usize - 1) {
        culprit.rule = if rewrite.rule.is_empty() { rewrite.pre } else { format!("{}: {}", rewrite.rule, rewrite.pre) };
    }
}
