//! Arithmetic of scalars for Python: analyzers, which it knows by number, and what they are asked.
//!
//! A question is a name and numbers: ids of scalars and variables, counts before lists, whole numbers in two halves. An end of
//! an interval is 0 below everything, 1 above everything, or 2 more than the id of its value. Iterators (`marks`) come first,
//! each before those made of it: 0 and a scalar, 1 and a sum, or 2 and a digit, then the extent. A digit is the number of its
//! iterator, divisor, extent and factor; a sum is its digits and the base.

use crate::ir::{Id, PrimId, Store, Symbol};
use crate::tir::arith::iter::{self, Level, Mark, Source, Split, Sum};
use crate::tir::arith::{
    Analyzer, Bound, Domains, End, IntSet, Modular, Scope, Strength, covering_region, deduce_bound, eval_set_with, lanes_of,
    strict_region,
};
use crate::tir::index_map::IndexMap;
use crate::wasm::user::{Js, error, with};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A script may have this many analyzers.
const MAX_ANALYZERS: usize = 200_000;

/// An analyzer, and the conditions that it is in.
#[derive(Default)]
struct Held {
    analyzer: Analyzer,
    scopes: Vec<Scope>,
}

thread_local! {
    static ANALYZERS: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Forgets all analyzers.
pub(super) fn forget() {
    ANALYZERS.take();
}

/// The numbers of a question, read one after the other.
struct Numbers<'a>(std::slice::Iter<'a, u32>);

impl Numbers<'_> {
    fn word(&mut self) -> Js<u32> {
        self.0.next().copied().ok_or_else(|| error("a number is missing"))
    }

    fn long(&mut self) -> Js<i64> {
        let low = self.word()?;
        Ok((u64::from(low) | u64::from(self.word()?) << 32) as i64)
    }

    fn prim(&mut self, store: &Store) -> Js<PrimId> {
        store.prim_at(self.word()? as usize).ok_or_else(|| error("there is no such scalar"))
    }

    fn symbol(&mut self, store: &Store) -> Js<Id<Symbol>> {
        store.symbol_at(self.word()? as usize).ok_or_else(|| error("there is no such variable"))
    }

    fn many<T>(&mut self, store: &Store, mut read: impl FnMut(&mut Self, &Store) -> Js<T>) -> Js<Vec<T>> {
        (0..self.word()?).map(|_| read(self, store)).collect()
    }

    fn maybe<T>(&mut self, store: &Store, read: impl FnMut(&mut Self, &Store) -> Js<T>) -> Js<Option<T>> {
        Ok(self.many(store, read)?.pop())
    }

    fn pair(&mut self, store: &Store) -> Js<(PrimId, PrimId)> {
        Ok((self.prim(store)?, self.prim(store)?))
    }

    fn prims(&mut self, store: &Store) -> Js<Vec<PrimId>> {
        self.many(store, Self::prim)
    }

    fn iters(&mut self, store: &Store) -> Js<Vec<(Id<Symbol>, (PrimId, PrimId))>> {
        self.many(store, |read, store| Ok((read.symbol(store)?, read.pair(store)?)))
    }

    fn end(&mut self, store: &Store) -> Js<End> {
        match self.word()? {
            0 => Ok(End::NegInf),
            1 => Ok(End::PosInf),
            id => store.prim_at(id as usize - 2).map(End::At).ok_or_else(|| error("there is no such scalar")),
        }
    }

    fn set(&mut self, store: &Store) -> Js<IntSet> {
        Ok(IntSet { min: self.end(store)?, max: self.end(store)? })
    }

    fn domains(&mut self, store: &Store) -> Js<Domains> {
        Ok(self.many(store, |read, store| Ok((read.symbol(store)?, read.set(store)?)))?.into_iter().collect())
    }

    fn level(&mut self) -> Js<Level> {
        Ok(match self.word()? {
            0 => Level::Bijective,
            1 => Level::Surjective,
            _ => Level::NoCheck,
        })
    }

    fn split(&mut self, store: &Store, marks: &[Rc<Mark>]) -> Js<Split> {
        let source = marks.get(self.word()? as usize).cloned().ok_or_else(|| error("there is no such iterator"))?;
        Ok(Split { source, lower: self.prim(store)?, extent: self.prim(store)?, scale: self.prim(store)? })
    }

    fn sum(&mut self, store: &Store, marks: &[Rc<Mark>]) -> Js<Sum> {
        let args = self.many(store, |read, store| read.split(store, marks))?;
        Ok(Sum { args, base: self.prim(store)? })
    }

    fn marks(&mut self, store: &Store) -> Js<Vec<Rc<Mark>>> {
        let mut marks: Vec<Rc<Mark>> = Vec::new();
        for _ in 0..self.word()? {
            let source = match self.word()? {
                0 => Source::Prim(self.prim(store)?),
                1 => Source::Sum(self.sum(store, &marks)?),
                _ => Source::Split(self.split(store, &marks)?),
            };
            marks.push(Rc::new(Mark { source, extent: self.prim(store)? }));
        }
        Ok(marks)
    }
}

/// Iterators under way to Python.
#[derive(Default)]
struct Marks {
    known: Vec<Rc<Mark>>,
    words: Vec<u32>,
}

impl Marks {
    /// The number of an iterator, which is written if it was not.
    fn mark(&mut self, mark: &Rc<Mark>) -> u32 {
        if let Some(known) = self.known.iter().position(|known| Rc::ptr_eq(known, mark)) {
            return known as u32;
        }
        let row = match &mark.source {
            Source::Prim(prim) => vec![0, number(*prim)],
            Source::Sum(sum) => [vec![1], self.sum(sum)].concat(),
            Source::Split(split) => [vec![2], self.split(split)].concat(),
        };
        self.words.extend(row);
        self.words.push(number(mark.extent));
        self.known.push(mark.clone());
        self.known.len() as u32 - 1
    }

    fn split(&mut self, split: &Split) -> Vec<u32> {
        vec![self.mark(&split.source), number(split.lower), number(split.extent), number(split.scale)]
    }

    fn sum(&mut self, sum: &Sum) -> Vec<u32> {
        let mut words = vec![sum.args.len() as u32];
        sum.args.iter().for_each(|split| words.extend(self.split(split)));
        words.push(number(sum.base));
        words
    }

    /// All iterators and what is made of them.
    fn finish(self, rest: Vec<u32>) -> Vec<u32> {
        [vec![self.known.len() as u32], self.words, rest].concat()
    }
}

fn number(prim: PrimId) -> u32 {
    prim.index() as u32
}

fn longs(a: i64, b: i64) -> Vec<u32> {
    [a, b].into_iter().flat_map(|value| [value as u32, (value >> 32) as u32]).collect()
}

fn ends(set: IntSet) -> [u32; 2] {
    [set.min, set.max].map(|end| match end {
        End::NegInf => 0,
        End::PosInf => 1,
        End::At(value) => number(value) + 2,
    })
}

fn counted(prims: &[PrimId]) -> Vec<u32> {
    std::iter::once(prims.len() as u32).chain(prims.iter().map(|prim| number(*prim))).collect()
}

fn sets(found: &[IntSet]) -> Vec<u32> {
    found.iter().flat_map(|set| ends(*set)).collect()
}

/// Asks an analyzer; `new` and `clone` make one. A number that no analyzer has stands for one without facts.
#[wasm_bindgen]
pub fn table_arith(analyzer: u32, what: &str, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        ANALYZERS.with_borrow_mut(|all| {
            let made = match what {
                "new" => Some(Analyzer::new()),
                "clone" => all.get(analyzer as usize).map(|held| held.analyzer.clone()),
                _ => None,
            };
            if let Some(analyzer) = made {
                if all.len() >= MAX_ANALYZERS {
                    return Err(error("there are too many analyzers"));
                }
                all.push(Held { analyzer, scopes: Vec::new() });
                return Ok(vec![all.len() as u32 - 1]);
            }
            let mut fresh = Held::default();
            let held = all.get_mut(analyzer as usize).unwrap_or(&mut fresh);
            answer(&mut lent.store, held, what, Numbers(words.iter()))
        })
    })
}

#[expect(clippy::too_many_lines, reason = "a table: an arm for each question")]
fn answer(store: &mut Store, held: &mut Held, what: &str, mut read: Numbers<'_>) -> Js<Vec<u32>> {
    let analyzer = &mut held.analyzer;
    Ok(match what {
        "simplify" => {
            let (expr, steps) = (read.prim(store)?, read.word()?);
            vec![number(analyzer.simplify_steps(store, expr, steps.min(100)))]
        }
        "rewrite_simplify" => {
            let expr = read.prim(store)?;
            vec![number(analyzer.rewrite_simplify(store, expr))]
        }
        "canonical_simplify" => {
            let expr = read.prim(store)?;
            vec![number(analyzer.canonical_simplify(store, expr))]
        }
        "const_int_bound" => {
            let expr = read.prim(store)?;
            let bound = analyzer.const_int_bound(store, expr);
            longs(bound.min, bound.max)
        }
        "modular_set" => {
            let expr = read.prim(store)?;
            let set = analyzer.modular_set(store, expr);
            longs(set.coeff, set.base)
        }
        "int_set" => {
            let expr = read.prim(store)?;
            let domains = read.maybe(store, Numbers::domains)?;
            let domains = domains.unwrap_or_else(|| analyzer.domains(store));
            ends(eval_set_with(store, analyzer, expr, &domains)).to_vec()
        }
        "can_prove" => {
            let (cond, strength) = (read.prim(store)?, read.word()?);
            let strength = if strength > 0 { Strength::SymbolicBound } else { Strength::Default };
            vec![u32::from(analyzer.can_prove_with(store, cond, strength))]
        }
        "can_prove_equal" => {
            let (a, b) = read.pair(store)?;
            vec![u32::from(analyzer.can_prove_equal(store, a, b))]
        }
        "bind" => {
            let (symbol, value) = (read.symbol(store)?, read.prim(store)?);
            analyzer.bind(store, symbol, value);
            vec![u32::from(analyzer.take_conflict())]
        }
        "bind_range" => {
            let (symbol, (min, extent)) = (read.symbol(store)?, read.pair(store)?);
            analyzer.bind_range(store, symbol, min, extent);
            vec![u32::from(analyzer.take_conflict())]
        }
        "is_bound" => vec![u32::from(analyzer.is_bound(read.symbol(store)?))],
        "assume_between" => {
            analyzer.assume_between(read.symbol(store)?, read.long()?.max(-Bound::INF), read.long()?);
            vec![]
        }
        "assume_modular" => {
            analyzer.assume_modular(read.symbol(store)?, Modular::new(read.long()?, read.long()?));
            vec![]
        }
        "assume_range" => {
            let (symbol, (min, extent)) = (read.symbol(store)?, read.pair(store)?);
            analyzer.assume_range(symbol, min, extent);
            vec![]
        }
        "enter" => {
            let cond = read.prim(store)?;
            held.scopes.push(analyzer.enter(store, cond));
            vec![]
        }
        "exit" => {
            let scope = held.scopes.pop().ok_or_else(|| error("there is no condition to leave"))?;
            analyzer.exit(scope);
            vec![]
        }
        "set_extensions" => {
            analyzer.set_extensions(read.word()? as u8);
            vec![]
        }
        "extensions" => vec![u32::from(analyzer.extensions())],
        "try_compare" => {
            let (a, b) = read.pair(store)?;
            vec![u32::from(analyzer.try_compare(store, a, b, read.word()? > 0).bits())]
        }
        "deduce_bound" => {
            let (target, cond) = read.pair(store)?;
            let (hints, relax) = (read.domains(store)?, read.domains(store)?);
            ends(deduce_bound(store, target, cond, &hints, &relax)).to_vec()
        }
        "lanes" => {
            let expr = read.prim(store)?;
            ends(lanes_of(store, expr)).to_vec()
        }
        "union_lower_bound" => {
            let all = read.many(store, Numbers::set)?;
            ends(IntSet::union_lower_bound(store, &all)).to_vec()
        }
        "estimate_region" => {
            let covering = read.word()? > 0;
            let region = read.many(store, Numbers::pair)?;
            let iters = read.iters(store)?;
            let predicate = read.maybe(store, Numbers::prim)?;
            match covering {
                true => sets(&covering_region(store, analyzer, &region, &iters, predicate)),
                false => strict_region(store, analyzer, &region, &iters, predicate).map_or(vec![], |found| sets(&found)),
            }
        }
        _ => return iterators(store, analyzer, what, read),
    })
}

/// A zero, the padding with one added or zero, and each reason: its text by characters, and what it names.
fn failed(failure: &iter::Failure) -> Vec<u32> {
    let mut words = vec![0, failure.padding.map_or(0, |padding| number(padding) + 1)];
    for reason in &failure.reasons {
        words.push(reason.text.chars().count() as u32);
        words.extend(reason.text.chars().map(u32::from));
        words.push(reason.about.len() as u32);
        words.extend(reason.about.iter().map(|prim| number(*prim)));
    }
    words
}

/// Questions about maps of iterators.
fn iterators(store: &mut Store, analyzer: &mut Analyzer, what: &str, mut read: Numbers<'_>) -> Js<Vec<u32>> {
    let mut marks = Marks::default();
    Ok(match what {
        "detect_iter_map" | "iter_map_simplify" | "subspace_divide" => {
            let (level, trivial) = (read.level()?, read.word()? > 0);
            let (indices, iters) = (read.prims(store)?, read.iters(store)?);
            let predicate = read.maybe(store, Numbers::prim)?;
            match what {
                "detect_iter_map" => match iter::detect_iter_map(store, analyzer, &indices, &iters, predicate, level, trivial) {
                    Err(failure) => failed(&failure),
                    Ok(map) => {
                        let mut rest = vec![number(map.padding), map.indices.len() as u32];
                        map.indices.iter().for_each(|sum| rest.extend(marks.sum(sum)));
                        [vec![1], marks.finish(rest)].concat()
                    }
                },
                "subspace_divide" => {
                    let inner = read.many(store, Numbers::symbol)?;
                    let found = iter::subspace_divide(store, analyzer, &indices, &iters, &inner, predicate, level, trivial);
                    found.map_or(vec![], |found| {
                        let mut rest = vec![number(found.outer), number(found.inner), found.parts.len() as u32];
                        for (outer, inner) in found.parts {
                            rest.extend([outer, inner].map(|mark| marks.mark(&Rc::new(mark))));
                        }
                        marks.finish(rest)
                    })
                }
                _ => counted(&iter::simplify_iter_map(store, analyzer, &indices, &iters, predicate, level, trivial)),
            }
        }
        "normalize_to_iter_sum" => {
            let (index, iters) = (read.prim(store)?, read.iters(store)?);
            let sum = iter::normalize_to_iter_sum(store, analyzer, index, &iters);
            let rest = marks.sum(&sum);
            marks.finish(rest)
        }
        "sum_to_prim" => {
            let known = read.marks(store)?;
            let sum = read.sum(store, &known)?;
            vec![number(iter::sum_to_prim(store, analyzer, &sum))]
        }
        "digit_to_prim" => {
            let known = read.marks(store)?;
            let split = read.split(store, &known)?;
            vec![number(iter::digit_to_prim(store, analyzer, &split))]
        }
        "inverse_affine_iter_map" => {
            let known = read.marks(store)?;
            let map = read.many(store, |read, store| read.sum(store, &known))?;
            let outputs = read.prims(store)?;
            let found = iter::inverse_iter_map(store, &map, &outputs);
            let found = found.ok_or_else(|| error("the map has no inverse"))?;
            found.into_iter().flat_map(|(symbol, value)| [symbol.index() as u32, number(value)]).collect()
        }
        "map_shape" | "inverse_map" => {
            let level = read.level()?;
            let map = IndexMap { params: read.many(store, Numbers::symbol)?, indices: read.prims(store)? };
            let shape = read.prims(store)?;
            if what == "map_shape" {
                let found = map.map_ranges(store, analyzer, &shape);
                return Ok(found.into_iter().flat_map(|(min, extent)| [number(min), number(extent)]).collect());
            }
            map.inverse(store, analyzer, &shape, level).map_or(vec![], |(map, padding)| {
                let mut found = vec![number(padding), map.params.len() as u32];
                found.extend(map.params.iter().map(|param| param.index() as u32));
                found.extend(map.indices.iter().map(|index| number(*index)));
                found
            })
        }
        _ => return Err(error("an analyzer is not asked that")),
    })
}
