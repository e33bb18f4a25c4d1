//! The footprint of a runnable: the memory that it works on, declared, or estimated from what its
//! first turns elsewhere have cost.

/// KiB of memory that a runnable works on, as far as known: what moving it costs for each step of
/// distance is in proportion to them.
///
/// What was declared is never changed by what is measured. An estimate is paid off by the waits for
/// which it keeps the runnable where it is: once it has waited as long as a move would take, it
/// moves (the rule of the ski rental: never more than twice what the better of the two would have
/// cost). So a measure that was spoilt (the system did not run the thread) does not keep it for
/// good, either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint(u16);

/// Set: the rest is an estimate, not declared.
const ESTIMATED: u16 = 1 << 15;
/// The largest footprint that is told apart, in KiB; a larger one counts as this.
const MOST_KIB: u16 = ESTIMATED - 1;

impl Footprint {
    /// Nothing is declared, or known.
    pub const UNKNOWN: Footprint = Footprint(0);

    /// A declared footprint of so many bytes; less than a KiB counts as nothing.
    pub fn declared(bytes: usize) -> Self {
        Footprint(u16::try_from(bytes / 1024).map_or(MOST_KIB, |kib| kib.min(MOST_KIB)))
    }

    /// KiB; 0: not known.
    #[inline]
    pub fn kib(self) -> u32 {
        (self.0 & MOST_KIB).into()
    }

    fn is_declared(self) -> bool {
        self.0 != 0 && self.0 & ESTIMATED == 0
    }

    /// Notes that a first turn elsewhere has cost as much as if it worked on so many KiB. The new
    /// estimate is the average of this and of what was known. Returns it, or `None` if a
    /// declaration says otherwise.
    pub fn estimate(&mut self, kib: u32) -> Option<u32> {
        if self.is_declared() {
            return None;
        }
        let known = self.kib();
        let estimate = if known == 0 { kib } else { known.midpoint(kib) };
        self.set(estimate);
        Some(self.kib())
    }

    /// Notes that `kib` KiB, the runnable's own estimate or its kind's, have just kept it where it
    /// is, during a wait in which `waited_kib` KiB could have been moved.
    pub fn kept(&mut self, kib: u32, waited_kib: u32) {
        if !self.is_declared() {
            self.set(kib.saturating_sub(waited_kib.max(1)));
        }
    }

    /// Keeps what is known: it never becomes unknown.
    fn set(&mut self, kib: u32) {
        self.0 = ESTIMATED | kib.clamp(1, MOST_KIB.into()) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_stays_and_what_is_learnt_is_averaged() {
        let mut declared = Footprint::declared(5 << 10);
        assert_eq!((declared.estimate(1_000), declared.kib()), (None, 5));
        declared.kept(5, 3);
        assert_eq!(declared.kib(), 5);
        let mut estimate = Footprint::declared(1023);
        assert_eq!(estimate, Footprint::UNKNOWN);
        assert_eq!(estimate.estimate(80), Some(80));
        assert_eq!(estimate.estimate(160), Some(120));
        assert_eq!(Footprint::declared(usize::MAX).kib(), 32_767);
    }

    #[test]
    fn it_is_kept_for_as_long_as_a_move_takes() {
        let mut footprint = Footprint::UNKNOWN;
        footprint.estimate(u32::MAX);
        assert_eq!(footprint.kib(), 32_767);
        footprint.kept(32_767, 30_000);
        assert_eq!(footprint.kib(), 2_767);
        footprint.kept(2_767, 30_000);
        assert_eq!(footprint.kib(), 1, "what is known never becomes unknown");
        let mut by_kind = Footprint::UNKNOWN;
        by_kind.kept(100, 0);
        assert_eq!(by_kind.kib(), 99);
    }
}
