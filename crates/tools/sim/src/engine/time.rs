//! Simulated time.

/// Picoseconds.
pub(crate) type Ps = u64;

/// Nanoseconds as picoseconds.
pub(super) fn ps(ns: f64) -> Ps {
    (ns * 1_000.0) as Ps
}

/// Picoseconds as whole nanoseconds.
pub(super) fn ns(ps: Ps) -> u64 {
    ps / 1_000
}
