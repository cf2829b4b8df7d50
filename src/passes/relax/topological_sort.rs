//! TopologicalSort: bindings of dataflow blocks in another order.
//!
//! Source: `src/relax/transform/topological_sort.cc`.

use super::support::type_error;
use crate::build::visited;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::sort::sort_by;
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, Module, Store, VarId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run};
use rustc_hash::{FxHashMap, FxHashSet};
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
    doc: "Bindings of a dataflow block may stand in any order in which every variable is bound before it is used. Depth first, \
what a value is used for follows it as soon as it can; breadth first, what is equally far from the start stands together.",
    example_before: "\
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
    example_after: "\
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
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    let depth_first = choice(args, "order", ["depth-first", "breadth-first"])?;
    let from_inputs = choice(args, "direction", ["from-inputs", "from-outputs"])?;
    let mut places = FxHashMap::default();
    let mut functions = vec![function];
    while let Some(function) = functions.pop() {
        let graph = Graph::of(cx.store, function);
        functions.extend(graph.functions.iter().copied());
        for block in &graph.blocks {
            for (place, var) in graph.ordered(cx.store, *block, depth_first, from_inputs).into_iter().enumerate() {
                places.insert(var, place);
            }
        }
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

/// What depends on what. There are two nodes beside the variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Input,
    Output,
    Var(VarId),
}

type Edges = FxHashMap<Node, VecDeque<Node>>;

#[derive(Default)]
struct Graph {
    users: Edges,
    needs: Edges,
    /// Dataflow blocks of the function itself.
    blocks: Vec<Id<BindingBlock>>,
    /// Functions in it, which are sorted by themselves.
    functions: Vec<ExprId>,
}

enum Task {
    Expr(ExprId, Node),
    Binding(Binding),
}

impl Graph {
    fn of(store: &Store, function: ExprId) -> Graph {
        let mut graph = Graph::default();
        let mut known: FxHashSet<VarId> = FxHashSet::default();
        let mut order: Vec<VarId> = Vec::new();
        let mut tasks = vec![Task::Expr(function, Node::Output)];
        while let Some(task) = tasks.pop() {
            let (id, user) = match task {
                Task::Binding(Binding { var, value, .. }) => {
                    known.insert(var);
                    order.push(var);
                    (value, Node::Var(var))
                }
                Task::Expr(id, user) => (id, user),
            };
            match store.expr(id) {
                Expr::Var(var) if known.contains(&var) => graph.edge(Node::Var(var), user),
                Expr::Function(data) => {
                    let data = store.function(data);
                    for param in store.items(data.params) {
                        known.insert(param);
                        graph.edge(Node::Input, Node::Var(param));
                    }
                    if id != function {
                        graph.functions.push(id);
                    }
                    tasks.push(Task::Expr(data.body, user));
                }
                Expr::Seq { blocks, body } => {
                    graph.blocks.extend(store.items(blocks).filter(|block| store.block(*block).dataflow));
                    tasks.push(Task::Expr(body, user));
                    let first = tasks.len();
                    tasks.extend(store.bindings(blocks).map(Task::Binding));
                    tasks[first..].reverse();
                }
                _ => {
                    let first = tasks.len();
                    for_each_child(store, id, |child| tasks.push(Task::Expr(child, user)));
                    tasks[first..].reverse();
                }
            }
        }
        // What needs nothing comes from the input, and what nobody uses goes to the output.
        let needless: Vec<VarId> = order.iter().copied().filter(|var| !graph.needs.contains_key(&Node::Var(*var))).collect();
        let unused: Vec<VarId> = order.iter().copied().filter(|var| !graph.users.contains_key(&Node::Var(*var))).collect();
        for var in needless {
            graph.edge(Node::Input, Node::Var(var));
        }
        for var in unused.into_iter().rev() {
            graph.needs.entry(Node::Output).or_default().push_front(Node::Var(var));
            graph.users.entry(Node::Var(var)).or_default().push_front(Node::Output);
        }
        graph
    }

    fn edge(&mut self, needed: Node, user: Node) {
        self.users.entry(needed).or_default().push_back(user);
        self.needs.entry(user).or_default().push_back(needed);
    }

    /// The variables of a block in their new order.
    fn ordered(&self, store: &Store, block: Id<BindingBlock>, depth_first: bool, from_inputs: bool) -> Vec<VarId> {
        let mut waiting: FxHashSet<VarId> = store.block_bindings(block).map(|binding| binding.var).collect();
        let (start, next, before) = match from_inputs {
            true => (Node::Input, &self.users, &self.needs),
            false => (Node::Output, &self.needs, &self.users),
        };
        let mut visited: FxHashSet<Node> = FxHashSet::default();
        let mut open = VecDeque::from([start]);
        let mut order = Vec::new();
        while let Some(node) = if depth_first { open.pop_back() } else { open.pop_front() } {
            if let Node::Var(var) = node
                && waiting.remove(&var)
            {
                order.push(var);
            }
            visited.insert(node);
            let Some(adjacent) = next.get(&node) else { continue };
            let mut push = |other: &Node| {
                let ready = !visited.contains(other)
                    && before.get(other).is_none_or(|before| before.iter().all(|node| visited.contains(node)));
                if ready {
                    open.push_back(*other);
                }
            };
            // TVM turns the lists of users around for a search by depth, whichever way it goes.
            if depth_first && from_inputs {
                adjacent.iter().rev().for_each(&mut push);
            } else {
                adjacent.iter().for_each(&mut push);
            }
        }
        // Nothing should be left; what is keeps its order.
        let mut rest: Vec<VarId> = store.block_bindings(block).map(|b| b.var).filter(|var| waiting.contains(var)).collect();
        if !from_inputs {
            order.reverse();
        }
        order.append(&mut rest);
        order
    }
}

struct Reorder {
    places: FxHashMap<VarId, usize>,
}

impl ExprMutator for Reorder {
    fn rule(&self) -> &'static str {
        "another order of bindings"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Seq { blocks, body } = store.expr(post) else { return post };
        let old: Vec<Id<BindingBlock>> = store.items(blocks).collect();
        let mut new = Vec::with_capacity(old.len());
        for block in &old {
            let place = |binding: &Binding| self.places.get(&binding.var).copied().unwrap_or(usize::MAX);
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
