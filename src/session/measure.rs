//! Runs tensor programs on made-up inputs: counts their work, and compares their results with another version's.

use super::{Nest, Session, seeded_args};
use crate::check::compare::{Agreement, Spot, Tolerance, compare};
use crate::diag::Diagnostic;
use crate::eval::{self, CacheShape, Cost, EvalOptions, Value};
use crate::ir::{Expr, ExprId, Store};
use crate::pass::trace::Version;

/// The most steps of a run: the user waits for the measurement. A node's fuel is twenty steps.
const PATIENCE: EvalOptions = EvalOptions { fuel: 15_000_000, work: u64::MAX };

/// Runs that are kept, so that a step that changed nothing costs nothing.
const MOST_KEPT: usize = 64;

/// The result of a run of a function.
#[derive(Clone)]
pub(super) struct Ran {
    about: (ExprId, u64, CacheShape),
    outcome: Result<(Value, Cost), String>,
}

/// The measurement of a version of a function.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// The counts; nothing if it could not be run.
    pub cost: Option<Cost>,
    /// The reason why it could not be run or compared; empty without a problem.
    pub problem: String,
    /// The first difference of its results from those of the other version; empty when they are equal.
    pub difference: String,
    /// Iterations that may run at the same time: the most that nested parallel loops and threads have.
    pub parallel: i64,
    /// Lanes of the widest vector.
    pub vector: i64,
}

impl Session {
    /// Runs a tensor program of a version on inputs made from `seed`, counts its work, and compares the results with
    /// those of another version on the same inputs.
    pub fn measure(&mut self, version: Version, other: Version, function: &str, seed: u64, cache: CacheShape) -> Measure {
        let mut measure = Measure { parallel: 1, vector: 1, ..Measure::default() };
        match self.nest(version, function, "", 0, &[]) {
            Ok(nest) => (measure.parallel, measure.vector) = widths(&nest),
            Err(found) => measure.problem = found.message,
        }
        match self.run_counted(version, function, seed, cache) {
            Ok((value, cost)) => {
                measure.cost = Some(cost);
                match self.run_counted(other, function, seed, cache) {
                    Ok((before, _)) => measure.difference = difference(&self.store, &before, &value),
                    Err(why) => measure.problem = format!("before it cannot be run: {why}"),
                }
            }
            Err(why) => measure.problem = why,
        }
        measure
    }

    fn run_counted(&mut self, version: Version, function: &str, seed: u64, cache: CacheShape) -> Result<(Value, Cost), String> {
        let module = self.version(version).cloned().ok_or_else(|| format!("there is no version {version}"))?;
        let name = self.store.name(function);
        let root = module.function(name).ok_or_else(|| module.has_no_function(&self.store, function))?;
        let Expr::PrimFunc(program) = self.store.expr(root) else { return Err(format!("`{function}` is no tensor program")) };
        let about = (root, seed, cache);
        if let Some(ran) = self.ran.iter().find(|ran| ran.about == about) {
            return ran.outcome.clone();
        }
        let outcome =
            seeded_args(&mut self.store, &module, function, seed).map_err(|found: Diagnostic| found.message).and_then(|args| {
                let applied = eval::apply_prim_func(&self.store, &module, program, &args, PATIENCE, (Some(cache), false));
                applied.map(|applied| (applied.value, applied.cost.unwrap_or_default())).map_err(|failure| failure.message)
            });
        if self.ran.len() == MOST_KEPT {
            self.ran.remove(0);
        }
        self.ran.push(Ran { about, outcome: outcome.clone() });
        outcome
    }
}

/// Returns the greatest number of parallel iterations, and the widest vector.
pub fn widths(nest: &Nest) -> (i64, i64) {
    let (mut parallel, mut vector) = (1, 1);
    // A thread that occurs twice on the way is one.
    for (at, node) in nest.nodes.iter().enumerate() {
        let extent = node.extent.unwrap_or(1);
        match node.kind {
            "vectorized" | "store" => vector = extent.max(vector),
            "parallel" | "thread_binding" => {
                let mut seen: Vec<&str> = Vec::new();
                let mut width: i64 = 1;
                let above = std::iter::successors(Some(at), |at| nest.nodes[*at].parent).map(|at| &nest.nodes[at]);
                for node in above.filter(|node| ["parallel", "thread_binding"].contains(&node.kind)) {
                    if node.note.is_empty() || !seen.contains(&node.note.as_str()) {
                        width = width.saturating_mul(node.extent.unwrap_or(1));
                        seen.push(&node.note);
                    }
                }
                parallel = width.max(parallel);
            }
            _ => {}
        }
    }
    (parallel, vector)
}

/// Returns the first difference of two results; empty if there is none. Another order of additions makes no difference.
fn difference(store: &Store, before: &Value, after: &Value) -> String {
    match compare(store, before, after, Tolerance::Type) {
        Agreement::Equal | Agreement::Within(_) => String::new(),
        Agreement::Differs(Spot { place, before, after }) => format!("{place}: {before} before, {after} after"),
        Agreement::Incomparable(why) => why.to_owned(),
    }
}
