//! Sorting, compiled once. The library's sorts are instantiated for every type and every order, which came to a
//! twentieth of the page's download; no sort here is so large that a call for each comparison matters.

use std::cmp::Ordering;

/// Returns the numbers below `n` in the order that `compare` says; equal ones stay in order.
pub fn ranking(n: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Sorts; equal elements stay in order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = ranking(items.len(), &|a, b| compare(&items[a], &items[b]));
    for (a, b) in swaps(order) {
        items.swap(a, b);
    }
}

/// Returns the exchanges that bring the element `order[i]` to the place `i`, along the cycles of the order.
fn swaps(mut order: Vec<usize>) -> Vec<(usize, usize)> {
    let mut swaps = Vec::new();
    for start in 0..order.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == start || from == place {
                break;
            }
            swaps.push((place, from));
            place = from;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_stay_in_order() {
        let mut items = vec![(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (3, 'f'), (0, 'g')];
        sort_by(&mut items, |a, b| a.0.cmp(&b.0));
        assert_eq!(items, [(0, 'g'), (1, 'b'), (1, 'e'), (2, 'd'), (3, 'a'), (3, 'c'), (3, 'f')]);
    }

    #[test]
    fn a_reversed_list_is_sorted() {
        let mut items: Vec<u32> = (0..1000).rev().collect();
        sort_by(&mut items, |a, b| a.cmp(b));
        assert!(items.into_iter().eq(0..1000));
    }
}
