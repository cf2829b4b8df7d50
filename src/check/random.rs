//! Pseudo-random numbers.

/// A small pseudo-random generator (xorshift64*, Vigna 2016), so that a seed means the same program everywhere.
pub struct Random(u64);

impl Random {
    /// Makes the generator of a seed.
    pub fn new(seed: u64) -> Random {
        // The first numbers of similar seeds are similar, so they are skipped.
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = random.draw());
        random
    }

    /// Returns the next number, of 48 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// Returns a number below `n`, 0 when that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n.max(1) as u64) as usize
    }

    /// True with a probability of `percent` in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Picks one item.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Picks one item, later ones more often, so that programs grow deep as well as wide.
    pub fn late<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len()).max(self.below(items.len()))]
    }
}
