//! Random numbers that are the same everywhere and for ever: SplitMix64. A library's generator may change with its version, and
//! with it every pinned result.

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The high half of the product: no division, and a bias below 2^-32 for the `n` that occur here.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 up to 1, 1 excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_numbers_never_change() {
        let mut random = Random::new(42);
        assert_eq!(random.next(), 13_679_457_532_755_275_413);
        assert!((0..1_000).all(|_| random.below(7) < 7));
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
