//! Patterns of the user's (`www/user/dpl.ts`): they come as packed numbers, and what is found and replaced is done here.
//!
//! Questions about a match go to the user's code through the host function, while what is lent is lent on.

use super::{HostCall, Js, Lent, Subject, Words, error, lend, module_words, run};
use crate::boundary::scripts::{Dpl, PatternKind};
use crate::diag::Diagnostic;
use crate::ir::sort::sort_by;
use crate::ir::{Binding, Dialect, Expr, ExprId, Id, Module, Store, VarId};
use crate::pass::manager::Runner;
use crate::passes::relax::fuse_ops_by_pattern::{Check, FusionPattern, annotate, fuse_ops_by_pattern};
use crate::passes::relax::pattern_rewriting::{BindingRewriter, CallRewriter, GraphRewriter, Replacements, rewrite_bindings};
use crate::pattern::{Bound, Context, Edge, Matcher, Matches, Pat, Pattern, Patterns, TOO_MANY_STEPS, match_graph};
use crate::words::Worded;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use wasm_bindgen::prelude::*;

/// The operations on patterns ([`Dpl`]), with a function of the user's where one is asked.
#[wasm_bindgen]
pub fn user_dpl(what: u32, words: &[u32], ask: JsValue) -> Js<Vec<u32>> {
    run::reach(|lent| {
        let mut read = Words::new(&lent.store, words);
        let patterns = read_patterns(&mut read)?;
        let found = match Dpl::at(what).ok_or_else(|| error("patterns are not asked that"))? {
            Dpl::Match => one(lent, &patterns, words, read.words.len()),
            Dpl::MatchBlock => graph(lent, &patterns, words, read.words.len()),
            Dpl::RewriteCall => rewrite(lent, &patterns, words, read.words.len(), false, ask),
            Dpl::RewriteBindings => rewrite(lent, &patterns, words, read.words.len(), true, ask),
            Dpl::Fuse => fuse(lent, &patterns, words, read.words.len(), ask),
        };
        if patterns.gave_up() { Err(error(&format!("the pattern {TOO_MANY_STEPS}"))) } else { found }
    })
}

/// The words that are left.
fn rest<'w>(store: &'w Store, words: &'w [u32], left: usize) -> Words<'w> {
    Words::new(store, &words[words.len() - left..])
}

fn pat(read: &mut Words<'_>, patterns: &Patterns) -> Js<Pat> {
    let index = read.word()? as usize;
    if index < patterns.len() { Ok(Id::from_index(index)) } else { Err(error("there is no such pattern")) }
}

/// Patterns: how many, and of each its kind, how many words follow, and those. A pattern is made of those before it.
fn read_patterns(read: &mut Words<'_>) -> Js<Patterns> {
    let mut patterns = Patterns::new();
    let mut depths: Vec<usize> = Vec::new();
    for _ in 0..read.count()? {
        let (kind, length) = (read.word()?, read.count()?);
        let (own, after) = read.words.as_slice().split_at(length);
        read.words = after.iter();
        let below = Cell::new(0);
        let part = |read: &mut Words<'_>| {
            let part = pat(read, &patterns)?;
            below.set(below.get().max(depths[part.index()]));
            Ok(part)
        };
        let kind = PatternKind::at(kind).ok_or_else(|| error("there is no pattern of this kind"))?;
        let pattern = read_pattern(&mut Words::new(read.store, own), kind, &part)?;
        patterns.add(pattern);
        depths.push(below.get() + 1);
    }
    // Matching recurses along the pattern.
    if depths.iter().any(|depth| *depth > MAX_DEPTH) {
        return Err(error("the pattern is too deep"));
    }
    Ok(patterns)
}

/// The greatest depth of a pattern.
const MAX_DEPTH: usize = 200;

fn read_pattern(read: &mut Words<'_>, kind: PatternKind, one: &dyn Fn(&mut Words<'_>) -> Js<Pat>) -> Js<Pattern> {
    let text = |read: &mut Words<'_>| read.name().map(|name| read.store.str(name).to_owned());
    let dims = |read: &mut Words<'_>| {
        let mut dims = Vec::new();
        while read.words.len() > 0 {
            dims.push(super::relax::read_dim(read, Dialect::Relax)?);
        }
        Ok::<_, JsValue>(dims)
    };
    Ok(match kind {
        PatternKind::Wildcard => Pattern::Wildcard,
        PatternKind::Const => Pattern::Constant,
        PatternKind::Var => Pattern::Var(Some(text(read)?)),
        PatternKind::DataflowVar => Pattern::DataflowVar(Some(text(read)?)),
        PatternKind::GlobalVar => Pattern::Global(text(read)?),
        PatternKind::Extern => Pattern::Extern(Some(text(read)?)),
        PatternKind::Expr => {
            let expr = read.expr()?;
            match read.store.expr(expr) {
                Expr::Op(op) => Pattern::Op(op),
                _ => Pattern::Expr(expr),
            }
        }
        PatternKind::Call => {
            let (callee, more) = (one(read)?, read.word()? != 0);
            Pattern::Call { callee, args: read.rest(one)?, more }
        }
        PatternKind::Function => {
            let (body, any) = (one(read)?, read.word()? != 0);
            let params = read.rest(one)?;
            Pattern::Function { params: (!any).then_some(params), body }
        }
        PatternKind::Tuple => Pattern::Tuple(read.rest(one)?),
        PatternKind::Unordered => Pattern::UnorderedTuple(read.rest(one)?),
        PatternKind::Item => Pattern::TupleGetItem { tuple: one(read)?, index: read.word()?.checked_sub(1) },
        PatternKind::Or => Pattern::Or(one(read)?, one(read)?),
        PatternKind::And => Pattern::And(one(read)?, one(read)?),
        PatternKind::Not => Pattern::Not(one(read)?),
        PatternKind::Attr => {
            let (pat, attrs) = (one(read)?, read.maybe(Store::attrs_at)?);
            let wanted = attrs.map_or(&[][..], |attrs| &read.store.attrs_of_id(attrs).fields);
            Pattern::Attrs(pat, wanted.iter().map(|(name, value)| (read.store.str(*name).to_owned(), value.clone())).collect())
        }
        PatternKind::Type => Pattern::Type(one(read)?, read.ty()?),
        PatternKind::Shape => Pattern::Shape(one(read)?, dims(read)?),
        PatternKind::DType => {
            let (pat, name) = (one(read)?, read.name()?);
            Pattern::DType(pat, super::element_type(read.store.str(name))?)
        }
        PatternKind::Extents => Pattern::Extents(dims(read)?),
    })
}

/// Reads pairs of a producer and its consumer, then groups of patterns that have the same shape.
fn read_context(read: &mut Words<'_>, patterns: &Patterns) -> Js<Context> {
    let mut context = Context::new();
    for _ in 0..read.count()? {
        let (producer, consumer) = (pat(read, patterns)?, pat(read, patterns)?);
        let index = read.word()?.checked_sub(1).map(|index| index as usize);
        context.used_by(producer, consumer, Edge { only: read.word()? != 0, index });
    }
    for _ in 0..read.count()? {
        let count = read.count()?;
        context.same_shape(&read.many(count, |read| pat(read, patterns))?);
    }
    Ok(context)
}

fn pairs(matches: &Matches) -> impl Iterator<Item = u32> + '_ {
    matches.iter().flat_map(|(pat, expr)| [pat.index() as u32, expr.index() as u32])
}

/// The patterns that stand for a variable, with it.
fn found_words(store: &mut Store, found: &FxHashMap<Pat, VarId>) -> Vec<u32> {
    let mut found: Vec<(Pat, VarId)> = found.iter().map(|(pat, var)| (*pat, *var)).collect();
    sort_by(&mut found, |a, b| a.0.index().cmp(&b.0.index()));
    found.into_iter().flat_map(|(pat, var)| [pat.index() as u32, store.use_var(var).index() as u32]).collect()
}

/// Matches a pattern: gives nothing, or one word and pairs of a part and the expression that it stands for.
fn one(lent: &mut Lent, patterns: &Patterns, words: &[u32], left: usize) -> Js<Vec<u32>> {
    let mut read = rest(&lent.store, words, left);
    let (root, expr) = (pat(&mut read, patterns)?, read.expr()?);
    let mut bound = Bound::default();
    while read.words.len() > 0 {
        bound.insert(read.var()?, read.expr()?);
    }
    // A variable that is bound to itself would be followed for ever.
    if bound.iter().any(|(var, value)| leads_to_itself(&lent.store, &bound, *var, *value)) {
        return Err(error("a variable is bound to itself"));
    }
    let found = Matcher::new(patterns, &bound).matches(&mut lent.store, root, expr);
    Ok(found.map_or(Vec::new(), |found| [1].into_iter().chain(pairs(&found)).collect()))
}

fn leads_to_itself(store: &Store, bound: &Bound, var: VarId, mut value: ExprId) -> bool {
    for _ in 0..=bound.len() {
        match store.expr(value) {
            Expr::Var(next) if next == var => return true,
            Expr::Var(next) => match bound.get(&next) {
                Some(next) => value = *next,
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

/// The variables of a block that patterns stand for.
fn graph(lent: &mut Lent, patterns: &Patterns, words: &[u32], left: usize) -> Js<Vec<u32>> {
    let mut read = rest(&lent.store, words, left);
    let (context, block) = (read_context(&mut read, patterns)?, read.block()?);
    let store = &mut lent.store;
    let bindings: Vec<Binding> = store.block_bindings(block).collect();
    let bound = bindings.iter().map(|binding| (binding.var, binding.value)).collect();
    let found = match_graph(store, patterns, &context, &bindings, &bound);
    Ok(found.map_or(Vec::new(), |found| found_words(store, &found)))
}

/// Asks the user's code, and keeps the first thing that went wrong: after it nothing is asked any more.
pub(in crate::wasm::user) struct Asking<'r> {
    runner: Option<&'r mut Runner>,
    subject: Option<Subject>,
    dialect: Dialect,
    ask: JsValue,
    failed: Option<String>,
}

impl Asking<'_> {
    pub(super) fn ask<T>(
        &mut self,
        store: &mut Store,
        index: u32,
        words: &[u32],
        read: impl FnOnce(&Store, JsValue) -> Js<T>,
    ) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        let call = HostCall { what: "ask", index, words, info: self.ask.clone(), dialect: self.dialect };
        let answer = lend(store, self.runner.as_deref_mut(), self.subject, &call);
        match answer.and_then(|answer| read(store, answer).map_err(|e| super::thrown_text(&e))) {
            Ok(answer) => Some(answer),
            Err(message) => {
                self.failed = Some(message);
                None
            }
        }
    }
}

/// Does something that asks the user's code.
pub(super) fn asking<T>(
    lent: &mut Lent,
    ask: JsValue,
    f: impl FnOnce(&mut Store, &mut Asking<'_>) -> Result<T, Vec<Diagnostic>>,
) -> Js<T> {
    let mut runner = lent.runner.take();
    let (subject, dialect) = (lent.subject, lent.dialect);
    let mut asking = Asking { runner: runner.as_mut(), subject, dialect, ask, failed: None };
    let result = f(&mut lent.store, &mut asking);
    let failed = asking.failed;
    lent.runner = runner;
    match (failed, result) {
        (Some(message), _) => Err(error(&message)),
        (None, result) => result.map_err(run::thrown),
    }
}

pub(super) fn ids(answer: JsValue) -> Vec<u32> {
    answer.dyn_into::<js_sys::Uint32Array>().map_or(Vec::new(), |words| words.to_vec())
}

/// A function in which values that look like a pattern, or bindings that several patterns stand for, are replaced.
fn rewrite(lent: &mut Lent, patterns: &Patterns, words: &[u32], left: usize, graph: bool, ask: JsValue) -> Js<Vec<u32>> {
    let mut read = rest(&lent.store, words, left);
    let context = read_context(&mut read, patterns)?;
    let (root, function, module) = (pat(&mut read, patterns)?, read.expr()?, read.module()?);
    if lent.store.as_function(function).is_none() {
        return Err(error("a function is needed here"));
    }
    let rule = lent.subject.map_or("pattern", |subject| subject.rule);
    let new = asking(lent, ask, |store, asking| {
        let run = |rewriter: &mut dyn BindingRewriter, store: &mut Store| rewrite_bindings(store, &module, function, rewriter);
        if graph {
            let make = &mut |store: &mut Store, found: &FxHashMap<Pat, VarId>, bindings: &[Binding]| -> Replacements {
                let found = found_words(store, found);
                let mut words = vec![found.len() as u32];
                words.extend(found);
                for binding in bindings {
                    words.extend([store.use_var(binding.var).index() as u32, binding.value.index() as u32]);
                }
                let read = |store: &Store, answer: JsValue| {
                    let answer = ids(answer);
                    let mut read = Words::new(store, &answer);
                    read.many(answer.len() / 2, |read| Ok((read.var()?, read.expr()?)))
                };
                asking.ask(store, 0, &words, read).unwrap_or_default()
            };
            run(&mut GraphRewriter { rule, patterns, context: &context, make }, store)
        } else {
            let make = |store: &mut Store, number: usize, expr: ExprId, found: &Matches| {
                let words: Vec<u32> = [expr.index() as u32].into_iter().chain(pairs(found)).collect();
                asking.ask(store, number as u32, &words, |store, answer| Words::new(store, &ids(answer)).expr())
            };
            run(&mut CallRewriter::numbered(rule, patterns, root, make), store)
        }
    })?;
    Ok(vec![new.index() as u32])
}

/// A module in which calls that look like one of the patterns are functions (`FuseOpsByPattern`).
fn fuse(lent: &mut Lent, patterns: &Patterns, words: &[u32], left: usize, ask: JsValue) -> Js<Vec<u32>> {
    let mut read = rest(&lent.store, words, left);
    let (bind_constants, wrap) = (read.word()? != 0, read.word()? != 0);
    let count = read.count()?;
    let entries = read.many(count, Words::name)?;
    let count = read.count()?;
    let fusions = read.many(count, |read| {
        let name = read.name()?;
        Ok((read.store.str(name).to_owned(), pat(read, patterns)?, read.word()? != 0))
    })?;
    let mut module: Module = read.module()?;
    let new = asking(lent, ask, |store, asking| {
        for (index, (name, pattern, asks)) in (0..).zip(&fusions) {
            let mut check = |store: &mut Store, expr: ExprId, found: &Matches, bound: &FxHashMap<ExprId, VarId>| {
                let mut words = vec![expr.index() as u32];
                for (pat, found) in found.iter() {
                    // Operands enter the function, except those that wildcards match.
                    let inside = matches!(patterns.get(pat), Pattern::Call { .. } | Pattern::TupleGetItem { .. });
                    let var = bound.get(&found).filter(|_| inside);
                    let var = var.map_or(0, |var| store.use_var(*var).index() as u32 + 1);
                    words.extend([pat.index() as u32, found.index() as u32, var]);
                }
                asking.ask(store, index, &words, |_, answer| Ok(answer.is_truthy())).unwrap_or(false)
            };
            let check: Option<Check<'_>> = if *asks { Some(&mut check) } else { None };
            let fusion = FusionPattern { name, patterns, pattern: *pattern, check };
            module = fuse_ops_by_pattern(store, &module, &mut [fusion], bind_constants, &entries)?;
        }
        if wrap { annotate(store, &module) } else { Ok(module.clone()) }
    })?;
    Ok(module_words(&new))
}
