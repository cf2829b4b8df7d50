//! A forest in which the common ancestor of two nodes is found in logarithmic time, together with
//! the largest weight on the way there. FuseOps uses it as its post-dominator tree.

/// A node, by its place in the forest.
pub type NodeId = usize;

struct Node<W> {
    parent: Option<NodeId>,
    level: u32,
    weight: W,
    /// An ancestor, or the node itself for a root.
    jump: NodeId,
    /// The largest weight of the nodes from here up to, and without, `jump`.
    jump_weight: W,
}

/// The forest. Parents are added before their children.
pub struct Forest<W> {
    nodes: Vec<Node<W>>,
}

impl<W> Default for Forest<W> {
    fn default() -> Self {
        Forest { nodes: Vec::new() }
    }
}

impl<W: Copy + Ord> Forest<W> {
    /// Adds a node. Its weight is that of the step to its parent.
    pub fn add(&mut self, parent: Option<NodeId>, weight: W) -> NodeId {
        let id = self.nodes.len();
        let node = match parent {
            None => Node { parent, level: 0, weight, jump: id, jump_weight: weight },
            Some(p) => {
                let up = self.nodes[p].jump;
                let further = self.nodes[up].jump;
                let level = |n: NodeId| self.nodes[n].level;
                // Jump pointers of Myers' random-access lists: two equal jumps in a row make one.
                if up != p && further != up && level(p) - level(up) == level(up) - level(further) {
                    let jump_weight = weight.max(self.nodes[p].jump_weight).max(self.nodes[up].jump_weight);
                    Node { parent, level: level(p) + 1, weight, jump: further, jump_weight }
                } else {
                    Node { parent, level: level(p) + 1, weight, jump: p, jump_weight: weight }
                }
            }
        };
        self.nodes.push(node);
        id
    }

    /// Returns the nearest common ancestor, and the largest weight of the nodes below it on both
    /// ways, but at least `weight`. `None` when they are in different trees.
    pub fn common(&self, a: NodeId, b: NodeId, weight: W) -> Option<(NodeId, W)> {
        let mut weight = weight;
        let level = self.nodes[a].level.min(self.nodes[b].level);
        let mut a = self.climb(a, level, &mut weight);
        let mut b = self.climb(b, level, &mut weight);
        while a != b {
            let (na, nb) = (&self.nodes[a], &self.nodes[b]);
            // Nodes of one level jump equally far.
            if na.jump != nb.jump && na.jump != a {
                weight = weight.max(na.jump_weight).max(nb.jump_weight);
                (a, b) = (na.jump, nb.jump);
            } else {
                weight = weight.max(na.weight).max(nb.weight);
                (a, b) = (na.parent?, nb.parent?);
            }
        }
        Some((a, weight))
    }

    fn climb(&self, id: NodeId, level: u32, weight: &mut W) -> NodeId {
        let mut id = id;
        while self.nodes[id].level > level {
            let node = &self.nodes[id];
            if node.jump != id && self.nodes[node.jump].level >= level {
                *weight = (*weight).max(node.jump_weight);
                id = node.jump;
            } else if let Some(parent) = node.parent {
                *weight = (*weight).max(node.weight);
                id = parent;
            } else {
                break;
            }
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_ancestors_are_those_that_climbing_step_by_step_finds() {
        let mut forest = Forest::default();
        let mut seed = 1u32;
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % bound
        };
        for i in 0..400 {
            let parent = if i < 2 { None } else { Some(next(10).min(i - 1)).map(|back| i - 1 - back.min(i - 1)) };
            forest.add(parent, next(9));
        }
        let ways = |mut id: NodeId| {
            let mut way = vec![id];
            while let Some(parent) = forest.nodes[id].parent {
                way.push(parent);
                id = parent;
            }
            way
        };
        for _ in 0..2000 {
            let (a, b) = (next(400), next(400));
            let (way_a, way_b) = (ways(a), ways(b));
            let slow = way_a.iter().find(|n| way_b.contains(n)).map(|&top| {
                let below = way_a.iter().take_while(|n| **n != top).chain(way_b.iter().take_while(|n| **n != top));
                (top, below.map(|n| forest.nodes[*n].weight).max().unwrap_or(0))
            });
            assert_eq!(forest.common(a, b, 0), slow);
        }
    }
}
