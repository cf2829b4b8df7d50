//! "Did you mean" for misspelt names.

/// Returns the candidate nearest to `name`, if one is near enough to be a misspelling of it.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > 64 {
        return None;
    }
    let allowed = if name.len() < 3 { 1 } else { (name.len() / 3).min(3) };
    let distances = candidates.filter(|c| c.len().abs_diff(name.len()) <= allowed && *c != name).map(|c| (distance(name, c), c));
    distances.filter(|(d, _)| *d <= allowed).min().map(|(_, c)| c)
}

/// Returns the number of characters to insert, remove, replace or swap with their neighbour (optimal string alignment
/// distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[1][j] + 1).min(rows[2][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_near_and_another_word_is_not() {
        let ops = ["nn.conv2d", "nn.dense", "add", "tanh"];
        assert_eq!(nearest("nn.cnov2d", ops.into_iter()), Some("nn.conv2d"));
        assert_eq!(nearest("ad", ops.into_iter()), Some("add"));
        assert_eq!(nearest("sigmoid", ops.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
