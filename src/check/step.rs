//! Checks a step by running the functions of a module before and after it on the same arguments.

use super::compare::{Agreement, Spot, Tolerance, compare};
use super::memory::{Memory, failure};
use super::signature::{arity, is_private, parameter_types, parameters};
use crate::eval::{self, CallResults, EvalFailure, EvalOptions, Kind, Making, Value, eval_sharing, show};
use crate::ir::equal::{self, EqualOptions};
use crate::ir::walk::post_order;
use crate::ir::{Expr, ExprId, Id, Module, Name, Store};
use crate::ops::kernel::{read, write};
use crate::passes::Keeps;
use rustc_hash::{FxHashMap, FxHashSet};

/// The result of checking a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The changed functions have equal results.
    Equal,
    /// They have equal results but for rounding: at most this many units in the last place.
    Within(u64),
    /// They have different results.
    Different(Box<Difference>),
    /// They were not run, for this reason.
    NotRun(String),
}

crate::words! {
    /// The result of checking a step, without its reason.
    pub enum VerdictWord {
        /// The changed functions have equal results.
        Equal = "equal",
        /// They have equal results but for rounding.
        Within = "within tolerance",
        /// They have different results.
        Different = "different",
        /// They were not run.
        NotRun = "not run",
    }
}

impl Verdict {
    /// Returns the word for it.
    pub fn word(&self) -> VerdictWord {
        match self {
            Verdict::Equal => VerdictWord::Equal,
            Verdict::Within(_) => VerdictWord::Within,
            Verdict::Different(_) => VerdictWord::Different,
            Verdict::NotRun(_) => VerdictWord::NotRun,
        }
    }

    fn rank(&self) -> usize {
        match self {
            Verdict::NotRun(_) => 0,
            Verdict::Equal => 1,
            Verdict::Within(_) => 2,
            Verdict::Different(_) => 3,
        }
    }

    /// Describes it in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Verdict::Equal => "equal".to_owned(),
            Verdict::Within(1) => "equal within 1 unit in the last place".to_owned(),
            Verdict::Within(ulps) => format!("equal within {ulps} units in the last place"),
            Verdict::NotRun(why) => format!("not run: {why}"),
            Verdict::Different(found) => found.to_string(),
        }
    }
}

/// Arguments that give different results before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The function.
    pub function: String,
    /// Its parameters with the smallest values found that show the difference.
    pub inputs: Vec<(String, String)>,
    /// The first difference of the results; without a path the function fails after the step.
    pub spot: Spot,
    /// The origin of the value there, after the step.
    pub from: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Spot { place, before, after } = &self.spot;
        write!(
            f,
            "different: @{}: {} is {before} before and {after} after",
            self.function,
            if place.is_empty() { "it" } else { place }
        )?;
        if !self.from.is_empty() {
            write!(f, ", from {}", self.from)?;
        }
        for (index, (name, value)) in self.inputs.iter().enumerate() {
            write!(f, "{} {name} = {value}", if index == 0 { ", for" } else { "," })?;
        }
        Ok(())
    }
}

/// The report on a step that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// True if a function exceeded the budget, and nothing was found about it.
    pub too_much: bool,
    /// The result of the check.
    pub verdict: Verdict,
    /// A difference for infinities, NaN or the extremes of integers, which tensor compilers do not promise to keep.
    pub except: Option<Box<Difference>>,
    /// The number of runs of functions, before and after.
    pub runs: usize,
}

impl Default for Report {
    fn default() -> Report {
        let verdict = Verdict::NotRun("nothing that both have was changed".to_owned());
        Report { too_much: false, verdict, except: None, runs: 0 }
    }
}

/// The limit of a run, in elements and products of two; a cheap run takes a sixteenth.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The limit of one run of a function.
    pub work: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { work: 8_000_000 }
    }
}

/// The generated arguments, the most decisive first. The extents of the second stand for all others.
const MAKINGS: [Making; 5] = [
    Making { seed: 1, kind: Kind::Random, extent: 4 },
    Making { seed: 2, kind: Kind::Random, extent: 3 },
    Making { seed: 3, kind: Kind::Random, extent: 4 },
    Making { seed: 4, kind: Kind::Zeros, extent: 4 },
    Making { seed: 5, kind: Kind::Extremes, extent: 4 },
];

/// The limit of functions to check in one step. Programs with thousands of kernels change all of them in one step.
const MOST_FUNCTIONS: usize = 64;

/// The number of attempts to shrink the arguments of a difference.
const SHRINKS: usize = 60;

/// Checks the steps of a run, one after the other: the results after a step are those before the next.
#[derive(Default)]
pub struct Checker {
    /// The limit of a run.
    pub budget: Budget,
    memory: Memory,
}

impl Checker {
    /// Makes a checker whose runs have this limit.
    pub fn new(budget: Budget) -> Checker {
        Checker { budget, ..Checker::default() }
    }

    /// Compares the functions of a module before and after a pass.
    pub fn check(&mut self, store: &mut Store, before: &Module, after: &Module, keeps: Keeps) -> Report {
        let mut report = Report::default();
        if before == after {
            report.verdict = Verdict::Equal;
            return report;
        }
        if equal::modules(store, before, after, EqualOptions::RESULTS).is_ok() {
            // Only what no run depends on has changed, such as the types of nodes and attributes of functions.
            report.verdict = Verdict::Equal;
            let known = self.memory.results(before).clone();
            self.memory.results(after).extend(known);
            return report;
        }
        let mut left = changed(before, after);
        let main = store.name("main");
        let others = before.functions().iter().map(|(name, _)| *name).filter(|name| *name != main);
        let entries: Vec<Id<Name>> = std::iter::once(main).chain(others).collect();
        let mut looked_at = 0;
        if before.functions().iter().any(|(name, root)| after.function(*name) == Some(*root)) {
            // Functions that only one version has do not matter by themselves.
            report.verdict = Verdict::Equal;
        }
        for entry in entries {
            if left.is_empty() || looked_at == MOST_FUNCTIONS {
                break;
            }
            let reached = reached(store, before, after, entry);
            if before.function(entry).is_none() || after.function(entry).is_none() || reached.is_disjoint(&left) {
                continue;
            }
            looked_at += 1;
            let found = self.function(store, before, after, entry, keeps, &mut report);
            if found.0.rank() > 0 {
                left.retain(|name| !reached.contains(name));
            }
            report.except = report.except.take().or(found.1);
            let better = match (&found.0, &report.verdict) {
                (Verdict::Within(new), Verdict::Within(old)) => new > old,
                // The first function that could not be run has the reason.
                (Verdict::NotRun(_), _) => report.runs == 0 || looked_at == 1,
                (new, old) => new.rank() > old.rank(),
            };
            if better {
                report.verdict = found.0;
            }
            if report.verdict.rank() == 3 {
                break;
            }
        }
        report
    }

    fn function(
        &mut self,
        store: &mut Store,
        before: &Module,
        after: &Module,
        name: Id<Name>,
        keeps: Keeps,
        report: &mut Report,
    ) -> (Verdict, Option<Box<Difference>>) {
        let mut verdict = Verdict::NotRun(String::new());
        let mut except = None;
        let mut differing = Vec::new();
        let mut tried = 0;
        let mut work = self.budget.work / 16;
        for (index, making) in MAKINGS.into_iter().enumerate() {
            let trial = Trial { before, after, name, keeps, work };
            let mut found = self.trial(store, &trial, index, making, &mut report.runs);
            if index == 0 && matches!(&found, Err(why) if why.code == "eval-fuel") {
                work = self.budget.work;
                found = self.trial(store, &Trial { work, ..trial }, index, making, &mut report.runs);
            }
            match found {
                Err(why) => {
                    if verdict == Verdict::NotRun(String::new()) {
                        verdict = Verdict::NotRun(why.message);
                    }
                    report.too_much |= why.code == "eval-fuel" && tried == 0;
                    if why.code == "eval-fuel" || why.code == "signature" {
                        break;
                    }
                }
                Ok(Agreement::Differs(spot)) if making.kind == Kind::Extremes => {
                    except = except.or_else(|| Some(Box::new(self.difference(store, &trial, making, spot))));
                }
                Ok(Agreement::Differs(spot)) => {
                    tried += 1;
                    differing.push((making, spot));
                }
                Ok(agreement) => {
                    tried += 1;
                    let new = if let Agreement::Within(ulps) = agreement { Verdict::Within(ulps) } else { Verdict::Equal };
                    let ulps = |verdict: &Verdict| if let Verdict::Within(ulps) = verdict { *ulps } else { 0 };
                    if verdict.rank() == 0 || ulps(&new) > ulps(&verdict) {
                        verdict = new;
                    }
                }
            }
            // A costly function is run once.
            if work == self.budget.work && tried > 0 {
                break;
            }
        }
        // If rounding decides between two results, most inputs still agree.
        let jumps = || jumps(store, before, name) || jumps(store, after, name);
        if !differing.is_empty() && (differing.len() * 2 > tried || !jumps()) {
            let (making, spot) = differing.swap_remove(0);
            let trial = Trial { before, after, name, keeps, work };
            return (Verdict::Different(Box::new(self.difference(store, &trial, making, spot))), except);
        }
        (verdict, except)
    }

    fn trial(
        &mut self,
        store: &mut Store,
        trial: &Trial<'_>,
        index: usize,
        making: Making,
        runs: &mut usize,
    ) -> Result<Agreement, EvalFailure> {
        let Trial { before, after, name, keeps, work } = *trial;
        trial.signature(store)?;
        let (Some(root), same) = (before.function(name), matches!(keeps, Keeps::Values | Keeps::Roughly(_))) else {
            return Err(failure("signature", "there is no such function"));
        };
        let first = match self.memory.known_result(before, name, index) {
            Some(known) => known,
            None => {
                *runs += 1;
                let args = self.memory.arguments(store, before, root, index, making, work);
                let made = args.and_then(|args| trial.run(store, before, &args, &mut self.memory.results));
                self.memory.results(before).insert((name, index), made.clone());
                made
            }
        };
        let first = first?;
        let known = if same { self.memory.known_result(after, name, index) } else { None };
        let second = match known {
            Some(known) => known,
            None => {
                *runs += 1;
                let args = self.memory.arguments(store, before, root, index, making, work)?;
                let second = trial.after(store, &args, &mut self.memory.results);
                if same && work > 0 {
                    self.memory.results(after).insert((name, index), second.clone());
                }
                second
            }
        };
        trial.agreement(store, &first, second)
    }

    /// Searches the smallest arguments with different results.
    fn difference(&mut self, store: &mut Store, trial: &Trial<'_>, making: Making, spot: Spot) -> Difference {
        let mut found = Difference { function: store.str(trial.name).to_owned(), spot, ..Difference::default() };
        let Some(root) = trial.before.function(trial.name) else { return found };
        let Ok(mut args) = eval::made_args(store, trial.before, root, making) else { return found };
        let mut left = SHRINKS;
        let results = &mut self.memory.results;
        let mut attempt = |store: &mut Store, args: &[Value], found: &mut Difference| {
            left = left.saturating_sub(1);
            if left == 0 {
                return false;
            }
            let Ok(first) = trial.run(store, trial.before, args, results) else { return false };
            let second = trial.after(store, args, results);
            match trial.agreement(store, &first, second) {
                Ok(Agreement::Differs(spot)) => {
                    found.spot = spot;
                    true
                }
                _ => false,
            }
        };
        for simpler in [0, 1, 2] {
            for index in 0..args.len() {
                let Some(value) = simplified(&args[index], simpler) else { continue };
                let old = std::mem::replace(&mut args[index], value);
                if !attempt(store, &args, &mut found) {
                    args[index] = old;
                }
            }
        }
        let params = parameters(store, root);
        found.inputs = params.into_iter().zip(&args).map(|(name, value)| (name, show(store, value))).collect();
        found.from = trial.after.function(trial.name).map_or(String::new(), |root| origin(store, root, &found.spot.place));
        found
    }
}

#[derive(Clone, Copy)]
struct Trial<'a> {
    before: &'a Module,
    after: &'a Module,
    name: Id<Name>,
    keeps: Keeps,
    work: u64,
}

impl Trial<'_> {
    fn run(&self, store: &mut Store, module: &Module, args: &[Value], results: &mut CallResults) -> Result<Value, EvalFailure> {
        let name = store.str(self.name).to_owned();
        let options = EvalOptions { work: self.work, fuel: 2_000_000 };
        eval_sharing(store, module, &name, args, options, results)
    }

    /// Checks that both can have the same arguments.
    fn signature(&self, store: &Store) -> Result<(), EvalFailure> {
        let count = |module: &Module| module.function(self.name).map_or(0, |root| arity(store, root));
        let (before, after) = (count(self.before), count(self.after));
        let types = |module: &Module| module.function(self.name).map_or(Vec::new(), |root| parameter_types(store, root));
        match self.keeps {
            // A pass knows all callers of a private function, and may have changed what they give it.
            _ if before == after && is_private(store, self.before, self.name) && types(self.before) != types(self.after) => {
                Err(failure("signature", &format!("`{}` is private and takes something else after", store.str(self.name))))
            }
            _ if before == after => Ok(()),
            Keeps::Other(why) => Err(failure("signature", why)),
            Keeps::Bundled | Keeps::Lifted => Ok(()),
            _ => {
                let name = store.str(self.name);
                Err(failure("signature", &format!("`{name}` takes {before} arguments before and {after} after")))
            }
        }
    }

    fn after(&self, store: &mut Store, args: &[Value], results: &mut CallResults) -> Result<Value, EvalFailure> {
        let count = self.after.function(self.name).map_or(0, |root| arity(store, root));
        let (Keeps::Bundled | Keeps::Lifted, true) = (self.keeps, count <= args.len() || self.keeps == Keeps::Lifted) else {
            return self.run(store, self.after, args, results);
        };
        if self.keeps == Keeps::Bundled {
            let bundled = (count > 0 && count <= args.len()).then(|| {
                let (inputs, params) = args.split_at(count - 1);
                inputs.iter().cloned().chain([Value::tuple(params.to_vec())]).collect::<Vec<_>>()
            });
            let last_is_tuple = matches!(args.last(), Some(Value::Tuple(_))) && count == args.len();
            return self.run(store, self.after, bundled.filter(|_| !last_is_tuple).as_deref().unwrap_or(args), results);
        }
        let transform = format!("{}_transform_params", store.str(self.name));
        let transform = store.name(&transform);
        let Some(root) = self.before.function(self.name).filter(|_| self.after.function(transform).is_some()) else {
            return self.run(store, self.after, args, results);
        };
        let inputs = store.as_function(root).and_then(|function| store.attr_int(function.attrs, "num_input")).unwrap_or(0);
        let (inputs, params) = args.split_at((inputs.max(0) as usize).min(args.len()));
        let lifted = Trial { name: transform, ..*self }.run(store, self.after, &[Value::tuple(params.to_vec())], results)?;
        let mut args = inputs.to_vec();
        if let Value::Tuple(fields) = lifted {
            args.extend_from_slice(fields.items());
        }
        self.run(store, self.after, &args, results)
    }

    fn agreement(&self, store: &Store, before: &Value, after: Result<Value, EvalFailure>) -> Result<Agreement, EvalFailure> {
        let after = match (after, self.keeps) {
            (Ok(Value::Tuple(fields)), Keeps::FirstField) if !fields.items().is_empty() => fields.items()[0].clone(),
            (Ok(value), _) => value,
            (Err(why), _) if why.code != "eval-failed" => {
                return Err(EvalFailure { message: format!("after the step {}", why.message), ..why });
            }
            (Err(why), _) => {
                let before = show(store, before);
                let after = format!("fails with \"{}\"", why.message);
                return Ok(Agreement::Differs(Spot { place: String::new(), before, after }));
            }
        };
        let tolerance = if let Keeps::Roughly(share) = self.keeps { Tolerance::Loose(share) } else { Tolerance::Type };
        match (compare(store, before, &after, tolerance), self.keeps) {
            (Agreement::Incomparable(why), _) | (Agreement::Differs(_), Keeps::Other(why)) => Err(failure("signature", why)),
            (agreement, _) => Ok(agreement),
        }
    }
}

/// Returns a simpler value of the same shape: zeros, ones, or near integers. `None` when it is no tensor or that already.
fn simplified(value: &Value, how: usize) -> Option<Value> {
    let Value::Tensor(tensor) = value else { return None };
    let old = read::<f64>(tensor).ok()?;
    let new: Vec<f64> = old
        .iter()
        .map(|x| match how {
            0 => 0.0,
            1 => 1.0,
            _ => (x * 4.0).round(),
        })
        .collect();
    let is_simple = old.iter().all(|x| *x == 0.0) || (how > 0 && old.iter().all(|x| *x == 1.0)) || old == new;
    if is_simple { None } else { write(tensor.dtype, &tensor.shape, &new).ok().map(Value::Tensor) }
}

/// Returns functions that differ between the versions, or that only one has.
fn changed(before: &Module, after: &Module) -> FxHashSet<Id<Name>> {
    let all = before.functions().iter().chain(after.functions()).map(|(name, _)| *name);
    all.filter(|name| before.function(*name) != after.function(*name)).collect()
}

/// Returns the functions that one calls, in either module, itself included.
fn reached(store: &Store, before: &Module, after: &Module, from: Id<Name>) -> FxHashSet<Id<Name>> {
    let mut seen = FxHashSet::from_iter([from]);
    let mut left = vec![from];
    while let Some(name) = left.pop() {
        let roots = [before.function(name), after.function(name)];
        for node in roots.into_iter().flatten().flat_map(|root| post_order(store, root)) {
            if let Expr::Global(called) = store.expr(node)
                && seen.insert(called)
            {
                left.push(called);
            }
        }
    }
    seen
}

/// Operators with discontinuous results.
const JUMPS: &[&str] = &[
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "less",
    "greater",
    "equal",
    "argmax",
    "argmin",
    "argsort",
    "sort",
    "topk",
    "cast",
    "astype",
    "quantize",
    "mod",
    "floor_divide",
    "isinf",
    "isnan",
    "unique",
    "non_max_suppression",
    "where",
    "one_hot",
];

fn jumps(store: &Store, module: &Module, name: Id<Name>) -> bool {
    let roots = reached(store, module, module, name).into_iter().filter_map(|name| module.function(name));
    let mut nodes = roots.flat_map(|root| post_order(store, root));
    // Comparisons in tensor programs are not examined.
    nodes
        .any(|node| matches!(store.expr(node), Expr::Op(op) if JUMPS.iter().any(|word| crate::ops::info(op).name.contains(word))))
}

/// Returns the origin of the value at a path of the result: the operator or function whose call makes it.
fn origin(store: &Store, root: ExprId, place: &str) -> String {
    let Some(function) = store.as_function(root) else { return String::new() };
    let path = place.strip_prefix("result").unwrap_or("").split('[').next().unwrap_or("");
    let mut path = path.split('.').filter_map(|index| index.parse::<usize>().ok());
    let mut bound: FxHashMap<_, ExprId> = FxHashMap::default();
    for node in post_order(store, function.body) {
        match store.expr(node) {
            Expr::Let { var, value, .. } => _ = bound.insert(store.var_data(var).vid, value),
            Expr::Seq { blocks, .. } => {
                for block in store.items(blocks) {
                    for binding in store.items(store.block(block).bindings) {
                        let binding = store.binding(binding);
                        bound.insert(store.var_data(binding.var).vid, binding.value);
                    }
                }
            }
            _ => {}
        }
    }
    let mut at = function.body;
    // Each round goes to an earlier expression, so it ends; a recursion through a binding is cut off.
    for _ in 0..1000 {
        match store.expr(at) {
            Expr::Let { body, .. } | Expr::Seq { body, .. } => at = body,
            Expr::Var(var) => match bound.get(&store.var_data(var).vid) {
                Some(value) => at = *value,
                None => return format!("%{}", store.var_name(var)),
            },
            Expr::Tuple(fields) => match path.next() {
                Some(index) if index < fields.len() => at = store.item(fields, index),
                _ => return "a tuple".to_owned(),
            },
            Expr::Call { callee, .. } => {
                return match store.expr(callee) {
                    Expr::Op(op) => format!("`{}`", crate::ops::info(op).name),
                    Expr::Global(name) => format!("@{}", store.str(name)),
                    _ => "a call of a function".to_owned(),
                };
            }
            Expr::Constant(_) => return "a constant".to_owned(),
            _ => return String::new(),
        }
    }
    String::new()
}
