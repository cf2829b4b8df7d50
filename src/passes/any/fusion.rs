//! Decides which calls FuseOps groups (TVM's `IndexedForwardGraph`, `DominatorTree` and
//! `GraphPartitioner`).
//!
//! Every node knows its consumers and how each consumes it. A node may join the group of its
//! immediate post-dominator, the node on all paths from it, if everything between them is simple
//! enough. Three phases: first element-wise work, also behind a complex operator; then operators that
//! move elements; last those into tuples that were fused in the second phase.

use super::dominators::Forest;
use crate::ops::OpPattern;

/// A node of the graph. Nodes come in an order with producers before their consumers.
pub struct Node {
    /// The pattern of its computation.
    pub pattern: OpPattern,
    /// True if something other than an operator uses it, so that it must stay visible.
    pub external: bool,
    /// Its consumers, by number, and the pattern of each use.
    pub outputs: Vec<(usize, OpPattern)>,
}

/// The groups of the nodes of a graph.
pub struct Groups {
    /// Per node, the node whose group it was merged into; itself for the root of a group.
    parent: Vec<usize>,
    pattern: Vec<OpPattern>,
    /// The number of nodes in the group, for roots.
    size: Vec<u32>,
    /// True if the group has an operator that others were fused behind.
    anchored: Vec<bool>,
}

impl Groups {
    /// Returns the root of a node's group: its last node.
    pub fn root(&self, node: usize) -> usize {
        let mut node = node;
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    /// Does the same and shortens the path for the next time.
    fn find(&mut self, node: usize) -> usize {
        let root = self.root(node);
        let mut node = node;
        while self.parent[node] != root {
            node = std::mem::replace(&mut self.parent[node], root);
        }
        root
    }

    fn merge(&mut self, child: usize, parent: usize) {
        let (child, parent) = (self.find(child), self.find(parent));
        if child == parent {
            return;
        }
        self.size[parent] += self.size[child];
        self.parent[child] = parent;
        if self.anchored[child] {
            self.anchored[parent] = true;
            self.pattern[parent] = self.pattern[parent].max(self.pattern[child]);
        }
    }
}

/// Partitions a graph. Without `merge` every node is a group of its own (opt level 0).
pub fn partition(graph: &[Node], merge: bool, max_depth: usize) -> Groups {
    let n = graph.len();
    let mut groups = Groups {
        parent: (0..n).collect(),
        pattern: graph.iter().map(|node| node.pattern).collect(),
        size: vec![1; n],
        anchored: graph.iter().map(|node| node.pattern == OpPattern::OutEWiseFusable).collect(),
    };
    if merge && graph.iter().any(|node| node.pattern != OpPattern::Opaque) {
        let dominators = post_dominators(graph);
        let mut fuser = Fuser { graph, groups, max_depth, stamp: 0, seen: vec![0; n] };
        for phase in 0..3 {
            for (node, &dominator) in dominators.iter().enumerate() {
                fuser.fuse(node, dominator, phase);
            }
        }
        groups = fuser.groups;
    }
    // Shortens every path, so that look-ups are cheap afterwards.
    for node in 0..n {
        groups.find(node);
    }
    groups
}

/// Returns the immediate post-dominator of each node with the worst pattern on the paths to it.
fn post_dominators(graph: &[Node]) -> Vec<Option<(usize, OpPattern)>> {
    let n = graph.len();
    let mut forest = Forest::default();
    // Consumers come after their producers, so places in the forest count from the back.
    let place = |node: usize| n - 1 - node;
    let mut result = vec![None; n];
    for index in (0..n).rev() {
        let node = &graph[index];
        let mut worst = if node.external { OpPattern::Opaque } else { OpPattern::ElemWise };
        let mut parent = None;
        if !node.external {
            let mut outputs = node.outputs.iter();
            parent = outputs.next().map(|(consumer, pattern)| {
                worst = worst.max(*pattern);
                place(*consumer)
            });
            for (consumer, pattern) in outputs {
                let Some(known) = parent else { break };
                parent = forest.common(known, place(*consumer), worst).map(|(common, weight)| {
                    worst = weight.max(*pattern);
                    common
                });
            }
        }
        forest.add(parent, worst);
        result[index] = parent.map(|p| (n - 1 - p, worst));
    }
    result
}

struct Fuser<'a> {
    graph: &'a [Node],
    groups: Groups,
    max_depth: usize,
    /// The number of the current walk, which marks the nodes that it has seen.
    stamp: u32,
    seen: Vec<u32>,
}

impl Fuser<'_> {
    fn fuse(&mut self, node: usize, dominator: Option<(usize, OpPattern)>, phase: u32) {
        use OpPattern::*;
        let pattern = self.groups.pattern[node];
        let Some((sink, way)) = dominator else { return };
        if pattern == Opaque || self.would_be_too_large(node, sink) {
            return;
        }
        let sink_root = self.groups.find(sink);
        if phase == 2 {
            let into_tuple = self.groups.pattern[sink] == Tuple && self.groups.pattern[sink_root] <= Injective;
            if pattern <= Injective && into_tuple && self.way_allows(node, sink, |p, _| p <= Injective) {
                self.commit(node, sink);
            }
            return;
        }
        if self.groups.find(node) == sink_root || self.groups.pattern[sink] == Tuple {
            return;
        }
        let fits = match pattern {
            OutEWiseFusable => phase == 0 && way == ElemWise && self.way_allows(node, sink, |p, _| p <= Broadcast),
            ElemWise | Broadcast => {
                (way <= Injective || way == CommReduce)
                    && self.way_allows(node, sink, |p, is_sink| {
                        p <= Injective || is_sink && matches!(p, CommReduce | OutEWiseFusable)
                    })
            }
            Injective | Tuple => phase == 1 && self.way_allows(node, sink, |p, _| p <= Injective),
            CommReduce | Opaque => false,
        };
        if fits {
            self.commit(node, sink);
        }
    }

    /// Visits the nodes between `node` and `sink`, both excluded, until `f` returns false.
    fn between(&mut self, node: usize, sink: usize, mut f: impl FnMut(&mut Groups, usize) -> bool) {
        self.stamp += 1;
        let graph = self.graph;
        let mut stack: Vec<usize> = graph[node].outputs.iter().map(|(consumer, _)| *consumer).collect();
        while let Some(next) = stack.pop() {
            if next == sink || self.seen[next] == self.stamp {
                continue;
            }
            self.seen[next] = self.stamp;
            if !f(&mut self.groups, next) {
                return;
            }
            stack.extend(graph[next].outputs.iter().map(|(consumer, _)| *consumer));
        }
    }

    /// True if the group would have more nodes than allowed. Stops counting there, so a walk is never
    /// longer than the limit.
    fn would_be_too_large(&mut self, node: usize, sink: usize) -> bool {
        let limit = self.max_depth;
        let root = self.groups.find(sink);
        let mut size = self.groups.size[root] as usize + self.groups.size[node] as usize;
        self.between(node, sink, |groups, next| {
            size += groups.size[next] as usize;
            size <= limit
        });
        size > limit
    }

    fn way_allows(&mut self, node: usize, sink: usize, allowed: impl Fn(OpPattern, bool) -> bool) -> bool {
        let root = self.groups.find(sink);
        let mut fine = allowed(self.groups.pattern[root], true);
        if fine {
            self.between(node, sink, |groups, next| {
                let root = groups.find(next);
                fine = allowed(groups.pattern[root], false);
                fine
            });
        }
        fine
    }

    fn commit(&mut self, node: usize, sink: usize) {
        self.groups.merge(node, sink);
        self.between(node, sink, |groups, next| {
            groups.merge(next, sink);
            true
        });
    }
}
