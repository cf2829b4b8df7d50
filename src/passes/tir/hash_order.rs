//! The order in which the C++ library that TVM is built with goes through a map of strings: where TVM does that, its result
//! shows it.
//!
//! libstdc++'s `unordered_map`: strings are hashed with MurmurHash64A, a new key stands before all others, unless its bucket
//! has keys already; then it stands before those.

/// Returns a hash of a string: `std::hash<std::string>` (MurmurHash64A by Austin Appleby, with the library's seed).
fn hash(text: &str) -> u64 {
    const MUL: u64 = 0xc6a4_a793_5bd1_e995;
    let mix = |value: u64| value ^ (value >> 47);
    let mut hash = 0xc70f_6907 ^ (text.len() as u64).wrapping_mul(MUL);
    let mut words = text.as_bytes().chunks_exact(8);
    for word in &mut words {
        let word = word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash ^ mix(word.wrapping_mul(MUL)).wrapping_mul(MUL)).wrapping_mul(MUL);
    }
    if !words.remainder().is_empty() {
        let rest = words.remainder().iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash ^ rest).wrapping_mul(MUL);
    }
    mix(mix(hash).wrapping_mul(MUL))
}

/// Numbers of buckets, each the first that is tried when the one before is too small.
const BUCKETS: &[usize] = &[13, 29, 59, 127, 257, 541, 1109];

/// Returns the places of distinct keys, given in the order of insertion, in the order of the map.
pub(super) fn map_order(keys: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(keys.len());
    let mut buckets = BUCKETS[0];
    for place in 0..keys.len() {
        if place + 1 > buckets {
            let larger = BUCKETS.iter().copied().find(|size| *size > buckets);
            buckets = larger.unwrap_or(buckets * 2 + 1);
            let old = std::mem::take(&mut order);
            old.into_iter().for_each(|place| insert(&mut order, keys, place, buckets));
        }
        insert(&mut order, keys, place, buckets);
    }
    order
}

fn insert(order: &mut Vec<usize>, keys: &[&str], place: usize, buckets: usize) {
    let bucket = |place: usize| hash(keys[place]) % buckets as u64;
    let own = bucket(place);
    let at = order.iter().position(|other| bucket(*other) == own).unwrap_or(0);
    order.insert(at, place);
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected values were printed by C++ programs that g++ compiled.

    #[test]
    fn strings_are_hashed_as_the_library_does_it() {
        assert_eq!(hash(""), 6_142_509_188_972_423_790);
        assert_eq!(hash("threadIdx.x"), 3_047_347_764_149_083_112);
        assert_eq!(hash("blockIdx.x"), 2_810_918_092_240_971_144);
    }

    #[test]
    fn keys_stand_in_the_order_of_the_map() {
        let keys =
            ["threadIdx.x", "threadIdx.y", "blockIdx.x", "threadIdx.z", "blockIdx.y", "vthread.x", "vthread.y", "blockIdx.z"];
        assert_eq!(map_order(&keys), [7, 6, 5, 4, 3, 1, 2, 0]);
        let keys: Vec<String> = (0..40).map(|i| format!("k{i}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let expected = [
            37, 34, 33, 31, 21, 10, 29, 8, 17, 27, 20, 7, 3, 32, 22, 39, 6, 1, 35, 9, 12, 14, 11, 2, 0, 15, 36, 16, 38, 18, 19,
            4, 26, 30, 24, 5, 13, 23, 25, 28,
        ];
        assert_eq!(map_order(&keys), expected);
    }
}
