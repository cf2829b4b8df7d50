//! "Did you mean" for misspelt names.

/// Returns the candidate nearest to `name`, if one is near enough to be a misspelling of it.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > 64 {
        return None;
    }
    let allowed = if name.len() < 3 { 1 } else { (name.len() / 3).min(3) };
    let distances =
        candidates.filter(|c| c.len().abs_diff(name.len()) <= allowed && *c != name).map(|c| (strsim::osa_distance(name, c), c));
    distances.filter(|(d, _)| *d <= allowed).min().map(|(_, c)| c)
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
        assert_eq!(nearest("nn.cvonn2", ops.into_iter()), Some("nn.conv2d"));
    }
}
