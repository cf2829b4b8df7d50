//! TopologicalSort: reorders the bindings of dataflow blocks.
//!
//! Source: `src/relax/transform/topological_sort.cc`.

use super::support::type_error;
use crate::build::visited;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::sort::sort_by;
use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, IdMap, Module, Store, Var, VarId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use std::collections::VecDeque;

/// TVM's `relax.transform.TopologicalSort`.
pub static SPEC: PassSpec = PassSpec {
    name: "TopologicalSort",
    info_name: "TopologicalSort",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "order", default: "\"depth-first\"", doc: "`depth-first` or `breadth-first`." },
        Param { name: "direction", default: "\"from-inputs\"", doc: "Where the search begins: `from-inputs` or `from-outputs`." },
    ],
    config: &[],
    summary: "Orders the bindings of dataflow blocks by depth or breadth.",
    doc: explained(
        "Bindings of a dataflow block may stand in any order in which every variable is bound before it is used. Depth first, \
what a value is used for follows it as soon as it can; breadth first, what is equally far from the start stands together.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            a: R.Tensor((2,), dtype=\"float32\") = R.exp(x)
            b: R.Tensor((2,), dtype=\"float32\") = R.log(x)
            c: R.Tensor((2,), dtype=\"float32\") = R.sqrt(a)
            gv: R.Tensor((2,), dtype=\"float32\") = R.add(c, b)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            a: R.Tensor((2,), dtype=\"float32\") = R.exp(x)
            c: R.Tensor((2,), dtype=\"float32\") = R.sqrt(a)
            b: R.Tensor((2,), dtype=\"float32\") = R.log(x)
            gv: R.Tensor((2,), dtype=\"float32\") = R.add(c, b)
            R.output(gv)
        return gv
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    let depth_first = choice(args, "order", ["depth-first", "breadth-first"])?;
    let from_inputs = choice(args, "direction", ["from-inputs", "from-outputs"])?;
    let mut places = IdMap::new();
    let mut functions = vec![function];
    let mut sorted = true;
    while let Some(function) = functions.pop() {
        let graph = Graph::of(cx.store, function);
        functions.extend(graph.functions.iter().copied());
        for block in &graph.blocks {
            let order = graph.ordered(cx.store, *block, depth_first, from_inputs);
            sorted &= cx.store.block_bindings(*block).map(|binding| binding.var).eq(order.iter().copied());
            for (place, var) in order.into_iter().enumerate() {
                places.insert(var, place);
            }
        }
    }
    if sorted {
        return Ok(visited(cx.store, function));
    }
    let sorted = rewrite(cx.store, function, &mut Reorder { places });
    Ok(visited(cx.store, sorted))
}

fn choice(args: &Args, name: &str, words: [&str; 2]) -> Result<bool, PassError> {
    let word = args.str(name).unwrap_or_default();
    match words.iter().position(|other| *other == word) {
        Some(place) => Ok(place == 0),
        None => Err(type_error(format!(
            "Invalid value for {name}: \"{word}\". Allowed values are \"{}\" or \"{}\"",
            words[0], words[1]
        ))),
    }
}

/// The dependencies: variables by number, behind the two nodes for input and output.
struct Graph {
    numbers: IdMap<Var, usize>,
    vars: Vec<VarId>,
    users: Edges,
    needs: Edges,
    /// Dataflow blocks of the function itself.
    blocks: Vec<Id<BindingBlock>>,
    /// Inner functions, which are sorted by themselves.
    functions: Vec<ExprId>,
}

const INPUT: usize = 0;
const OUTPUT: usize = 1;
const FIRST_VAR: usize = 2;

/// The neighbours of each node, in one list.
struct Edges {
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Edges {
    /// Builds the edges from pairs of a node below `count` and a neighbour; neighbours stay in order.
    fn of(count: usize, pairs: &[(usize, usize)], turned: bool) -> Edges {
        let turn = |(a, b): (usize, usize)| if turned { (b, a) } else { (a, b) };
        let mut starts = vec![0; count + 2];
        pairs.iter().for_each(|pair| starts[turn(*pair).0 + 2] += 1);
        for node in 2..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut ends = vec![0; pairs.len()];
        for pair in pairs {
            let (node, other) = turn(*pair);
            ends[starts[node + 1]] = other;
            starts[node + 1] += 1;
        }
        Edges { starts, ends }
    }

    fn at(&self, node: usize) -> &[usize] {
        &self.ends[self.starts[node]..self.starts[node + 1]]
    }
}

enum Task {
    Expr(ExprId, usize),
    Binding(Binding),
}

impl Graph {
    fn of(store: &Store, function: ExprId) -> Graph {
        let mut numbers: IdMap<Var, usize> = IdMap::new();
        let mut vars: Vec<VarId> = Vec::new();
        let mut number = |numbers: &mut IdMap<Var, usize>, var: VarId| {
            if let Some(number) = numbers.get(var) {
                return *number;
            }
            let number = FIRST_VAR + vars.len();
            vars.push(var);
            numbers.insert(var, number);
            number
        };
        // Pairs of a producer and its user.
        let mut edges: Vec<(usize, usize)> = Vec::new();
        let (mut blocks, mut functions): (Vec<Id<BindingBlock>>, Vec<ExprId>) = Default::default();
        let mut bound: Vec<usize> = Vec::new();
        let mut tasks = vec![Task::Expr(function, OUTPUT)];
        while let Some(task) = tasks.pop() {
            let (id, user) = match task {
                Task::Binding(Binding { var, value, .. }) => {
                    let own = number(&mut numbers, var);
                    bound.push(own);
                    (value, own)
                }
                Task::Expr(id, user) => (id, user),
            };
            match store.expr(id) {
                Expr::Var(var) => edges.extend(numbers.get(var).map(|needed| (*needed, user))),
                Expr::Function(data) => {
                    let data = store.function(data);
                    for param in store.items(data.params) {
                        edges.push((INPUT, number(&mut numbers, param)));
                    }
                    if id != function {
                        functions.push(id);
                    }
                    tasks.push(Task::Expr(data.body, user));
                }
                Expr::Seq { blocks: inner, body } => {
                    blocks.extend(store.items(inner).filter(|block| store.block(*block).dataflow));
                    tasks.push(Task::Expr(body, user));
                    let first = tasks.len();
                    tasks.extend(store.bindings(inner).map(Task::Binding));
                    tasks[first..].reverse();
                }
                _ => {
                    let first = tasks.len();
                    for_each_child(store, id, |child| match store.expr(child) {
                        Expr::Var(var) if tasks.len() == first => edges.extend(numbers.get(var).map(|needed| (*needed, user))),
                        _ if tasks.len() > first || has_children(store, child) => tasks.push(Task::Expr(child, user)),
                        _ => {}
                    });
                    tasks[first..].reverse();
                }
            }
        }
        // Nodes without operands come from the input, and nodes without users go to the output, before all others.
        let count = FIRST_VAR + vars.len();
        let (mut has_needs, mut has_users) = (vec![false; count], vec![false; count]);
        for (needed, user) in &edges {
            has_needs[*user] = true;
            has_users[*needed] = true;
        }
        let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(edges.len() + bound.len());
        pairs.extend(bound.iter().filter(|var| !has_users[**var]).map(|var| (*var, OUTPUT)));
        pairs.append(&mut edges);
        pairs.extend(bound.iter().filter(|var| !has_needs[**var]).map(|var| (INPUT, *var)));
        let (users, needs) = (Edges::of(count, &pairs, false), Edges::of(count, &pairs, true));
        Graph { numbers, vars, users, needs, blocks, functions }
    }

    /// Returns the variables of a block in their new order.
    fn ordered(&self, store: &Store, block: Id<BindingBlock>, depth_first: bool, from_inputs: bool) -> Vec<VarId> {
        let count = FIRST_VAR + self.vars.len();
        let mut waiting = vec![false; count];
        for binding in store.block_bindings(block) {
            waiting[self.numbers.get(binding.var).copied().unwrap_or(INPUT)] = true;
        }
        let (start, next, before) = match from_inputs {
            true => (INPUT, &self.users, &self.needs),
            false => (OUTPUT, &self.needs, &self.users),
        };
        let mut visited = vec![false; count];
        let mut open = VecDeque::from([start]);
        let mut order = Vec::new();
        while let Some(node) = if depth_first { open.pop_back() } else { open.pop_front() } {
            if node >= FIRST_VAR && std::mem::take(&mut waiting[node]) {
                order.push(self.vars[node - FIRST_VAR]);
            }
            visited[node] = true;
            let mut push = |other: &usize| {
                if !visited[*other] && before.at(*other).iter().all(|node| visited[*node]) {
                    open.push_back(*other);
                }
            };
            // For a depth-first search TVM reverses the lists of users, in either direction.
            if depth_first && from_inputs {
                next.at(node).iter().rev().for_each(&mut push);
            } else {
                next.at(node).iter().for_each(&mut push);
            }
        }
        // No variable should be left; those that are keep their order.
        let left = |var: &VarId| self.numbers.get(*var).is_some_and(|number| waiting[*number]);
        let mut rest: Vec<VarId> = store.block_bindings(block).map(|binding| binding.var).filter(left).collect();
        if !from_inputs {
            order.reverse();
        }
        order.append(&mut rest);
        order
    }
}

struct Reorder {
    places: IdMap<Var, usize>,
}

impl ExprMutator for Reorder {
    fn rule(&self) -> &'static str {
        "another order of bindings"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        matches!(store.expr(id), Expr::Seq { .. })
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Seq { blocks, body } = store.expr(post) else { return post };
        let old: Vec<Id<BindingBlock>> = store.items(blocks).collect();
        let mut new = Vec::with_capacity(old.len());
        for block in &old {
            let place = |binding: &Binding| self.places.get(binding.var).copied().unwrap_or(usize::MAX);
            let mut bindings: Vec<Binding> = store.block_bindings(*block).collect();
            let sorted = bindings.windows(2).all(|pair| place(&pair[0]) <= place(&pair[1]));
            if !store.block(*block).dataflow || sorted {
                new.push(*block);
                continue;
            }
            sort_by(&mut bindings, |a, b| place(a).cmp(&place(b)));
            new.push(store.add_block_of(&bindings, true));
        }
        if new == old {
            return post;
        }
        let blocks = store.list(&new);
        let ty = store.checked_type(post);
        store.rebuild(post, Expr::Seq { blocks, body }, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// By hand: `c` needs `a` only, so it follows it by depth; by breadth it comes after `b`.
    #[test]
    fn breadth_first_keeps_together_what_is_equally_far() {
        let after = after(super::SPEC.example_after, "TopologicalSort(order=\"breadth-first\")");
        let places = ["a:", "b:", "c:", "gv:"].map(|name| after.find(&format!("            {name}")).expect("a binding"));
        assert!(places.is_sorted(), "{after}");
    }
}
