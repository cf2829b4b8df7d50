//! Extracts the dataflow graph of one version.

use super::super::place::label;
use super::Group;
use crate::ir::walk::{for_each_child, use_counts};
use crate::ir::{Expr, ExprId, IdMap, Module, Store, Var, VarId};
use crate::print;
use rustc_hash::FxHashSet;

/// A node of a version.
pub(super) struct Node {
    pub expr: ExprId,
    pub group: usize,
    /// Its name, if that is not its label.
    pub title: Option<String>,
    pub leaves: Vec<String>,
    pub result: bool,
}

/// A version as a graph.
#[derive(Default)]
pub(super) struct Extract {
    pub nodes: Vec<Node>,
    /// Edges from operands to users.
    pub edges: Vec<(usize, usize)>,
    pub groups: Vec<Group>,
    /// The parameters that are used, of which those that are used once have no node: they stand in that of their user.
    pub params: FxHashSet<ExprId>,
}

impl Extract {
    /// Returns the box of the module's function that a box is in.
    pub fn outermost(&self, group: usize) -> usize {
        let mut at = group;
        while let Some(parent) = self.groups[at].parent {
            at = parent;
        }
        at
    }
}

/// Operators in the title of a fused group; the others are counted.
const TITLED: usize = 4;

/// Makes the graph of a version.
pub(super) fn extract(store: &Store, module: &Module) -> Extract {
    let mut out = Extract::default();
    for &(name, function) in module.functions() {
        let group = out.groups.len();
        out.groups.push(Group { parent: None, title: format!("@{}", store.str(name)), function, made: false });
        Scope::of(store, function, &mut out).fill(function, group);
    }
    out
}

/// One function of the module while it is read.
struct Scope<'s, 'o> {
    store: &'s Store,
    out: &'o mut Extract,
    /// The number of uses of each node.
    uses: IdMap<Expr, u32>,
    /// The values of variables: those of bindings, and arguments of functions that are called where they stand.
    values: IdMap<Var, ExprId>,
    /// Functions that are called where they stand, and only there: boxes without an edge of their own.
    opened: IdMap<Expr, ()>,
    nodes: IdMap<Expr, usize>,
}

impl<'s, 'o> Scope<'s, 'o> {
    fn of(store: &'s Store, function: ExprId, out: &'o mut Extract) -> Self {
        let uses = use_counts(store, function);
        Scope { store, out, uses, values: IdMap::new(), opened: IdMap::new(), nodes: IdMap::new() }
    }

    fn vid(&self, var: VarId) -> VarId {
        self.store.var_data(var).vid
    }

    /// Puts the nodes of a function into a box, then draws the edges.
    fn fill(&mut self, function: ExprId, group: usize) {
        let store = self.store;
        let Some(whole) = store.as_function(function) else {
            self.add(function, group, Some("tensor program".to_owned()));
            return;
        };
        let mut order = Vec::new();
        let mut seen: IdMap<Expr, ()> = IdMap::new();
        for param in store.items(whole.params) {
            self.param(param, group);
        }
        let mut stack = vec![(whole.body, group)];
        while let Some((id, group)) = stack.pop() {
            if seen.insert(id, ()).is_some() {
                continue;
            }
            let mut inner = group;
            match store.expr(id) {
                Expr::Call { callee, args, .. } => {
                    let here = store.as_function(callee).filter(|_| self.uses.get(callee) == Some(&1));
                    match here {
                        Some(function) => {
                            self.opened.insert(callee, ());
                            for (param, arg) in store.items(function.params).zip(store.items(args)) {
                                let vid = self.vid(param);
                                self.values.insert(vid, arg);
                            }
                        }
                        None => order.push((id, group)),
                    }
                }
                Expr::Let { var, value, .. } => {
                    let vid = self.vid(var);
                    self.values.insert(vid, value);
                }
                Expr::Seq { blocks, .. } => {
                    for binding in store.bindings(blocks) {
                        let vid = self.vid(binding.var);
                        self.values.insert(vid, binding.value);
                    }
                }
                Expr::Function(_) => {
                    inner = self.out.groups.len();
                    self.out.groups.push(Group { parent: Some(group), title: title(store, id), function: id, made: false });
                    if !self.opened.contains(id) {
                        order.push((id, inner));
                        for param in store.items(store.as_function(id).expect("it is a function").params) {
                            self.param(param, inner);
                        }
                    }
                }
                Expr::If { .. } | Expr::Match { .. } | Expr::RefCreate(_) | Expr::RefRead(_) | Expr::RefWrite { .. } => {
                    order.push((id, group));
                }
                _ => {}
            }
            for_each_child(store, id, |child| {
                let group = if matches!(store.expr(id), Expr::Function(_)) { inner } else { group };
                stack.push((child, group));
            });
        }
        for &(id, group) in &order {
            self.add(id, group, None);
        }
        let mut results = self.sources(whole.body, &mut Vec::new());
        if results.len() != 1 {
            // A tuple, a constant or a parameter as the result gets a node of its own.
            let body = self.result_of(whole.body);
            results = vec![self.add(body, group, Some("result".to_owned()))];
            order.push((body, group));
        }
        results.iter().for_each(|&node| self.out.nodes[node].result = true);
        for (id, _) in order {
            self.edges(id);
        }
    }

    /// Adds a parameter that is used more than once as a node; others are written into the node that uses them.
    fn param(&mut self, var: VarId, group: usize) {
        let Some(used) = self.store.var_use(var) else { return };
        let uses = self.uses.get(used).copied().unwrap_or(0);
        if uses > 0 {
            self.out.params.insert(self.store.first_ancestor(used));
        }
        if uses > 1 {
            self.add(used, group, None);
        }
    }

    fn add(&mut self, expr: ExprId, group: usize, title: Option<String>) -> usize {
        if let Some(known) = self.nodes.get(expr) {
            return *known;
        }
        let node = self.out.nodes.len();
        self.nodes.insert(expr, node);
        self.out.nodes.push(Node { expr, group, title, leaves: Vec::new(), result: false });
        node
    }

    fn edges(&mut self, id: ExprId) {
        let store = self.store;
        let to = self.nodes.get(id).copied().unwrap_or_default();
        let mut inputs = Vec::new();
        match store.expr(id) {
            Expr::Call { callee, args, .. } => {
                if !matches!(store.expr(callee), Expr::Op(_) | Expr::Global(_) | Expr::Ctor(_) | Expr::Extern(_)) {
                    inputs.push(callee);
                }
                inputs.extend(store.items(args));
            }
            Expr::Function(_) => inputs.extend(store.as_function(id).map(|function| function.body)),
            Expr::Tuple(fields) => inputs.extend(store.items(fields)),
            _ => for_each_child(store, id, |child| inputs.push(child)),
        }
        let mut leaves = Vec::new();
        for input in inputs {
            for from in self.sources(input, &mut leaves) {
                if from != to {
                    self.out.edges.push((from, to));
                }
            }
        }
        self.out.nodes[to].leaves = leaves;
    }

    /// Returns the result of a function body, without the bindings before it.
    fn result_of(&self, body: ExprId) -> ExprId {
        let mut at = body;
        loop {
            at = match self.store.expr(at) {
                Expr::Let { body, .. } | Expr::Seq { body, .. } => body,
                _ => return at,
            };
        }
    }

    /// Returns the nodes that a value comes from, through names, tuples and fields; names all others in `leaves`.
    fn sources(&self, value: ExprId, leaves: &mut Vec<String>) -> Vec<usize> {
        let store = self.store;
        let mut found = Vec::new();
        let mut stack = vec![value];
        // Names may lead in a circle, through functions that call themselves.
        let mut seen: IdMap<Expr, ()> = IdMap::new();
        while let Some(id) = stack.pop() {
            if let Some(node) = self.nodes.get(id) {
                found.push(*node);
                continue;
            }
            let is_leaf = matches!(store.expr(id), Expr::Constant(_) | Expr::Var(_));
            if seen.insert(id, ()).is_some() && !is_leaf {
                continue;
            }
            match store.expr(id) {
                Expr::Var(var) => match self.values.get(self.vid(var)) {
                    Some(value) if !seen.contains(*value) || self.nodes.contains(*value) => stack.push(*value),
                    Some(_) => {}
                    None => leaves.push(format!("%{}", store.var_name(var))),
                },
                Expr::Let { body, .. } | Expr::Seq { body, .. } => stack.push(body),
                Expr::TupleGetItem { tuple, index } => match self.tuple(tuple) {
                    Some(fields) if (index as usize) < store.items(fields).len() => {
                        stack.push(store.item(fields, index as usize))
                    }
                    _ => stack.push(tuple),
                },
                Expr::Tuple(fields) => stack.extend(store.items(fields).rev()),
                Expr::Call { callee, .. } => stack.extend(store.as_function(callee).map(|function| function.body)),
                Expr::Constant(_) => leaves.push(constant(store, id)),
                _ => leaves.push(label(store, id)),
            }
        }
        found
    }

    fn tuple(&self, id: ExprId) -> Option<crate::ir::List<Expr>> {
        match self.store.expr(id) {
            Expr::Tuple(fields) => Some(fields),
            Expr::Var(var) => match self.store.expr(*self.values.get(self.vid(var))?) {
                Expr::Tuple(fields) => Some(fields),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns a scalar as it is written, anything else by its type.
fn constant(store: &Store, id: ExprId) -> String {
    let Expr::Constant(tensor) = store.expr(id) else { return label(store, id) };
    let tensor = store.tensor(tensor);
    print::scalar(tensor).unwrap_or_else(|| {
        let extents: Vec<String> = tensor.shape.iter().map(|extent| extent.to_string()).collect();
        format!("{}[{}]", tensor.dtype, extents.join(", "))
    })
}

/// Returns the operators of a function, in the order that they are computed.
fn title(store: &Store, function: ExprId) -> String {
    let calls: Vec<String> = crate::ir::walk::post_order(store, function)
        .into_iter()
        .filter_map(|id| store.called_op(id))
        .map(|op| crate::ops::info(op).name.to_owned())
        .collect();
    match calls.len() {
        0 => "fn".to_owned(),
        1..=TITLED => calls.join(" → "),
        more => format!("{} → {} more", calls[..TITLED].join(" → "), more - TITLED),
    }
}
