//! Patterns that use one another, matched in a block of bindings.

use super::matcher::{Bound, Matcher};
use super::rare::{extents, same_extents};
use super::{Pat, Patterns};
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, Expr, Store, VarId};
use rustc_hash::FxHashMap;

/// The way in which one pattern uses another (TVM's `PairCons`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// True if it has no other users (`only_used_by`, `>>`; otherwise `used_by`, `^`).
    pub only: bool,
    /// Its index among the variables of the value, counted from 0; any if `None`.
    pub index: Option<usize>,
}

/// Patterns and the uses between them (TVM's `PatternContext`).
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The used patterns, in the order of declaration, with their users.
    producers: Vec<(Pat, Vec<(Pat, Vec<Edge>)>)>,
    same_shapes: Vec<Vec<Pat>>,
}

impl Context {
    /// Makes a context without patterns.
    pub fn new() -> Context {
        Context::default()
    }

    /// Declares that one pattern uses another.
    pub fn used_by(&mut self, producer: Pat, consumer: Pat, edge: Edge) {
        let at = match self.producers.iter().position(|(pat, _)| *pat == producer) {
            Some(at) => at,
            None => {
                self.producers.push((producer, Vec::new()));
                self.producers.len() - 1
            }
        };
        let consumers = &mut self.producers[at].1;
        match consumers.iter_mut().find(|(pat, _)| *pat == consumer) {
            Some((_, edges)) if edges.contains(&edge) => {}
            Some((_, edges)) => edges.push(edge),
            None => consumers.push((consumer, vec![edge])),
        }
    }

    /// Declares that each pattern of a sequence uses the one before it (TVM's `PatternSeq`).
    pub fn sequence(&mut self, patterns: &[Pat], only: bool) {
        for pair in patterns.windows(2) {
            self.used_by(pair[0], pair[1], Edge { only, index: None });
        }
    }

    /// Declares that patterns stand for tensors or shapes of the same extents (`same_shape_as`).
    pub fn same_shape(&mut self, patterns: &[Pat]) {
        self.same_shapes.push(patterns.to_vec());
    }
}

/// The uses of variables in a block.
#[derive(Default)]
struct Uses {
    /// Used variables, in the order of first use.
    vars: Vec<VarId>,
    users: FxHashMap<VarId, Vec<VarId>>,
    /// The variables in the value of each, in order and with repetitions.
    used: FxHashMap<VarId, Vec<VarId>>,
}

impl Uses {
    fn of(store: &Store, bindings: &[Binding]) -> Uses {
        let mut uses = Uses::default();
        for binding in bindings.iter().filter(|binding| binding.cast.is_none()) {
            let mut used = Vec::new();
            let mut stack = vec![binding.value];
            while let Some(id) = stack.pop() {
                if let Expr::Var(var) = store.expr(id) {
                    used.push(var);
                }
                let first = stack.len();
                for_each_child(store, id, |child| stack.push(child));
                stack[first..].reverse();
            }
            for var in &used {
                let users = uses.users.entry(*var).or_default();
                if users.is_empty() {
                    uses.vars.push(*var);
                }
                if !users.contains(&binding.var) {
                    users.push(binding.var);
                }
            }
            uses.used.insert(binding.var, used);
        }
        uses
    }

    fn users(&self, var: VarId) -> &[VarId] {
        self.users.get(&var).map_or(&[], Vec::as_slice)
    }
}

/// The matches of patterns, with a trail for backtracking.
#[derive(Default)]
struct State {
    var_of: FxHashMap<Pat, VarId>,
    pat_of: FxHashMap<VarId, Pat>,
    trail: Vec<(Pat, VarId)>,
}

impl State {
    fn add(&mut self, pat: Pat, var: VarId) {
        if self.var_of.contains_key(&pat) {
            return;
        }
        self.var_of.insert(pat, var);
        self.pat_of.insert(var, pat);
        self.trail.push((pat, var));
    }

    fn back_to(&mut self, mark: usize) {
        for (pat, var) in self.trail.drain(mark..) {
            self.var_of.remove(&pat);
            self.pat_of.remove(&var);
        }
    }
}

struct Search<'a> {
    patterns: &'a Patterns,
    context: &'a Context,
    bound: &'a Bound,
    uses: Uses,
    state: State,
}

/// Returns the variables that match the patterns of a context, the first consistent assignment (`MatchGraph`). `bound`
/// has the values of the variables of the block.
pub fn match_graph(
    store: &mut Store,
    patterns: &Patterns,
    context: &Context,
    bindings: &[Binding],
    bound: &Bound,
) -> Option<FxHashMap<Pat, VarId>> {
    let is_used = |pat: Pat| context.producers.iter().any(|(_, users)| users.iter().any(|(user, _)| *user == pat));
    let roots: Vec<Pat> = context.producers.iter().map(|(pat, _)| *pat).filter(|pat| !is_used(*pat)).collect();
    if roots.is_empty() {
        return None;
    }
    let uses = Uses::of(store, bindings);
    let mut search = Search { patterns, context, bound, uses, state: State::default() };
    search.run(store, &roots).then_some(search.state.var_of)
}

impl Search<'_> {
    /// Finds a variable for each root, with backtracking when none is left for a later one.
    fn run(&mut self, store: &mut Store, roots: &[Pat]) -> bool {
        // For each root with a variable: the root, the index of the variable, and the begin of its matches.
        let mut frames: Vec<(usize, usize, usize)> = Vec::new();
        let mut next = 0;
        loop {
            let first = frames.last().map_or(0, |frame| frame.0 + 1);
            let open = (first..roots.len()).find(|index| !self.state.var_of.contains_key(&roots[*index]));
            let Some(root) = open else { return true };
            let mark = self.state.trail.len();
            let found = (next..self.uses.vars.len()).find(|at| {
                let var = self.uses.vars[*at];
                if self.state.pat_of.contains_key(&var) {
                    return false;
                }
                let Some(matched) = self.try_match(store, roots[root], var) else { return false };
                matched.into_iter().for_each(|(pat, var)| self.state.add(pat, var));
                let valid = self.shapes_fit(store);
                if !valid {
                    self.state.back_to(mark);
                }
                valid
            });
            match found {
                Some(at) => {
                    frames.push((root, at, mark));
                    next = 0;
                }
                None => {
                    let Some((_, at, mark)) = frames.pop() else { return false };
                    self.state.back_to(mark);
                    next = at + 1;
                }
            }
        }
    }

    /// Matches a pattern with a variable, and its users with variables. The recursion follows the patterns.
    fn try_match(&mut self, store: &mut Store, pat: Pat, var: VarId) -> Option<Vec<(Pat, VarId)>> {
        let used = store.use_var(var);
        if !Matcher::new(self.patterns, self.bound).is_match(store, pat, used) {
            return None;
        }
        let mut found = vec![(pat, var)];
        let context = self.context;
        let consumers = context.producers.iter().find(|(producer, _)| *producer == pat).map_or(&[][..], |(_, users)| users);
        for (consumer, edges) in consumers {
            for index in 0..self.uses.users(var).len() {
                let users = self.uses.users(var);
                let user = users[index];
                let only = users.len() == 1;
                let taken = found.iter().any(|(_, other)| *other == user);
                let other = self.state.var_of.get(consumer).is_some_and(|known| *known != user);
                let fits = |edge: &Edge| {
                    let place = |index| self.uses.used.get(&user).and_then(|used| used.get(index)) == Some(&var);
                    (only || !edge.only) && edge.index.is_none_or(place)
                };
                if taken || other || !edges.iter().all(fits) {
                    continue;
                }
                if let Some(more) = self.try_match(store, *consumer, user) {
                    found.extend(more);
                    break;
                }
            }
            if !found.iter().any(|(pat, _)| pat == consumer) {
                return None;
            }
        }
        Some(found)
    }

    /// True if the shape constraints hold for the patterns that have a variable.
    fn shapes_fit(&self, store: &mut Store) -> bool {
        self.context.same_shapes.iter().all(|pats| {
            let mut known: Option<Vec<crate::ir::Dim>> = None;
            pats.iter().filter_map(|pat| self.state.var_of.get(pat)).all(|var| {
                let Some(shape) = store.var_type(*var).and_then(|ty| extents(store, ty)) else { return false };
                match &known {
                    Some(known) => same_extents(store, known, &shape),
                    None => {
                        known = Some(shape);
                        true
                    }
                }
            })
        })
    }
}
