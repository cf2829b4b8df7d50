//! Makes a program and its list small while a property is still lost to the same pass: delta debugging (Zeller and
//! Hildebrandt 2002, `ddmin`) over what programs are made of, after which types decide whether a candidate is one.

use super::property::{Culprit, Property, bisect, first_step};
use super::shrink::map_numbers;
use super::text::{Text, names, renamed, with_params};
use super::{Trust, kept_name};
use crate::check::step::Budget;
use crate::print::Numbering;
use crate::repro::{Document, DocumentRow};
use crate::session::Session;

/// The kinds of things that are taken out, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// All rows but one, and the program as it was before it.
    Before,
    /// Rows of the list.
    Rows,
    /// Entries of the context, instruments, a script.
    Context,
    /// Whole functions.
    Functions,
    /// The text behind a binding, which becomes the result.
    Tail,
    /// Bindings; what used one takes a parameter in its place.
    Bindings,
    /// Bindings; what used one takes another variable of its type.
    Aliases,
    /// Parameters of the same type become one.
    Merge,
    /// Constants, for which parameters stand.
    Constants,
    /// Parameters that nothing uses.
    Params,
    /// Lines with what is nested in them.
    Lines,
    /// Numbers.
    Numbers,
}

const STAGES: [Stage; 12] = [
    Stage::Before,
    Stage::Rows,
    Stage::Context,
    Stage::Functions,
    Stage::Tail,
    Stage::Bindings,
    Stage::Constants,
    Stage::Aliases,
    Stage::Merge,
    Stage::Params,
    Stage::Lines,
    Stage::Numbers,
];

/// Rounds over all stages; what one takes out lets others go further.
const ROUNDS: usize = 3;

/// A reduction under way: every step is one candidate, so that it can be left at any moment with the best so far.
pub struct Reducer {
    /// The smallest document found that still shows it.
    pub best: Document,
    /// The step that is to blame in it.
    pub culprit: Culprit,
    /// The number of candidates that were tried.
    pub tried: usize,
    property: Property,
    /// A session to run candidates in, for the passes of a script.
    like: Session,
    stage: usize,
    chunk: usize,
    cursor: usize,
    rounds: usize,
    improved: bool,
}

impl Reducer {
    /// Begins with the last run of a session. Nothing when the property is not lost in it.
    pub fn new(session: &mut Session, property: &Property) -> Option<Reducer> {
        let document = session.document().clone();
        let mut trust = Trust::default();
        let culprit = bisect(session, &mut trust, property)?;
        culprit.step?;
        let mut reducer = Reducer {
            best: document.clone(),
            culprit,
            tried: 0,
            property: property.clone(),
            like: session.like(),
            stage: 0,
            chunk: 0,
            cursor: 0,
            rounds: 0,
            improved: false,
        };
        if let Some(source) = session.text(0, Numbering::Exact) {
            reducer.attempt(Document { source, ..document });
        }
        reducer.enter();
        Some(reducer)
    }

    /// Tries the next candidate. False when there is none.
    pub fn advance(&mut self) -> bool {
        if self.stage == STAGES.len() {
            self.rounds += 1;
            if !self.improved || self.rounds == ROUNDS {
                return false;
            }
            (self.stage, self.improved) = (0, false);
            self.enter();
        }
        let stage = STAGES[self.stage];
        let count = self.count(stage);
        if self.chunk == 0 || count == 0 {
            self.next_stage();
            return true;
        }
        if self.cursor >= count || (stage == Stage::Tail && self.cursor > 0) {
            (self.chunk, self.cursor) = (if self.chunk == 1 { 0 } else { self.chunk.div_ceil(2) }, 0);
            return true;
        }
        let candidate = self.without(stage, self.cursor..(self.cursor + self.chunk).min(count));
        let taken = candidate.is_some_and(|document| document != self.best && self.attempt(document));
        self.improved |= taken;
        if !taken || self.count(stage) >= count {
            self.cursor += self.chunk;
        }
        true
    }

    /// Tries all candidates, as long as `goes_on` says so after each.
    pub fn finish(&mut self, goes_on: &mut dyn FnMut(&Reducer) -> bool) {
        while self.advance() && goes_on(self) {}
        self.settle();
    }

    /// Finds the rewrite in the smallest document.
    pub fn settle(&mut self) {
        let mut session = self.like.like();
        if session.run(&self.best, false)
            && let Some(culprit) = bisect(&mut session, &mut Trust::new(BUDGET), &self.property)
            && culprit.name == self.culprit.name
        {
            self.culprit = culprit;
        }
    }

    /// The number of bindings of the smallest program.
    pub fn bindings(&self) -> usize {
        Text::new(&self.best.source).bindings.len()
    }

    fn enter(&mut self) {
        self.cursor = 0;
        self.chunk = match STAGES.get(self.stage) {
            None => 0,
            Some(Stage::Before | Stage::Aliases | Stage::Merge | Stage::Numbers) => 1,
            Some(stage) => self.count(*stage),
        };
    }

    fn next_stage(&mut self) {
        self.stage += 1;
        // Types and names as they are now.
        let mut session = self.like.like();
        if self.improved
            && session.run(&self.best, false)
            && let Some(source) = session.text(0, Numbering::Exact).filter(|source| *source != self.best.source)
        {
            self.attempt(Document { source, ..self.best.clone() });
        }
        self.enter();
    }

    /// True if a document still shows it; then it is the best.
    fn attempt(&mut self, document: Document) -> bool {
        self.tried += 1;
        let mut session = self.like.like();
        if !session.run(&document, false) {
            return false;
        }
        match first_step(&mut session, &mut Trust::new(BUDGET), &self.property) {
            Some(found) if found.step.is_some() && kept_name(&found.name) == kept_name(&self.culprit.name) => {
                self.culprit = Culprit { rewrite: None, ..found };
                self.best = document;
                true
            }
            _ => false,
        }
    }

    fn count(&self, stage: Stage) -> usize {
        let text = || Text::new(&self.best.source);
        match stage {
            Stage::Before => usize::from(self.best.rows.len() > 1),
            Stage::Rows => self.best.rows.len(),
            Stage::Context => entries(&self.best),
            Stage::Functions => text().functions.len(),
            Stage::Tail | Stage::Bindings | Stage::Aliases => text().bindings.len(),
            Stage::Constants => constants(&self.best.source).len(),
            Stage::Merge | Stage::Params => {
                let text = text();
                (0..text.functions.len()).map(|function| text.params(function).len()).sum()
            }
            Stage::Lines => text().lines.len(),
            Stage::Numbers => 3 * numbers(&self.best.source).len(),
        }
    }

    /// The best document without some of its parts.
    fn without(&self, stage: Stage, range: std::ops::Range<usize>) -> Option<Document> {
        let mut document = self.best.clone();
        let text = Text::new(&self.best.source);
        let lines = |text: &Text, out: &dyn Fn(usize) -> bool| text.with(&|at, line| (!out(at)).then(|| line.to_owned()));
        document.source = match stage {
            Stage::Before => {
                let mut session = self.like.like();
                session.run(&self.best, false);
                let row = self.culprit.row;
                let first = session.trace().steps.iter().find(|step| step.row == row)?.before;
                document.rows = vec![DocumentRow { enabled: true, ..self.best.rows.get(row)?.clone() }];
                session.text(first, Numbering::Exact)?
            }
            Stage::Rows => {
                document.rows.drain(range);
                return Some(document);
            }
            Stage::Context => {
                remove_entries(&mut document, range);
                return Some(document);
            }
            Stage::Functions => {
                let out = &text.functions[range];
                lines(&text, &|at| out.iter().any(|function| function.lines.contains(&at)))
            }
            Stage::Tail => tail(&text, range.len())?,
            Stage::Bindings => bindings(&text, range),
            Stage::Aliases => alias(&text, range.start)?,
            Stage::Merge => merge(&text, range.start)?,
            Stage::Constants => constant(&text, &self.best.source, range)?,
            Stage::Params => params(&text, range),
            Stage::Lines => {
                let out = nested(&text, range)?;
                lines(&text, &|at| out.contains(&at))
            }
            Stage::Numbers => {
                let number = *numbers(&self.best.source).get(range.start / 3)?;
                let smaller = [1, 2, number / 2][range.start % 3];
                if smaller >= number {
                    return None;
                }
                map_numbers(&self.best.source, &mut |n| if n == number { smaller } else { n })
            }
        };
        Some(document)
    }
}

/// The work that one check of a candidate may do: candidates are many.
const BUDGET: Budget = Budget { work: 1_000_000 };

fn entries(document: &Document) -> usize {
    let context = &document.context;
    document.instruments.len() + context.required.len() + context.disabled.len() + context.config.iter().count()
}

fn remove_entries(document: &mut Document, range: std::ops::Range<usize>) {
    let mut at = 0;
    let mut kept = || {
        at += 1;
        !range.contains(&(at - 1))
    };
    document.instruments.retain(|_| kept());
    document.context.required.retain(|_| kept());
    document.context.disabled.retain(|_| kept());
    document.context.config =
        document.context.config.iter().filter(|_| kept()).map(|(key, value)| (key.clone(), value.clone())).collect();
}

/// The name under which something is a parameter.
fn param_name(text: &Text, name: &str) -> String {
    match name.strip_prefix('%').filter(|_| text.is_relay) {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => format!("%p{number}"),
        _ => name.to_owned(),
    }
}

/// The last function's last `count` bindings left out; the one before them is what it gives.
fn tail(text: &Text, count: usize) -> Option<String> {
    // The result is looked for in the function with the most bindings, which is where the program is.
    let size = |function: &usize| text.bindings.iter().filter(|bound| bound.function == *function).count();
    let function = (0..text.functions.len()).max_by_key(size)?;
    let outer = text.bindings.iter().filter(|bound| bound.function == function).map(|bound| bound.indent).min()?;
    let inside: Vec<_> = text.bindings.iter().filter(|bound| bound.function == function).collect();
    let top: Vec<_> = inside.iter().filter(|bound| bound.indent == outer).collect();
    let last = top.len().checked_sub(count + 1)?;
    let (kept, lines) = (top[last], text.functions[function].lines.clone());
    let head = text.functions[function].head;
    let result = &kept.name;
    Some(text.with(&|at, line| match at {
        _ if at == head => Some(with_params(line, &text.params(function), false)),
        _ if !lines.contains(&at) || at < kept.lines.end => Some(line.to_owned()),
        _ if text.is_relay => match at + 1 == lines.end {
            true => Some(format!("  {result}\n}}")),
            false => None,
        },
        _ if line.trim_start().starts_with("R.output(") => {
            Some(format!("{}R.output({result})", &line[..line.len() - line.trim_start().len()]))
        }
        _ if line.trim_start().starts_with("return ") => {
            Some(format!("{}return {result}", &line[..line.len() - line.trim_start().len()]))
        }
        _ => None,
    }))
}

/// Some bindings left out; parameters stand for those that are still used.
fn bindings(text: &Text, range: std::ops::Range<usize>) -> String {
    let out = &text.bindings[range];
    let gone = |at: usize| out.iter().any(|bound| bound.lines.contains(&at));
    let used = |bound: &super::text::Binding| {
        let function = &text.functions[bound.function];
        (function.head + 1..function.lines.end).any(|at| !gone(at) && names(text.lines[at], &bound.name))
    };
    let wanted: Vec<_> = out.iter().filter(|bound| used(bound)).collect();
    let mut made: Vec<(usize, Vec<(String, String)>)> = Vec::new();
    for (index, _) in text.functions.iter().enumerate() {
        let of = wanted.iter().filter(|bound| bound.function == index);
        let new: Vec<_> = of.filter_map(|bound| Some((param_name(text, &bound.name), bound.ty.clone()?))).collect();
        if !new.is_empty() {
            made.push((index, new));
        }
    }
    text.with(&|at, line| {
        if gone(at) {
            return None;
        }
        if let Some((function, new)) = made.iter().find(|(function, _)| text.functions[*function].head == at) {
            let mut params = text.params(*function);
            params.extend(new.iter().cloned());
            return Some(with_params(line, &params, true));
        }
        let inside = wanted.iter().filter(|bound| text.functions[bound.function].lines.contains(&at));
        Some(inside.fold(line.to_owned(), |line, bound| renamed(&line, &bound.name, &param_name(text, &bound.name))))
    })
}

/// A binding left out; the first variable of the same type stands for it.
fn alias(text: &Text, index: usize) -> Option<String> {
    let bound = text.bindings.get(index)?;
    let ty = bound.ty.as_ref()?;
    let params = text.params(bound.function);
    let earlier = text.bindings[..index].iter().filter(|other| other.function == bound.function && other.indent <= bound.indent);
    let all = params.iter().map(|(name, ty)| (name, Some(ty))).chain(earlier.map(|other| (&other.name, other.ty.as_ref())));
    let other = all.into_iter().find(|(_, known)| *known == Some(ty))?.0;
    let lines = &text.functions[bound.function].lines;
    Some(text.with(&|at, line| match at {
        _ if bound.lines.contains(&at) => None,
        _ if lines.contains(&at) => Some(renamed(line, &bound.name, other)),
        _ => Some(line.to_owned()),
    }))
}

/// The function and place of a parameter, by its number among all.
fn param_at(text: &Text, index: usize) -> Option<(usize, usize)> {
    let mut left = index;
    for function in 0..text.functions.len() {
        let count = text.params(function).len();
        if left < count {
            return Some((function, left));
        }
        left -= count;
    }
    None
}

/// A parameter left out for which an earlier one of the same type stands.
fn merge(text: &Text, index: usize) -> Option<String> {
    let (function, place) = param_at(text, index)?;
    let mut params = text.params(function);
    let (name, ty) = params.remove(place);
    let (other, _) = params[..place].iter().find(|(_, known)| *known == ty)?.clone();
    let (lines, head) = (&text.functions[function].lines, text.functions[function].head);
    Some(text.with(&|at, line| match at {
        _ if at == head => Some(with_params(line, &params, true)),
        _ if lines.contains(&at) => Some(renamed(line, &name, &other)),
        _ => Some(line.to_owned()),
    }))
}

/// Parameters left out, as far as they are not used.
fn params(text: &Text, range: std::ops::Range<usize>) -> String {
    let out: Vec<(usize, usize)> = range.filter_map(|index| param_at(text, index)).collect();
    text.with(&|at, line| {
        let Some(function) = text.functions.iter().position(|function| function.head == at) else { return Some(line.to_owned()) };
        let body = &text.lines[at + 1..text.functions[function].lines.end];
        let kept = |(place, (name, _)): &(usize, (String, String))| {
            !out.contains(&(function, *place)) || body.iter().any(|line| names(line, name))
        };
        let kept: Vec<_> = text.params(function).into_iter().enumerate().filter(kept).map(|(_, param)| param).collect();
        Some(if kept.len() == text.params(function).len() { line.to_owned() } else { with_params(line, &kept, true) })
    })
}

/// Constants of the metadata section where they are used: their place and their type.
fn constants(source: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (at, _) in source.match_indices("meta[relay.Constant][") {
        let Some(end) = source[at..].find("] /* ty=").map(|end| at + end + 1) else { continue };
        let ty =
            source[end..].trim_start_matches(" /* ty=").split(" */").next().unwrap_or("").split(" span=").next().unwrap_or("");
        let constant = (source[at..end].to_owned(), ty.to_owned());
        if end - at < 40 && !found.contains(&constant) {
            found.push(constant);
        }
    }
    found
}

/// Parameters in the place of constants; without any the metadata section goes, too.
fn constant(text: &Text, source: &str, range: std::ops::Range<usize>) -> Option<String> {
    let all = constants(source);
    let function = text.functions.iter().position(|function| text.lines[function.head].starts_with("def @main("))?;
    let (head, mut params) = (text.functions[function].head, text.params(function));
    let chosen = all.get(range)?;
    let name = |constant: &str| format!("%c{}", constant.trim_end_matches(']').rsplit('[').next().unwrap_or("0"));
    params.extend(chosen.iter().map(|(constant, ty)| (name(constant), ty.clone())));
    let is_all = chosen.len() == all.len();
    let metadata = text.lines.iter().position(|line| line.starts_with("#[metadata]")).filter(|_| is_all).unwrap_or(usize::MAX);
    Some(text.with(&|at, line| match at {
        _ if at >= metadata => None,
        _ if at == head => Some(with_params(line, &params, true)),
        _ => Some(chosen.iter().fold(line.to_owned(), |line, (constant, _)| line.replace(constant.as_str(), &name(constant)))),
    }))
}

/// Lines of a range with all that is nested deeper below them. Nothing for blank lines alone.
fn nested(text: &Text, range: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = text.lines[range.start];
    if range.len() == 1 && (first.trim().is_empty() || first.starts_with('#')) {
        return None;
    }
    let deeper = |line: &&&str| !line.trim().is_empty() && indent(line) > indent(first);
    let below = text.lines[range.end..].iter().take_while(deeper).count();
    Some(range.start..range.end + if range.len() == 1 { below } else { 0 })
}

/// The numbers of a text from 2 on, the largest first.
fn numbers(source: &str) -> Vec<i64> {
    let mut found = std::collections::BTreeSet::new();
    map_numbers(source, &mut |n| {
        found.insert(n);
        n
    });
    found.into_iter().rev().filter(|n| *n > 1).collect()
}
