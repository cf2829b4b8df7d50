//! Rows and columns for a graph: operands stand above their users, edges are short, and unconnected parts stand side by
//! side.
//!
//! The steps are those of Sugiyama, Tagawa and Toda (1981): edges that would close a cycle are left out, rows are the
//! longest paths, orders in the rows come from the middle of the neighbours, and so do the columns.

use crate::ir::sort::{ranking, sort_by};

const SWEEPS: usize = 8;

/// Returns a place for each of `n` nodes: column, in widths of a node, and row. `edges` lead from operands to users.
pub(super) fn layout(n: usize, edges: &[(u32, u32)]) -> Vec<(f32, u32)> {
    let mut edges: Vec<(u32, u32)> = edges.to_vec();
    sort_by(&mut edges, |a, b| a.cmp(b));
    edges.dedup();
    let lists = Lists::new(n, &edges);
    let order = lists.topological(n);
    let rows = lists.rows(&order);
    let mut columns = lists.columns(n, &order, &rows);
    apart(&lists, &rows, &mut columns);
    columns.into_iter().zip(rows).collect()
}

struct Lists {
    above: Vec<Vec<u32>>,
    below: Vec<Vec<u32>>,
}

impl Lists {
    fn new(n: usize, edges: &[(u32, u32)]) -> Lists {
        let mut lists = Lists { above: vec![Vec::new(); n], below: vec![Vec::new(); n] };
        for &(from, to) in edges {
            lists.below[from as usize].push(to);
            lists.above[to as usize].push(from);
        }
        // Edges that close a cycle are ignored when nodes are placed.
        let back = lists.closing(n);
        for (from, to) in back {
            lists.below[from as usize].retain(|node| *node != to);
            lists.above[to as usize].retain(|node| *node != from);
        }
        lists
    }

    fn closing(&self, n: usize) -> Vec<(u32, u32)> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; n];
        let mut closing = Vec::new();
        for start in 0..n as u32 {
            if marks[start as usize] != Mark::New {
                continue;
            }
            marks[start as usize] = Mark::Open;
            let mut stack = vec![(start, 0)];
            while let Some((node, next)) = stack.last_mut() {
                let Some(&to) = self.below[*node as usize].get(*next) else {
                    marks[*node as usize] = Mark::Done;
                    stack.pop();
                    continue;
                };
                *next += 1;
                match marks[to as usize] {
                    Mark::New => {
                        marks[to as usize] = Mark::Open;
                        stack.push((to, 0));
                    }
                    Mark::Open => closing.push((*node, to)),
                    Mark::Done => {}
                }
            }
        }
        closing
    }

    fn topological(&self, n: usize) -> Vec<u32> {
        let mut missing: Vec<usize> = self.above.iter().map(Vec::len).collect();
        let mut order: Vec<u32> = (0..n as u32).filter(|node| missing[*node as usize] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for &to in &self.below[order[at] as usize] {
                missing[to as usize] -= 1;
                if missing[to as usize] == 0 {
                    order.push(to);
                }
            }
            at += 1;
        }
        order
    }

    /// Computes the longest path to each node; then moves nodes that nothing above holds down to their users.
    fn rows(&self, order: &[u32]) -> Vec<u32> {
        let mut rows = vec![0; order.len()];
        for &node in order {
            let above = self.above[node as usize].iter().map(|from| rows[*from as usize] + 1).max();
            rows[node as usize] = above.unwrap_or(0);
        }
        for &node in order.iter().rev() {
            if let Some(below) = self.below[node as usize].iter().map(|to| rows[*to as usize]).min() {
                rows[node as usize] = below - 1;
            }
        }
        rows
    }

    fn columns(&self, n: usize, order: &[u32], rows: &[u32]) -> Vec<f32> {
        let deepest = rows.iter().max().map_or(0, |row| *row as usize + 1);
        let mut in_row: Vec<Vec<u32>> = vec![Vec::new(); deepest];
        for &node in order {
            in_row[rows[node as usize] as usize].push(node);
        }
        let mut x = vec![0.0f32; n];
        for row in &in_row {
            row.iter().enumerate().for_each(|(at, node)| x[*node as usize] = at as f32);
        }
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for at in 0..deepest {
                let row = &mut in_row[if down { at } else { deepest - 1 - at }];
                let both = sweep >= SWEEPS - 2;
                let wanted = |node: u32| {
                    let (above, below) = (&self.above[node as usize], &self.below[node as usize]);
                    let (near, far) = if down { (above, below) } else { (below, above) };
                    let near = if near.is_empty() { far } else { near };
                    let mut xs: Vec<f32> = near.iter().map(|other| x[*other as usize]).collect();
                    if both {
                        xs = above.iter().chain(below).map(|other| x[*other as usize]).collect();
                    }
                    median(&mut xs).unwrap_or(x[node as usize])
                };
                let mut goals: Vec<f32> = row.iter().map(|node| wanted(*node)).collect();
                let sorted = ranking(row.len(), &|a, b| goals[a].total_cmp(&goals[b]));
                *row = sorted.iter().map(|at| row[*at]).collect();
                goals = sorted.iter().map(|at| goals[*at]).collect();
                spread(&goals).into_iter().zip(row.iter()).for_each(|(at, node)| x[*node as usize] = at);
            }
        }
        x.iter().map(|x| (x * 2.0).round() / 2.0).collect()
    }
}

fn median(xs: &mut [f32]) -> Option<f32> {
    sort_by(xs, f32::total_cmp);
    let middle = xs.len() / 2;
    match xs.len() {
        0 => None,
        n if n % 2 == 1 => Some(xs[middle]),
        _ => Some((xs[middle - 1] + xs[middle]) / 2.0),
    }
}

/// Places nodes at least one apart and in order, as near to the goals as both directions agree on.
fn spread(goals: &[f32]) -> Vec<f32> {
    let mut left = goals.to_vec();
    for at in 1..left.len() {
        left[at] = left[at].max(left[at - 1] + 1.0);
    }
    let mut right = goals.to_vec();
    for at in (1..right.len()).rev() {
        right[at - 1] = right[at - 1].min(right[at] - 1.0);
    }
    // Rounds down to halves, so that places one apart stay so.
    left.iter().zip(&right).map(|(a, b)| ((a + b) / 2.0 * 2.0).floor() / 2.0).collect()
}

/// Puts the parts that are not connected beside each other, each as far to the left as it goes.
fn apart(lists: &Lists, rows: &[u32], columns: &mut [f32]) {
    let mut part = vec![usize::MAX; columns.len()];
    // The right end of the occupied part of each row.
    let mut taken = vec![f32::NEG_INFINITY; rows.iter().max().map_or(0, |row| *row as usize + 1)];
    let mut left = 0.0f32;
    for start in 0..columns.len() {
        if part[start] != usize::MAX {
            continue;
        }
        let mut members = Vec::new();
        let mut stack = vec![start];
        part[start] = start;
        while let Some(node) = stack.pop() {
            members.push(node);
            for &other in lists.above[node].iter().chain(&lists.below[node]) {
                if part[other as usize] == usize::MAX {
                    part[other as usize] = start;
                    stack.push(other as usize);
                }
            }
        }
        let first = members.iter().map(|node| columns[*node]).fold(f32::INFINITY, f32::min);
        let free = members.iter().map(|node| taken[rows[*node] as usize]).fold(f32::NEG_INFINITY, f32::max);
        let shift = if free.is_finite() { free.max(left) + 1.5 - first } else { left - first };
        for &node in &members {
            columns[node] += shift;
            let row = &mut taken[rows[node] as usize];
            *row = row.max(columns[node]);
        }
        left = left.max(members.iter().map(|node| columns[*node]).fold(0.0, f32::max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_a_column_and_what_feeds_it_stands_right_above_its_use() {
        // 0 → 1 → 2 → 3, and 4 feeds 3 only.
        let places = layout(5, &[(0, 1), (1, 2), (2, 3), (4, 3)]);
        assert_eq!(places.iter().map(|(_, y)| *y).collect::<Vec<_>>(), [0, 1, 2, 3, 2]);
        assert!(places[..3].windows(2).all(|pair| (pair[0].0 - pair[1].0).abs() <= 0.5), "{places:?}");
        assert!((places[2].0 - places[4].0).abs() >= 1.0);
    }

    #[test]
    fn no_two_nodes_share_a_place_and_circles_end() {
        let edges: Vec<(u32, u32)> = (0..60u32).flat_map(|i| [(i, (i * 7 + 3) % 60), (i, (i * 11 + 5) % 60)]).collect();
        let places = layout(61, &edges);
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                assert!(a.1 != b.1 || (a.0 - b.0).abs() >= 1.0, "{a:?} {b:?}");
            }
        }
    }
}
