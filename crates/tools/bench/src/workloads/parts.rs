//! Parts that the benchmarks share.

use std::time::Instant;

/// The rate of so many items since then, per second.
pub(in crate::workloads) fn rate(items: u64, start: Instant) -> f64 {
    items as f64 / start.elapsed().as_secs_f64()
}

/// Bytes of this process's resident set.
pub(in crate::workloads) fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib * 1024.0
}

/// A small random number generator (xorshift): the same on every runtime.
pub(in crate::workloads) struct Rng(u64);

impl Rng {
    pub(in crate::workloads) fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    #[inline]
    pub(in crate::workloads) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32).wrapping_mul(n as u64) >> 32) as usize
    }

    /// One of `n` that is not `me`.
    #[inline]
    pub(in crate::workloads) fn other(&mut self, n: usize, me: usize) -> usize {
        let other = self.below(n - 1);
        if other >= me { other + 1 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_others() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 5];
        (0..1_000).for_each(|_| seen[rng.other(5, 2)] += 1);
        assert_eq!(seen[2], 0);
        assert!([0, 1, 3, 4].iter().all(|&other| seen[other] > 100), "{seen:?}");
    }
}
