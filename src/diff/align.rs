//! Correspondences between two sequences.

use crate::ir::sort::sort_by;
use rustc_hash::FxHashMap;

/// The limit of comparisons for a range without unique lines.
const TABLE_LIMIT: usize = 250_000;

/// Returns the longest subsequence of `pairs`, which are sorted by their first elements, whose second elements increase.
pub(super) fn longest_increasing(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each length the pair with the smallest end, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (i, &(_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < second);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(i);
        } else {
            ends[length] = i;
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(i) = at {
        chain.push(pairs[i]);
        at = before[i];
    }
    chain.reverse();
    chain
}

/// Returns equal elements of both, in order: patience diff. Elements that occur once on each side
/// are matched first, then those between them.
pub(super) fn common(a: &[u32], b: &[u32]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut stack = vec![(0, a.len(), 0, b.len())];
    while let Some((mut i, mut i_end, mut j, mut j_end)) = stack.pop() {
        while i < i_end && j < j_end && a[i] == b[j] {
            found.push((i as u32, j as u32));
            (i, j) = (i + 1, j + 1);
        }
        while i < i_end && j < j_end && a[i_end - 1] == b[j_end - 1] {
            (i_end, j_end) = (i_end - 1, j_end - 1);
            found.push((i_end as u32, j_end as u32));
        }
        if i == i_end || j == j_end {
            continue;
        }
        let anchors = unique(a, b, (i, i_end, j, j_end));
        if anchors.is_empty() {
            if (i_end - i) * (j_end - j) <= TABLE_LIMIT {
                table(&a[i..i_end], &b[j..j_end], |x, y| found.push(((i + x) as u32, (j + y) as u32)));
            }
            continue;
        }
        let (mut from_i, mut from_j) = (i, j);
        for &(x, y) in &anchors {
            found.push((x, y));
            stack.push((from_i, x as usize, from_j, y as usize));
            (from_i, from_j) = (x as usize + 1, y as usize + 1);
        }
        stack.push((from_i, i_end, from_j, j_end));
    }
    sort_by(&mut found, Ord::cmp);
    found
}

/// Returns elements that occur once in each of the two ranges, if they keep their order.
fn unique(a: &[u32], b: &[u32], (i, i_end, j, j_end): (usize, usize, usize, usize)) -> Vec<(u32, u32)> {
    /// The number of occurrences and the position, on either side.
    #[derive(Default)]
    struct Seen {
        left: (u32, u32),
        right: (u32, u32),
    }
    let mut seen: FxHashMap<u32, Seen> = FxHashMap::default();
    for (x, id) in a.iter().enumerate().take(i_end).skip(i) {
        let entry = seen.entry(*id).or_default();
        entry.left = (entry.left.0 + 1, x as u32);
    }
    for (y, id) in b.iter().enumerate().take(j_end).skip(j) {
        let entry = seen.entry(*id).or_default();
        entry.right = (entry.right.0 + 1, y as u32);
    }
    let anchor = |id: &u32| seen.get(id).filter(|s| s.left.0 == 1 && s.right.0 == 1).map(|s| (s.left.1, s.right.1));
    let pairs: Vec<(u32, u32)> = a[i..i_end].iter().filter_map(anchor).collect();
    longest_increasing(&pairs)
}

/// Finds a longest common subsequence by the table of all prefixes.
pub(super) fn table<T: PartialEq>(a: &[T], b: &[T], mut found: impl FnMut(usize, usize)) {
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for (i, x) in a.iter().enumerate().rev() {
        let (row, next) = lengths[i * width..].split_at_mut(width);
        let mut right = 0;
        for (j, y) in b.iter().enumerate().rev() {
            right = if x == y { next[j + 1] + 1 } else { next[j].max(right) };
            row[j] = right;
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found(i, j);
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_increasing_part_leaves_out_what_moved() {
        let pairs = [(0, 3), (1, 0), (2, 1), (3, 4), (4, 2)];
        assert_eq!(longest_increasing(&pairs), [(1, 0), (2, 1), (4, 2)]);
    }

    #[test]
    fn unique_elements_anchor_and_repeated_ones_follow() {
        // 9 repeats; 1, 2, 3 are unique; 7 and 8 have no partner.
        let a = [9, 1, 9, 7, 2, 9, 3];
        let b = [9, 1, 9, 2, 8, 9, 3];
        assert_eq!(common(&a, &b), [(0, 0), (1, 1), (2, 2), (4, 3), (5, 5), (6, 6)]);
    }

    #[test]
    fn sequences_without_unique_elements_have_a_longest_common_part() {
        assert_eq!(common(&[1, 1, 2, 2, 1], &[2, 2, 1, 1]).len(), 3);
    }
}
