//! The dataflow graph of a version, with functions and fused groups as boxes.
//!
//! The places come from all versions of the run at once: nodes that are the same expression in different versions share
//! a place, so going from step to step moves nothing.

mod extract;
mod layout;

use super::history::is_rewritten;
use super::place::{label, node_type};
use crate::ir::{Dialect, ExprId, Store};
use crate::pass::trace::{Trace, Version};
use crate::print;
use extract::{Extract, extract};
use rustc_hash::FxHashMap;

crate::words! {
    /// The effect of a step on a node.
    pub enum NodeFate {
        /// Nothing.
        Same = "same",
        /// It is a replacement of another node.
        Rewritten = "rewritten",
        /// It is new.
        Made = "made",
        /// It is gone.
        Removed = "removed",
    }
}

/// A node that is drawn.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// The expression.
    pub expr: ExprId,
    /// The version that it belongs to: the later one unless it is gone.
    pub version: Version,
    /// A name in a word or two.
    pub label: String,
    /// Inputs that are no nodes: constants, and parameters that are used once.
    pub leaves: String,
    /// Its type.
    pub ty: String,
    /// The innermost box that it stands in.
    pub group: usize,
    /// True if it is the result of its function.
    pub result: bool,
    /// Its fate in the step.
    pub fate: NodeFate,
    /// Column, in widths of a node; halves occur.
    pub x: f32,
    /// Row, from 0.
    pub y: u32,
}

/// A box: a function of the module, or one inside of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The box around it.
    pub parent: Option<usize>,
    /// `@main`, or the operators of a fused group.
    pub title: String,
    /// The function.
    pub function: ExprId,
    /// True if the version before does not have it.
    pub made: bool,
}

/// The graph of a step: the version after it, and the nodes that it removed.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<GraphNode>,
    /// Edges from operands to users.
    pub edges: Vec<(usize, usize)>,
    /// The boxes; one stands behind the box that it is in.
    pub groups: Vec<Group>,
}

/// The graphs of all versions of a run, and the places of their nodes.
pub struct Graphs {
    versions: Vec<Extract>,
    /// For every version the place of each node.
    places: Vec<Vec<usize>>,
    layout: Vec<(f32, u32)>,
}

impl Graphs {
    /// Draws all versions at once. Linear in their sizes but for sorting.
    pub fn of(store: &Store, trace: &Trace) -> Graphs {
        let versions: Vec<Extract> = trace.versions.iter().map(|module| extract(store, module)).collect();
        let mut classes: FxHashMap<(ExprId, u32), usize> = FxHashMap::default();
        let mut places = Vec::with_capacity(versions.len());
        let mut edges = Vec::new();
        for version in &versions {
            let mut twins: FxHashMap<ExprId, u32> = FxHashMap::default();
            let place = |node: &extract::Node| {
                let first = store.first_ancestor(node.expr);
                let twin = twins.entry(first).or_default();
                *twin += 1;
                let next = classes.len();
                *classes.entry((first, *twin)).or_insert(next)
            };
            let of_nodes: Vec<usize> = version.nodes.iter().map(place).collect();
            edges.extend(version.edges.iter().map(|&(from, to)| (of_nodes[from] as u32, of_nodes[to] as u32)));
            places.push(of_nodes);
        }
        Graphs { layout: layout::layout(classes.len(), &edges), versions, places }
    }

    /// Returns the number of nodes of a version.
    pub fn size(&self, version: Version) -> usize {
        self.versions.get(version).map_or(0, |version| version.nodes.len())
    }

    /// Returns the graph of the step between two versions.
    pub fn step(&self, store: &Store, dialect: Dialect, before: Version, after: Version) -> Option<Graph> {
        let (old, new) = (self.versions.get(before)?, self.versions.get(after)?);
        let print = if dialect == Dialect::Relax { print::relax_ty } else { print::ty };
        let first = |group: &Group| store.first_ancestor(group.function);
        let known: FxHashMap<ExprId, ()> = old.groups.iter().map(|group| (first(group), ())).collect();
        let groups = new.groups.iter().map(|group| Group { made: !known.contains_key(&first(group)), ..group.clone() });
        let mut graph = Graph { groups: groups.collect(), ..Graph::default() };
        let mut at: FxHashMap<usize, usize> = FxHashMap::default();
        let old_at: FxHashMap<usize, ExprId> =
            self.places[before].iter().copied().zip(old.nodes.iter().map(|node| node.expr)).collect();
        let mut put = |graph: &mut Graph, node: &extract::Node, place: usize, group: usize, version: Version, fate: NodeFate| {
            let (x, y) = self.layout[place];
            let expr = node.expr;
            at.insert(place, graph.nodes.len());
            graph.nodes.push(GraphNode {
                expr,
                version,
                label: node.title.clone().unwrap_or_else(|| label(store, expr)),
                leaves: node.leaves.join(", "),
                ty: node_type(store, expr).map_or(String::new(), |ty| print(store, ty)),
                group,
                result: node.result,
                fate,
                x,
                y,
            });
        };
        for (node, &place) in new.nodes.iter().zip(&self.places[after]) {
            let fate = match old_at.get(&place) {
                // A parameter has a node when it is used more than once; with the second use it is not made.
                None if old.params.contains(&store.first_ancestor(node.expr)) => NodeFate::Same,
                None => NodeFate::Made,
                Some(expr) if is_rewritten(store, *expr, node.expr) => NodeFate::Rewritten,
                Some(_) => NodeFate::Same,
            };
            put(&mut graph, node, place, node.group, after, fate);
        }
        // Keeps removed nodes in their places, in the box of their function, if that is still there.
        let there: FxHashMap<usize, ()> = self.places[after].iter().map(|place| (*place, ())).collect();
        for (node, &place) in old.nodes.iter().zip(&self.places[before]) {
            if there.contains_key(&place) || new.params.contains(&store.first_ancestor(node.expr)) {
                continue;
            }
            let whole = &old.groups[old.outermost(node.group)];
            let group = graph.groups.iter().position(|group| group.parent.is_none() && group.title == whole.title);
            let group = group.unwrap_or_else(|| {
                graph.groups.push(whole.clone());
                graph.groups.len() - 1
            });
            put(&mut graph, node, place, group, before, NodeFate::Removed);
        }
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (version, places) in [(new, &self.places[after]), (old, &self.places[before])] {
            for &(from, to) in &version.edges {
                let (Some(&from), Some(&to)) = (at.get(&places[from]), at.get(&places[to])) else { continue };
                let edge = (from, to);
                let gone = |node: usize| graph.nodes[node].fate == NodeFate::Removed;
                if std::ptr::eq(version, new) || gone(edge.0) || gone(edge.1) {
                    edges.push(edge);
                }
            }
        }
        graph.edges = edges;
        Some(graph)
    }
}
