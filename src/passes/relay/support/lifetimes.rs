//! Lifetimes of the variables of a function in A-normal form.
//!
//! Source: `src/relay/backend/liveness_analysis.cc`.

use super::{has_nonzero, strip_on_device};
use crate::ir::{Expr, ExprId, IdMap, Store, VarId};
use rustc_hash::FxHashSet;

type Needed = FxHashSet<VarId>;

/// The place where each variable dies.
#[derive(Default)]
pub struct Lifetimes {
    /// Variables whose calls are watched.
    pub watched: FxHashSet<VarId>,
    /// For each let that calls one of them, the variables that are alive there, itself included.
    pub alive: IdMap<Expr, Vec<VarId>>,
    /// The variables that each let of the function is the last to need.
    pub kills: IdMap<Expr, Vec<VarId>>,
    /// For each open scope, the variables that are needed at the current point.
    needed: Vec<Needed>,
}

enum Step {
    /// A scope, which is visited backwards. The current needs are those behind it.
    Scope(ExprId),
    /// A let of a scope, and whether it is the first that branches.
    Let(ExprId, bool),
    /// The branches of that let are done.
    Join(ExprId, bool),
    /// The scope is done.
    End,
}

impl Lifetimes {
    /// Finds the places in a function; a closure stands for the function that it yields.
    pub fn run(&mut self, store: &Store, function: ExprId) -> Result<(), String> {
        let mut body = function;
        for _ in 0..if has_nonzero(store, function, "Closure") { 2 } else { 1 } {
            body = store.as_function(body).ok_or("a closure must yield a function")?.body;
        }
        // The needs behind each open scope, and those at the begin of the branches of each open let.
        let (mut behind, mut begins) = (Vec::new(), vec![Needed::default()]);
        self.needed.push(Needed::default());
        let mut stack = vec![Step::Scope(body)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Scope(id) => {
                    let mut lets = Vec::new();
                    let mut end = id;
                    while let Expr::Let { body, .. } = store.expr(end) {
                        lets.push(end);
                        end = body;
                    }
                    let first = lets.iter().position(|id| !branches(store, *id).is_empty());
                    let after = self.at().clone();
                    let mut needed = if first.is_some() { Needed::default() } else { after.clone() };
                    needed.extend(match store.expr(end) {
                        Expr::If { .. } => return Err("If expressions should be bound to variables.".to_owned()),
                        Expr::Match { .. } => return Err("Match expressions should be bound to variables.".to_owned()),
                        Expr::Ctor(_) => return Err("Do not have a default for relay.Constructor".to_owned()),
                        Expr::Function(_) => return Err("nested functions not supported by CFG analysis".to_owned()),
                        _ => uses(store, end)?,
                    });
                    behind.push(after);
                    self.needed.push(needed);
                    stack.push(Step::End);
                    stack.extend(lets.into_iter().enumerate().map(|(at, id)| Step::Let(id, first == Some(at))));
                }
                Step::Let(id, first) => match branches(store, id) {
                    scopes if scopes.is_empty() => self.leave(store, id)?,
                    scopes => {
                        begins.push(Needed::default());
                        stack.push(Step::Join(id, first));
                        stack.extend(scopes.into_iter().map(Step::Scope));
                    }
                },
                Step::Join(id, first) => {
                    let from = begins.pop().unwrap_or_default();
                    self.at().extend(from);
                    if first && let Some(after) = behind.last() {
                        self.at().extend(after.iter().copied());
                    }
                    self.leave(store, id)?;
                }
                Step::End => {
                    behind.pop();
                    let begin = self.needed.pop().unwrap_or_default();
                    begins.last_mut().expect("that of the function").extend(begin);
                }
            }
        }
        Ok(())
    }

    /// Returns the variables that are needed at the current point.
    fn at(&mut self) -> &mut Needed {
        self.needed.last_mut().expect("the function has one")
    }

    /// Kills the variables that a let uses and no later binding needs.
    fn leave(&mut self, store: &Store, id: ExprId) -> Result<(), String> {
        let Expr::Let { var, value, .. } = store.expr(id) else { return Ok(()) };
        let used = uses(store, value)?;
        if let Expr::Call { callee, .. } = store.expr(strip_on_device(store, value))
            && let Expr::Var(callee) = store.expr(callee)
            && self.watched.contains(&callee)
        {
            let mut alive = self.at().clone();
            alive.extend(used.iter().copied());
            self.alive.insert(id, alive.into_iter().collect());
        }
        let needed = self.at();
        let kills = used.iter().copied().filter(|var| !needed.contains(var)).collect();
        needed.remove(&var);
        needed.extend(used);
        self.kills.insert(id, kills);
        Ok(())
    }
}

/// Returns the scopes that the value of a let may enter.
pub fn branches(store: &Store, id: ExprId) -> Vec<ExprId> {
    let Expr::Let { value, .. } = store.expr(id) else { return Vec::new() };
    match store.expr(strip_on_device(store, value)) {
        Expr::If { then, other, .. } => vec![then, other],
        Expr::Match { clauses, .. } => store.items(clauses).map(|clause| store.clause(clause).body).collect(),
        _ => Vec::new(),
    }
}

/// Returns the variables that an expression reads itself, each once: an `if` reads those of its condition, a function none.
fn uses(store: &Store, id: ExprId) -> Result<Vec<VarId>, String> {
    let mut found = Vec::new();
    // Each variable is one node, and a shared node is visited once.
    let mut seen = FxHashSet::default();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match store.expr(id) {
            Expr::Var(var) => found.push(var),
            Expr::Call { callee, args, .. } => {
                stack.extend(store.items(args).rev());
                stack.push(callee);
            }
            Expr::Tuple(fields) => stack.extend(store.items(fields).rev()),
            Expr::TupleGetItem { tuple, .. } => stack.push(tuple),
            Expr::If { cond, .. } => stack.push(cond),
            Expr::Match { data, .. } => stack.push(data),
            Expr::Let { .. } | Expr::RefCreate(_) | Expr::RefRead(_) | Expr::RefWrite { .. } => {
                return Err("Do not have a default for bindings and references inside of a value".to_owned());
            }
            _ => {}
        }
    }
    Ok(found)
}
